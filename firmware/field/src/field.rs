use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use frond_board::{Button, ButtonTimes, Debounce, Feeder, Lamp, LampInput, Pattern};
use frond_clock::{Instant, Now};
use frond_config::Appliance;

use crate::client::Client;
use crate::io::{Condition, Input, Level, Wish};
use crate::output::Output;
use crate::probe::Probe;
use crate::reading::Stamp;
use crate::source::{Channel, Source};
use crate::status::pattern;
use crate::thinning::Thinning;

mod commands;
mod contacts;
mod messages;
mod probing;
mod readings;

/// The whole field side of a box.
#[derive(Debug)]
pub struct Field {
    options: Appliance,
    client: Client,
    lamp: Lamp,
    /// What the lamps say while a button is held.
    held: Option<Pattern>,
    button: Option<Button>,
    feeder: Option<Feeder>,
    /// For how long the message path may stand still before that is a fault.
    patience: Duration,
    probe: Probe,
    sources: Vec<Source>,
    contacts: Vec<Contact>,
    devices: Vec<Device>,
    outputs: Vec<Output>,
    thinnings: Vec<Thinning>,
    condition: Option<Condition>,
    /// Streams to be made when the broker is there, and those that were asked for.
    streams: Vec<(String, Vec<u8>)>,
    opening: Option<Opening>,
    event_seq: u64,
    wishes: VecDeque<Wish>,
}

/// Between the broker's greeting and the first reading.
#[derive(Debug)]
struct Opening {
    /// Streams that were asked for and are not there yet, by their places.
    missing: BTreeSet<usize>,
    /// They are waited for until then.
    until: Instant,
}

/// A digital input.
#[derive(Debug)]
struct Contact {
    /// `None`: nobody knows yet.
    debounce: Option<Debounce>,
    raw: bool,
    fault: String,
    told: Option<Instant>,
    seq: u64,
}

/// A serial device.
#[derive(Debug)]
struct Device {
    channel: Channel,
    fault: Option<String>,
}

/// What the field side is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The block of the configuration.
    pub options: Appliance,
    /// How often the message path is probed; `None`: nobody wants to be fed.
    pub probe_every: Option<Duration>,
    /// For how long it may stand still before that is a fault.
    pub patience: Duration,
    /// There are streams here.
    pub has_streams: bool,
    /// A word that no other box has: hubs carry subjects from one to the other.
    pub token: String,
}

impl Field {
    /// Of the configuration; everything begins now.
    #[must_use]
    pub fn new(now: Now, setup: Setup) -> Self {
        let Setup {
            options,
            probe_every,
            patience,
            has_streams,
            token,
        } = setup;
        let at = ms(now);
        let probe = Probe::new(&options.prefix, &token, has_streams);
        let mut it = Self {
            client: Client::new(&options, &token),
            lamp: Lamp::new(at, Pattern::Booting),
            held: None,
            button: None,
            feeder: probe_every.map(|every| feeder(now, every)),
            patience,
            probe,
            sources: Source::all(now.mono, &options),
            contacts: options.inputs.iter().map(|_| Contact::new()).collect(),
            devices: options.serial.iter().map(Device::new).collect(),
            outputs: options.outputs.iter().map(Output::new).collect(),
            thinnings: options
                .conditions
                .iter()
                .filter_map(Thinning::new)
                .collect(),
            condition: None,
            streams: Vec::new(),
            opening: None,
            event_seq: 0,
            wishes: VecDeque::new(),
            options,
        };
        it.plan_streams(has_streams);
        it.time(now);
        it.settle();
        it
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input<'_>) {
        match input {
            Input::Connected => self.client.connected(),
            Input::Disconnected => self.lost(now),
            Input::Bytes(bytes) => self.hear(now, bytes),
            Input::Sampled { origin, sampled } => self.sampled(now, origin, sampled),
            Input::Polled { origin, values } => self.polled(now, origin, &values),
            Input::Contact { input, changes } => self.contact(now, input, changes),
            Input::Button { changes } => self.button(now, changes),
            Input::Line { device, text } => self.line(now, device, text),
            Input::Port { device, fault } => self.port(device, fault),
            Input::Switched { output, fault } => self.switched(now, output, fault),
            Input::Condition(condition) => self.condition(now, condition),
            Input::Stop => self.stop(),
            Input::Time => {}
        }
        self.time(now);
        self.settle();
    }

    /// The next wish, until there is none.
    pub fn poll(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    /// When to give it [`Input::Time`].
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let lamp = (!self.options.lamps.is_empty()).then(|| at(self.lamp.deadline()));
        let button = self.button.as_ref().and_then(Button::deadline).map(at);
        let feeder = self.feeder.as_ref().map(|feeder| at(feeder.deadline()));
        let contacts = self.contacts_deadline();
        let sources = self.sources.iter().filter_map(Source::deadline);
        let devices = self
            .devices
            .iter()
            .filter_map(|it| it.channel.conditioner.deadline());
        let outputs = self.outputs.iter().filter_map(Output::deadline);
        let thinnings = self.thinnings.iter().filter_map(Thinning::deadline);
        let opening = self.opening.as_ref().map(|opening| opening.until);
        let own = lamp.into_iter().chain(button).chain(feeder).chain(contacts);
        let own = own.chain(opening);
        own.chain(sources)
            .chain(devices)
            .chain(outputs)
            .chain(thinnings)
            .min()
    }

    /// What the lamps say.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        self.lamp.pattern()
    }

    fn condition(&mut self, now: Now, condition: Condition) {
        let before = self.condition.replace(condition);
        let lost = |it: &Condition| it.lines > 0 && it.lines_up == 0;
        if lost(&condition) && !before.as_ref().is_some_and(lost) {
            for output in &mut self.outputs {
                output.link_lost();
            }
        }
        self.show(now);
    }

    /// The connection to the broker is gone.
    fn lost(&mut self, now: Now) {
        self.client.disconnected();
        self.opening = None;
        self.probes_lost(now);
        for output in &mut self.outputs {
            output.link_lost();
        }
    }

    fn stop(&mut self) {
        for output in &mut self.outputs {
            output.go_safe("stop");
        }
        // Dark, for who looks at a box that is off.
        self.wishes.push_back(Wish::Lamp(false));
    }

    fn show(&mut self, now: Now) {
        let stands = |feeder: &Feeder| feeder.silent_ms(ms(now)) > millis(self.patience);
        let is_served = !self.feeder.as_ref().is_some_and(stands);
        let own = pattern(self.condition.as_ref(), is_served);
        let shown = self.held.unwrap_or(own);
        let before = self.lamp.pattern();
        self.lamp.handle(ms(now), LampInput::Show(shown));
        if shown != before && self.held.is_none() {
            self.tell(
                now,
                "state",
                &[("state", shown.name()), ("was", before.name())],
            );
        }
    }

    fn time(&mut self, now: Now) {
        self.opening_time(now);
        self.probe_time(now);
        self.show(now);
        let lit = self.lamp.poll().filter(|_| !self.options.lamps.is_empty());
        if let Some(lit) = lit {
            self.wishes.push_back(Wish::Lamp(lit));
        }
        self.button_time(now);
        self.contacts_time(now);
        self.readings_time(now);
        self.thinning_time(now);
        self.outputs_time(now);
    }

    /// What is to be said goes out at once.
    fn settle(&mut self) {
        if let Some(bytes) = self.client.take() {
            self.wishes.push_back(Wish::Send(bytes));
        }
    }

    /// An event of the box, on `prefix.what`.
    fn tell(&mut self, now: Now, what: &str, texts: &[(&str, &str)]) {
        self.event_seq += 1;
        let stamp = self.stamp(now, self.event_seq);
        let subject = format!("{}.{what}", self.options.prefix);
        let payload = crate::event::event(texts, stamp);
        self.client.publish(&subject, "", &payload);
    }

    fn stamp(&self, now: Now, seq: u64) -> Stamp {
        Stamp {
            seq,
            time: now.wall,
            is_trusted: self.condition.is_some_and(|it| it.is_time_trusted),
        }
    }

    fn log(&mut self, level: Level, text: String) {
        self.wishes.push_back(Wish::Log(level, text));
    }
}

/// Milliseconds of the monotonic clock, as a board counts.
fn ms(now: Now) -> u64 {
    now.mono.as_nanos() / 1_000_000
}

/// No earlier run counted from this start: its probes may still be stored.
fn feeder(now: Now, every: Duration) -> Feeder {
    let start = u64::try_from(now.wall.as_nanos()).unwrap_or_default();
    Feeder::new(ms(now), millis(every)).after(start)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn button_times(options: &frond_config::Button) -> ButtonTimes {
    ButtonTimes {
        settle_ms: millis(options.debounce),
        warn_ms: 1_000,
        hold_ms: millis(options.hold),
    }
}

#[cfg(test)]
mod tests;
