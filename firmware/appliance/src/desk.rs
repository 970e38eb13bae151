use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use frond_board::Sampled;
use frond_field::{Condition, Field, Input, Level, Setup, Wish};
use frond_linux::{Board, LineEvent, Notice, Roots};

use crate::appliance::{Around, tell};
use crate::broker::Broker;
use crate::clock::Clock;
use crate::contacts::Changes;
use crate::devices::Devices;
use crate::limits::{EVENTS_MAX, RETRY_WAIT, STACK_BYTES, STOP_LOOK, STOP_WAIT, TELL_EVERY};
use crate::troubles::Troubles;
use crate::watchdog::Dog;

/// Where everything of the field side comes together: one thread that owns the machine.
#[derive(Debug)]
pub(crate) struct Desk {
    events: SyncSender<Event>,
}

/// Where events go to.
pub(crate) type Events = SyncSender<Event>;

/// Something happened.
#[derive(Debug)]
pub(crate) enum Event {
    Heard(u64, Vec<u8>),
    Gone(u64),
    Sampled(usize, Sampled),
    Polled(usize, Vec<Result<f64, String>>),
    Contact(usize, Changes),
    Button(Vec<LineEvent>),
    Line(usize, Vec<u8>),
    Port(usize, Option<String>),
    Switched(usize, Option<String>),
    Condition(Condition),
    /// The end; tell when it is done.
    Stop(SyncSender<()>),
}

/// Where the devices are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) roots: Roots,
    pub(crate) board: Board,
}

impl Desk {
    /// Opens every device and begins.
    ///
    /// # Errors
    /// The system has no threads.
    pub(crate) fn start(setup: Setup, place: Place, around: Around) -> io::Result<Self> {
        let (events, received) = sync_channel(EVENTS_MAX);
        let own = events.clone();
        let work = move || Work::new(setup, &place, around, own).run(&received);
        let thread = thread::Builder::new().stack_size(2 * STACK_BYTES);
        thread.name("field".to_owned()).spawn(work)?;
        Ok(Self { events })
    }

    /// Told again soon: what finds no room is left out.
    pub(crate) fn condition(&self, condition: Condition) {
        match self.events.try_send(Event::Condition(condition)) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// Ends in good order, within a bound.
    pub(crate) fn stop(self) {
        let (done, is_done) = sync_channel(1);
        let started = std::time::Instant::now();
        let mut stop = Some(Event::Stop(done));
        // A desk with its hands full has room for it soon.
        while let Some(event) = stop.take() {
            match self.events.try_send(event) {
                Err(TrySendError::Full(event)) if started.elapsed() < STOP_WAIT => {
                    thread::park_timeout(STOP_LOOK);
                    stop = Some(event);
                }
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
        if is_done.recv_timeout(STOP_WAIT).is_err() {
            tracing::error!("the field side does not end in time: the watchdog stays armed");
        }
    }
}

/// The desk's thread.
struct Work {
    clock: Clock,
    field: Field,
    devices: Devices,
    troubles: Troubles,
    dog: Dog,
    around: Around,
    /// When the sensors are told of again.
    tell_at: frond_clock::Instant,
    broker: Option<Broker>,
    connections: u64,
    next_connect: frond_clock::Instant,
    events: Events,
    /// Switches that were not told yet.
    switching: usize,
    stopping: Option<SyncSender<()>>,
}

impl Work {
    fn new(setup: Setup, place: &Place, around: Around, events: Events) -> Self {
        let clock = Clock::start();
        let troubles = Troubles::default();
        let dog = Dog::new(place, &setup, &troubles);
        let devices = Devices::open(place, &setup.options, &events, &troubles);
        Self {
            field: Field::new(clock.now(), setup),
            clock,
            devices,
            troubles,
            dog,
            around,
            tell_at: frond_clock::Instant::START,
            broker: None,
            connections: 0,
            next_connect: frond_clock::Instant::START,
            events,
            switching: 0,
            stopping: None,
        }
    }

    fn run(mut self, received: &Receiver<Event>) {
        self.carry_out();
        loop {
            self.connect_if_due();
            match received.recv_timeout(self.wait()) {
                Ok(event) => {
                    self.take(event);
                    // What came meanwhile goes with it, and no more: a device that never stops
                    // keeps nothing else from its turn.
                    let more = received.try_iter().take(EVENTS_MAX);
                    more.for_each(|event| self.take(event));
                }
                Err(RecvTimeoutError::Timeout) => self.handle(Input::Time),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.stopping.is_some() && self.switching == 0 {
                return self.end();
            }
            self.tell_sensors();
        }
    }

    fn wait(&self) -> Duration {
        let now = self.clock.now().mono;
        let connect = self.broker.is_none().then_some(self.next_connect);
        let next = self.field.deadline().into_iter().chain(connect).min();
        next.map_or(RETRY_WAIT, |at| at.since(now))
            .min(RETRY_WAIT * 10)
    }

    fn connect_if_due(&mut self) {
        let now = self.clock.now().mono;
        if self.broker.is_some() || self.stopping.is_some() || now < self.next_connect {
            return;
        }
        self.next_connect = now + RETRY_WAIT;
        self.connections += 1;
        match Broker::connect(&self.around.connect, self.connections, &self.events) {
            Ok(broker) => {
                self.broker = Some(broker);
                self.handle(Input::Connected);
            }
            Err(error) => tracing::debug!("the field side cannot connect: {error}"),
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Heard(nth, bytes) => {
                if self.broker.as_ref().is_some_and(|broker| broker.nth == nth) {
                    self.handle(Input::Bytes(&bytes));
                }
            }
            Event::Gone(nth) => {
                if self.broker.take_if(|broker| broker.nth == nth).is_some() {
                    self.handle(Input::Disconnected);
                }
            }
            Event::Sampled(origin, sampled) => self.handle(Input::Sampled { origin, sampled }),
            Event::Polled(origin, values) => self.handle(Input::Polled { origin, values }),
            Event::Contact(input, events) => {
                let changes = events.map(|events| self.clock.changes(&events));
                let changes = changes.as_deref().map_err(String::as_str);
                self.handle(Input::Contact { input, changes });
            }
            Event::Button(events) => {
                let changes = self.clock.changes(&events);
                self.handle(Input::Button { changes: &changes });
            }
            Event::Line(device, text) => self.handle(Input::Line {
                device,
                text: &text,
            }),
            Event::Port(device, fault) => self.handle(Input::Port {
                device,
                fault: fault.as_deref(),
            }),
            Event::Switched(output, fault) => {
                self.switching = self.switching.saturating_sub(1);
                self.handle(Input::Switched {
                    output,
                    fault: fault.as_deref(),
                });
            }
            Event::Condition(condition) => self.handle(Input::Condition(condition)),
            Event::Stop(done) => {
                self.stopping = Some(done);
                self.handle(Input::Stop);
            }
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.field.handle(self.clock.now(), input);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        while let Some(wish) = self.field.poll() {
            match wish {
                Wish::Send(bytes) => self.say(&bytes),
                Wish::HangUp => self.hang_up(),
                Wish::Sample(origin) => self.devices.sample(origin),
                Wish::Switch { output, on } => {
                    self.switching += 1;
                    self.devices.switch(output, on);
                }
                Wish::Lamp(lit) => self.devices.light(lit),
                Wish::Feed => self.feed(),
                Wish::Rescue => self.rescue(),
                Wish::Log(Level::Info, text) => tracing::info!("{text}"),
                Wish::Log(Level::Warn, text) => tracing::warn!("{text}"),
            }
        }
    }

    /// How everything is, now and then: people look at it.
    fn tell_sensors(&mut self) {
        let now = self.clock.now().mono;
        if now >= self.tell_at {
            self.tell_at = now + TELL_EVERY;
            (self.around.tell)(self.field.shown(), self.troubles.told());
        }
    }

    /// On a thread of its own: whoever sets it in force may ask for the end of this one.
    fn rescue(&self) {
        let rescue = Arc::clone(&self.around.rescue);
        spawn("rescue", move || match rescue() {
            Ok(said) => tracing::warn!("the button was held: {said}"),
            Err(why) => tracing::error!("the button was held, and nothing is changed: {why}"),
        });
    }

    /// A broker that does not read is none: the connection is made anew.
    fn say(&mut self, bytes: &[u8]) {
        let said = self.broker.as_mut().map(|broker| broker.say(bytes));
        if let Some(Err(error)) = said {
            tracing::warn!("the broker does not hear the field side: {error}");
            self.hang_up();
        }
    }

    fn hang_up(&mut self) {
        if self.broker.take().is_some() {
            self.field.handle(self.clock.now(), Input::Disconnected);
        }
    }

    fn feed(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        self.dog.feed();
        tell(Notice::Alive);
    }

    fn end(&mut self) {
        self.devices.close();
        self.dog.rest();
        if let Some(done) = self.stopping.take() {
            let _ = done.send(());
        }
    }
}

/// A thread for a device. It ends when nobody wants to hear it any more.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    if let Err(error) = thread.name(name.to_owned()).spawn(work) {
        tracing::error!("no thread for {name}: {error}");
    }
}
