use std::collections::{BTreeMap, BTreeSet, VecDeque};

use frond_clock::{Instant, Now, Timestamp};
use frond_config::Forward as Options;

use crate::ask::Info;
use crate::classes::Classes;
use crate::flight::{Flight, Flights};
use crate::io::{Input, Letter, Level, Message, Output};
use crate::limits::AWAY_WAIT;
use crate::mark::Mark;
use crate::meter::Meter;
use crate::patience::Patience;
use crate::removals::Removals;
use crate::status::{Dropped, State, Status, millis};

mod answers;
mod aside;
mod drain;
mod evict;
mod lanes;
mod removal;
mod setup;

use aside::Aside;
use evict::Eviction;
use lanes::{Fetch, Lanes, Stored};
use setup::Step;

/// The subscription for answers, and that for news of new messages.
const SID_ANSWERS: u32 = 1;
const SID_NEWS: u32 = 2;

/// One forward block.
#[derive(Debug)]
pub struct Forward {
    setup: Setup,
    /// In front of every subject at the hub, without the last dot.
    prefix: String,
    hub_stream: String,
    classes: Classes,
    phase: Phase,
    is_trusted: bool,
    /// What the hub takes, if it said so.
    hub_payload_max: Option<u64>,
    now: Now,
    /// Counts cuts: an answer from before the last one means nothing.
    turn: u64,
    /// Counts questions.
    count: u64,
    /// The one of the step, and when it was asked first.
    step_number: u64,
    step_since: Instant,
    /// Messages of the hub that are looked at together.
    scan_batch: u64,
    /// How this box's stream is.
    own: Info,
    /// In front of the sequence in the name of each message.
    id_prefix: String,
    mark: Mark,
    marking: Marking,
    meter: Meter,
    flights: Flights,
    patience: Patience,
    /// What was on its way when the line was cut, by its sequence at the hub.
    uncertain: BTreeMap<u64, Flight>,
    /// The turn that it was sent in.
    uncertain_turn: u64,
    /// Sequences here that are not to be read again: read, on their way, arrived, left aside.
    taken: BTreeSet<u64>,
    lanes: Lanes,
    fetch: Option<Fetch>,
    live: VecDeque<Stored>,
    backlog: VecDeque<Stored>,
    removals: Removals,
    eviction: Eviction,
    aside: Aside,
    /// Why the last of them was set aside.
    aside_why: String,
    /// Failures since something last went well.
    faults: u32,
    look_at: Option<Instant>,
    /// What is kept was looked at then.
    looked_at: Instant,
    /// Who tells of new messages was heard then.
    told_at: Instant,
    /// How often in a row nothing was to be done, and messages were kept.
    rests: u32,
    /// A look at what is kept was asked for and not answered.
    is_looking: bool,
    /// Bytes of the question that is open.
    asked_bytes: u64,
    /// Of the question whether the hub is there.
    probe_bytes: u64,
    is_changed: bool,
    state: State,
    trouble: String,
    arrived: u64,
    sent_bytes: u64,
    outputs: VecDeque<Output>,
}

/// What a block is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The block.
    pub options: Options,
    /// The name of this box.
    pub server_name: String,
    /// The JetStream domain of this box.
    pub own_domain: Option<String>,
    /// The account of the remote.
    pub account: String,
    /// Its first url, for people.
    pub url: String,
    /// A word that no other connection in the world has, for answers.
    pub inbox: String,
    /// Header and payload of a message that this server takes at most.
    pub payload_max: u64,
    /// The line before them.
    pub line_max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is nobody to speak to.
    Away,
    /// One question after the other.
    Setting {
        step: Step,
        /// Asked then; `None`: to be asked.
        asked: Option<Instant>,
    },
    /// The step failed and is tried again.
    Resting {
        step: Step,
        until: Instant,
    },
    Running,
}

/// How the mark on the disk is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marking {
    /// Written, or being written, up to there.
    hub_seq: u64,
    has_failed: bool,
    next: Option<Instant>,
}

impl Forward {
    /// A block that begins.
    #[must_use]
    pub fn new(now: Now, setup: Setup) -> Self {
        let options = &setup.options;
        let classes = Classes::new(&options.priority);
        Self {
            prefix: format!("$FWD.{}.{}", setup.server_name, options.name),
            hub_stream: options.hub_stream(&setup.server_name),
            phase: Phase::Away,
            is_trusted: false,
            hub_payload_max: None,
            now,
            turn: 0,
            count: 0,
            step_number: 0,
            step_since: now.mono,
            scan_batch: 1,
            own: Info::default(),
            id_prefix: String::new(),
            mark: Mark::default(),
            marking: Marking::default(),
            meter: Meter::new(options.budget, now.wall),
            flights: Flights::default(),
            patience: Patience::new(now.mono),
            uncertain: BTreeMap::new(),
            uncertain_turn: 0,
            taken: BTreeSet::new(),
            lanes: Lanes::new(&classes),
            fetch: None,
            live: VecDeque::new(),
            backlog: VecDeque::new(),
            removals: Removals::default(),
            eviction: Eviction::new(&classes),
            aside: Aside::default(),
            aside_why: String::new(),
            faults: 0,
            look_at: None,
            looked_at: now.mono,
            told_at: now.mono,
            rests: 0,
            is_looking: false,
            asked_bytes: 0,
            probe_bytes: 0,
            is_changed: false,
            state: State::Starting,
            trouble: String::new(),
            arrived: 0,
            sent_bytes: 0,
            outputs: VecDeque::new(),
            classes,
            setup,
        }
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input<'_>) {
        self.now = now;
        match input {
            Input::Connected => self.connected(),
            Input::Lost => self.lost(),
            Input::Message(message) => self.message(&message),
            Input::Trust(is_trusted) => self.is_trusted = is_trusted,
            Input::HubTakes(most) => self.hub_takes(most),
            Input::Time => {}
        }
        self.time();
    }

    /// The next output, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to give it [`Input::Time`].
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let step = match self.phase {
            Phase::Setting {
                step: Step::Scan { .. },
                asked,
            } => asked.map(|at| self.patience.deadline(at)),
            Phase::Setting { asked, .. } => asked.map(|at| at + crate::limits::ANSWER_WAIT),
            Phase::Resting { until, .. } => Some(until),
            Phase::Away | Phase::Running => None,
        };
        let house = self.house_deadline().filter(|_| self.is_at_home());
        step.into_iter().chain(house).min()
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> Status {
        let options = &self.setup.options;
        let budget = self.meter.budget();
        let oldest = Timestamp::parse_rfc3339(&self.own.first_time);
        let has_some = self.own.messages > 0;
        let removed = self.own.last_seq.saturating_sub(self.own.messages);
        let classes = 0..self.classes.count();
        let dropped = classes
            .zip(&self.eviction.dropped)
            .map(|(class, count)| Dropped {
                priority: self.classes.filter(class).to_owned(),
                messages: *count,
            });
        Status {
            name: options.name.clone(),
            account: self.setup.account.clone(),
            hub: options.to.domain.clone(),
            url: self.setup.url.clone(),
            stream: self.hub_stream.clone(),
            state: self.state,
            trouble: self.trouble.clone(),
            backlog_messages: self.own.messages,
            backlog_bytes: self.own.bytes,
            oldest_ms: oldest.filter(|_| has_some).map(millis),
            in_flight: self.flights.len() as u64,
            arrived_messages: self.arrived,
            sent_bytes: self.sent_bytes,
            budget_bytes: budget.map(|it| it.bytes),
            budget_period: budget.map(|it| it.period.name()),
            budget_used: self.meter.used(),
            budget_until_ms: self.meter.until().map(millis),
            left_out: removed.saturating_sub(self.mark.arrived),
            dropped: dropped.collect(),
            refused: self.aside.count(),
        }
    }

    fn connected(&mut self) {
        self.lost();
        self.turn += 1;
        let inbox = &self.setup.inbox;
        for (subject, sid) in [(format!("{inbox}.>"), SID_ANSWERS), (self.news(), SID_NEWS)] {
            self.outputs.push_back(Output::Subscribe { subject, sid });
        }
        self.set_out(Step::Marks);
    }

    fn lost(&mut self) {
        self.accuse();
        self.cut();
        self.removals.cut();
        self.forget_evictions();
        self.phase = Phase::Away;
        self.state = State::Starting;
    }

    /// Nothing is on its way any more: what was, may have arrived or not.
    fn cut(&mut self) {
        let flying: Vec<_> = self.flights.iter().map(|(hub, it)| (hub, *it)).collect();
        if !flying.is_empty() {
            self.uncertain_turn = self.turn;
        }
        self.turn += 1;
        self.uncertain.extend(flying);
        let floor = self.flights.floor();
        self.flights.begin(floor);
        for stored in self.live.drain(..).chain(self.backlog.drain(..)) {
            self.taken.remove(&stored.seq);
        }
        self.fetch = None;
        self.is_looking = false;
        self.marking.next = None;
    }

    /// Those on their way failed, and it may be the fault of one of them.
    fn accuse(&mut self) {
        let seqs: Vec<u64> = self.flights.iter().map(|(_, it)| it.seq).collect();
        self.aside.accuse(&seqs);
    }

    /// Looks at the hub anew, after a while if there was a fault.
    fn resync(&mut self, fault: &str) {
        self.cut();
        self.faults += 1;
        fault.clone_into(&mut self.trouble);
        self.rest(Step::LookAtHub, self.fault_wait());
    }

    fn hub_is_away(&mut self) {
        self.cut();
        self.aside.acquit();
        self.state = State::HubAway;
        self.trouble.clear();
        self.rest(Step::LookAtHub, AWAY_WAIT);
    }

    fn message(&mut self, message: &Message<'_>) {
        match message.sid {
            SID_NEWS => self.news_of(message),
            SID_ANSWERS => self.answer(message),
            _ => {}
        }
    }

    fn time(&mut self) {
        self.meter.roll(self.now, self.is_trusted);
        self.settings_time();
        if self.phase == Phase::Running {
            self.drive();
        }
        if self.is_at_home() {
            self.keep_house();
        }
        // What came of it is asked now, not at the next occasion.
        self.settings_time();
    }

    fn news(&self) -> String {
        // Beside the answers, whose subscription would hear it as well.
        format!("{}-new", self.setup.inbox)
    }

    /// Asks; the answer comes to `kind`, with a number of its own.
    fn ask(&mut self, subject: String, payload: Vec<u8>, kind: &str, number: u64) {
        let reply = format!("{}.{kind}.{}.{number}", self.setup.inbox, self.turn);
        self.say(subject, reply, Vec::new(), payload);
    }

    fn say(&mut self, subject: String, reply: String, header: Vec<u8>, payload: Vec<u8>) {
        self.outputs.push_back(Output::Publish(Letter {
            subject,
            reply,
            header,
            payload,
        }));
    }

    fn log(&mut self, level: Level, text: String) {
        let name = &self.setup.options.name;
        let text = format!("forward {name}: {text}");
        self.outputs.push_back(Output::Log(level, text));
    }

    /// A subject of this box's API.
    fn own_api(&self, what: &str) -> String {
        match &self.setup.own_domain {
            Some(domain) => format!("$JS.{domain}.API.{what}"),
            None => format!("$JS.API.{what}"),
        }
    }

    fn hub_api(&self, what: &str) -> String {
        format!("$JS.{}.API.{what}", self.setup.options.to.domain)
    }
}

#[cfg(test)]
mod tests;
