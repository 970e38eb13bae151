//! Messages on their way.

use frond_clock::Instant;
use frond_config::Order;

use super::aside::Why;
use super::lanes::Stored;
use super::{Forward, Message, Phase, Step};
use crate::ask::{self, Fault, Info};
use crate::flight::Flight;
use crate::io::Level;
use crate::limits::{ANSWER_WAIT, AWAY_WAIT, LOOK_EVERY, POLL_EVERY, SILENCE_MAX};
use crate::patience::Silence;
use crate::status::State;
use crate::words;

/// About what the protocol of a link adds to a message, and to its answer.
pub(super) const FRAME_BYTES: usize = 24;
/// What is said when the hub is silent.
pub(super) const NO_ANSWER: &str = "the hub does not answer in time";
/// How often messages may seem to be left over, before they are read again.
const RESTS_MAX: u32 = 2;

impl Forward {
    pub(super) fn drive(&mut self) {
        let sent = self.flights.oldest();
        let silence = sent.map(|at| self.patience.silence(self.now.mono, at));
        match silence {
            None | Some(Silence::Short) => {}
            Some(Silence::Ask) => self.probe(),
            Some(Silence::Dead) => return self.resync(NO_ANSWER),
            Some(Silence::Lost) => {
                self.accuse();
                return self.resync(NO_ANSWER);
            }
        }
        self.evict_on();
        self.read_on();
        self.send_on();
        self.read_on();
    }

    /// What is to be done on this box, be the hub there or not.
    pub(super) fn keep_house(&mut self) {
        let now = self.now.mono;
        self.fetch.take_if(|it| now >= it.asked + ANSWER_WAIT);
        self.evict_on();
        self.remove();
        self.keep_mark();
        self.look_on();
    }

    /// Asks the hub whether it is there.
    pub(super) fn probe(&mut self) {
        self.count += 1;
        self.patience.asks(self.now.mono, self.count);
        let subject = self.hub_api(&format!("STREAM.INFO.{}", self.hub_stream));
        self.probe_bytes = subject.len() as u64;
        self.ask(subject, Vec::new(), "p", self.count);
    }

    pub(super) fn house_deadline(&self) -> Option<Instant> {
        let flights = self.flights.oldest();
        let flights = flights.map(|at| self.patience.deadline(at));
        let fetch = self.fetch.as_ref().map(|it| it.asked);
        let answers = fetch.into_iter().chain(self.removals.oldest());
        let answers = answers.map(|at| at + ANSWER_WAIT).chain(flights);
        let look = self.look_at.filter(|_| self.is_changed);
        let poll = (self.looked_at + POLL_EVERY).min(self.told_at + SILENCE_MAX);
        let budget = self
            .meter
            .until()
            .filter(|_| self.state == State::BudgetSpent);
        let budget = budget.map(|until| {
            // The wall clock may be set meanwhile.
            let left = until.since(self.now.wall).min(LOOK_EVERY * 60);
            self.now.mono + left.max(LOOK_EVERY)
        });
        let own = self.marking.next.into_iter().chain(look).chain(budget);
        let own = own.chain(Some(poll));
        answers.chain(own).min()
    }

    /// Sends what was read, as far as there is room for it on the line and in the budget.
    fn send_on(&mut self) {
        let mut is_spent = false;
        while let Some(next) = self.live.front().or_else(|| self.backlog.front()) {
            if let Some((kind, why)) = self.why_never(next) {
                let taken = self.live.pop_front().or_else(|| self.backlog.pop_front());
                if let Some(stored) = taken {
                    self.set_aside(stored.seq, kind, &why);
                }
                continue;
            }
            let bytes = self.frame_bytes(next);
            let must_wait = self.aside.is_alone && self.flights.len() > 0;
            if must_wait || !self.flights.has_room(bytes) {
                break;
            }
            if !self.meter.has_room(bytes) {
                is_spent = true;
                break;
            }
            let taken = self.live.pop_front().or_else(|| self.backlog.pop_front());
            if let Some(stored) = taken {
                self.send(stored, bytes);
            }
        }
        self.state = match (is_spent, self.own.messages) {
            (true, _) => State::BudgetSpent,
            (false, 0) => State::Settled,
            (false, _) => State::Forwarding,
        };
        if self.has_only_aside() {
            self.tell_of_aside();
        }
    }

    /// About what it costs on the line, the answer included.
    fn frame_bytes(&self, stored: &Stored) -> u64 {
        let id = self.id_prefix.len() + 20;
        let header = stored.header.len() + id + 128;
        let subject = self.prefix.len() + 1 + stored.subject.len();
        (subject + header + stored.payload.len() + self.answer_bytes() + FRAME_BYTES) as u64
    }

    /// About what the hub's answer costs.
    fn answer_bytes(&self) -> usize {
        let subjects = 2 * self.setup.inbox.len() + 32;
        subjects + self.hub_stream.len() + 64 + FRAME_BYTES
    }

    pub(super) fn header_of(&self, stored: &Stored, before: u64) -> Vec<u8> {
        let id = format!("{}{}", self.id_prefix, stored.seq);
        words::outgoing(&stored.header, &id, before, &stored.time)
    }

    fn send(&mut self, stored: Stored, bytes: u64) {
        let before = self.flights.next();
        let header = self.header_of(&stored, before);
        let subject = format!("{}.{}", self.prefix, stored.subject);
        let reply = format!("{}.a.{}.{}", self.setup.inbox, self.turn, before + 1);
        let frame = subject.len() + reply.len() + header.len() + stored.payload.len();
        let spent = (frame + FRAME_BYTES + self.answer_bytes()) as u64;
        if self.flights.len() == 0 {
            self.patience.heard(self.now.mono);
        }
        self.flights.add(Flight {
            seq: stored.seq,
            bytes,
            spent,
            sent: self.now.mono,
        });
        self.spend(spent);
        self.say(subject, reply, header, stored.payload);
    }

    pub(super) fn spend(&mut self, bytes: u64) {
        self.meter.spend(bytes);
        self.sent_bytes += bytes;
    }

    /// It did not go over the line after all.
    fn unspend(&mut self, bytes: u64) {
        self.meter.unspend(bytes);
        self.sent_bytes = self.sent_bytes.saturating_sub(bytes);
    }

    /// What the hub says of a message.
    pub(super) fn acked(&mut self, hub_seq: u64, payload: &[u8]) {
        let Some(flight) = self.flights.get(hub_seq).copied() else {
            return;
        };
        let domain = &self.setup.options.to.domain;
        match ask::pub_ack(payload, &self.hub_stream, domain) {
            // Somebody else's word is none: the hub's may follow.
            None => {}
            Some(Err(fault)) => self.refused(hub_seq, flight.seq, &fault),
            Some(Ok(seq)) => {
                self.patience.heard(self.now.mono);
                let floor = self.flights.floor();
                self.flights.arrived(self.now.mono, hub_seq);
                self.has_arrived(seq, flight.seq);
                self.convict();
                if seq != hub_seq && self.phase == Phase::Running {
                    // It was there before, or somebody else writes there: the others are wrong, and
                    // the hub's stream ends before where it was taken to.
                    self.resync("the hub's stream is not where it should be");
                    self.flights.begin(floor);
                }
            }
        }
    }

    /// What the hub says of a message that counted as uncertain.
    pub(super) fn acked_late(&mut self, turn: u64, hub_seq: u64, payload: &[u8]) {
        let uncertain = self.uncertain.get(&hub_seq).copied();
        let Some(flight) = uncertain.filter(|_| turn == self.uncertain_turn) else {
            return;
        };
        let domain = &self.setup.options.to.domain;
        if let Some(Ok(seq)) = ask::pub_ack(payload, &self.hub_stream, domain) {
            self.has_arrived(seq, flight.seq);
        }
    }

    fn refused(&mut self, hub_seq: u64, seq: u64, fault: &Fault) {
        if fault.code == ask::WRONG_LAST {
            return self.resync(&fault.text);
        }
        if fault.is_for_room() {
            self.resync(&fault.text);
            self.state = State::HubFull;
            return;
        }
        if fault.is_for_size() {
            self.flights.arrived(self.now.mono, hub_seq);
            self.set_aside(seq, Why::Never, &fault.text);
        } else {
            self.aside.accuse(&[seq]);
        }
        self.resync(&fault.text);
    }

    /// Nobody took a message: it is certain that it did not arrive.
    pub(super) fn nobody(&mut self, turn: u64, hub_seq: u64) {
        let flight = if turn == self.turn && self.phase == Phase::Running {
            let flight = self.flights.get(hub_seq).copied();
            if flight.is_some() {
                self.accuse();
                self.cut();
                // That the hub is away is not certain before it is asked.
                self.rest(Step::LookAtHub, AWAY_WAIT);
            }
            flight
        } else {
            self.uncertain
                .get(&hub_seq)
                .filter(|_| turn == self.uncertain_turn)
                .copied()
        };
        if let Some(flight) = flight {
            self.uncertain.remove(&hub_seq);
            self.taken.remove(&flight.seq);
            self.unspend(flight.spent);
        }
    }

    /// A message came into this box's stream, or none did for a while.
    pub(super) fn news_of(&mut self, message: &Message<'_>) {
        self.told_at = self.now.mono;
        let Some(seq) = message.reply.and_then(words::delivered) else {
            return;
        };
        let size = words::value(message.header, "Nats-Msg-Size");
        let size: u64 = size.and_then(|it| it.parse().ok()).unwrap_or(0);
        let size = size.min(self.setup.payload_max);
        self.own.last_seq = self.own.last_seq.max(seq);
        self.own.messages += 1;
        let around = (message.subject.len() + message.header.len()) as u64;
        self.own.bytes = self.own.bytes.saturating_add(size + around);
        self.is_changed = true;
        // A guess is good enough to be shown, and not to drop messages for.
        self.eviction.is_measured = false;
        let options = &self.setup.options;
        let is_live = options.live_first || options.order == Order::Newest;
        let class = self.classes.of(message.subject);
        self.lanes.hint(class, seq, is_live);
    }

    /// How much is kept is looked at while it changes, and now and then when it does not: whoever
    /// tells of changes may be gone.
    fn look_on(&mut self) {
        let now = self.now.mono;
        if now >= self.told_at + SILENCE_MAX {
            return self.begin_anew(Step::Watch);
        }
        let is_due = self.is_changed && self.look_at.is_none_or(|at| now >= at);
        if !is_due && now < self.looked_at + POLL_EVERY {
            return;
        }
        self.is_changed = false;
        self.is_looking = true;
        self.looked_at = now;
        self.look_at = Some(now + LOOK_EVERY);
        let name = &self.setup.options.name;
        let subject = self.own_api(&format!("STREAM.INFO.{name}"));
        self.ask(subject, Vec::new(), "i", 0);
        if let Some(seq) = self.aside.next_check() {
            let subject = self.own_api(&format!("STREAM.MSG.GET.{}", self.setup.options.name));
            self.ask(subject, ask::one(seq), "q", seq);
        }
        self.release();
    }

    /// This box's own part is gone, or somebody changed it.
    fn begin_anew(&mut self, step: Step) {
        self.cut();
        self.set_out(step);
    }

    pub(super) fn looked(&mut self, answer: Result<serde_json::Value, Fault>) {
        self.is_looking = false;
        let info = match answer {
            Ok(json) => Info::of(&json),
            Err(fault) if fault.code == ask::NO_STREAM => {
                self.log(
                    Level::Warn,
                    "its stream is gone and is made anew".to_owned(),
                );
                return self.begin_anew(Step::Marks);
            }
            Err(_) => return,
        };
        if info.created != self.own.created {
            return self.begin_anew(Step::Marks);
        }
        if info.last_seq > self.own.last_seq {
            // Nobody told of them.
            let options = &self.setup.options;
            let is_live = options.live_first || options.order == Order::Newest;
            for class in 0..self.classes.count() {
                self.lanes.hint(class, info.last_seq, is_live);
            }
        }
        let last_seq = self.own.last_seq.max(info.last_seq);
        self.aside.forget_before(info.first_seq);
        self.own = Info { last_seq, ..info };
        self.eviction.is_measured = true;
        self.evict_anew();
        self.look_for_rest();
    }

    /// Whatever is kept is read, or was set aside: nothing stays because it was passed over.
    fn look_for_rest(&mut self) {
        let is_idle = self.phase == Phase::Running
            && self.flights.len() == 0
            && self.fetch.is_none()
            && self.removals.is_empty()
            && self.live.is_empty()
            && self.backlog.is_empty()
            && self.lanes.are_done();
        if !is_idle || self.own.messages <= self.aside.count() {
            self.rests = 0;
            return;
        }
        self.rests += 1;
        self.is_changed = true;
        if self.rests >= RESTS_MAX {
            self.rests = 0;
            let fault = match self.aside.release_suspects() {
                true => "the hub is there, and does not take what it is sent",
                false => "messages that are kept were passed over",
            };
            self.resync(fault);
        }
    }
}
