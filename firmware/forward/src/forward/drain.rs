//! Messages on their way.

use frond_clock::Instant;
use frond_config::Order;

use super::lanes::Stored;
use super::{Forward, Message};
use crate::ask::{self, Fault, Info};
use crate::flight::Flight;
use crate::io::Level;
use crate::limits::{ANSWER_WAIT, ASIDE_MAX, LOOK_EVERY, REFUSALS_MAX};
use crate::status::State;
use crate::words;

/// About what the protocol of a link adds to a message, and to its answer.
const FRAME_BYTES: usize = 24;

impl Forward {
    pub(super) fn drive(&mut self) {
        if self.is_overdue() {
            return self.resync("the hub does not answer in time");
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

    fn is_overdue(&self) -> bool {
        let now = self.now.mono;
        let oldest = self.flights.oldest();
        oldest.is_some_and(|at| now >= at + ANSWER_WAIT)
    }

    pub(super) fn house_deadline(&self) -> Option<Instant> {
        let flights = self.flights.oldest();
        let fetch = self.fetch.as_ref().map(|it| it.asked);
        let removals = self.removals.values().filter_map(|it| it.asked);
        let answers = flights.into_iter().chain(fetch).chain(removals);
        let answers = answers.map(|at| at + ANSWER_WAIT);
        let look = self.look_at.filter(|_| self.is_changed);
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
        answers.chain(own).min()
    }

    /// Sends what was read, as far as there is room for it on the line and in the budget.
    fn send_on(&mut self) {
        let mut is_spent = false;
        while let Some(next) = self.live.front().or_else(|| self.backlog.front()) {
            let bytes = self.frame_bytes(next);
            if !self.flights.has_room(bytes) {
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

    fn send(&mut self, stored: Stored, bytes: u64) {
        let before = self.flights.add(Flight {
            seq: stored.seq,
            bytes,
            sent: self.now.mono,
        });
        let id = format!("{}{}", self.id_prefix, stored.seq);
        let header = words::outgoing(&stored.header, &id, before, &stored.time);
        let subject = format!("{}.{}", self.prefix, stored.subject);
        let reply = format!("{}.a.{}.{}", self.setup.inbox, self.turn, before + 1);
        let frame = subject.len() + reply.len() + header.len() + stored.payload.len();
        self.spend(frame + FRAME_BYTES + self.answer_bytes());
        self.say(subject, reply, header, stored.payload);
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.meter.spend(bytes as u64);
        self.sent_bytes += bytes as u64;
    }

    /// What the hub says of a message; `None`: it is not there.
    pub(super) fn acked(&mut self, hub_seq: u64, answer: Option<Result<serde_json::Value, Fault>>) {
        let Some(flight) = self.flights.get(hub_seq).copied() else {
            return;
        };
        match answer {
            None => self.hub_is_away(),
            Some(Err(fault)) => self.refused(hub_seq, flight.seq, &fault),
            Some(Ok(json)) => {
                let seq = json["seq"].as_u64().unwrap_or(0);
                self.flights.arrived(hub_seq);
                self.has_arrived(seq, flight.seq);
                if seq != hub_seq {
                    // It was there before, or somebody else writes there: the others are wrong.
                    self.resync("the hub's stream is not where it should be");
                }
            }
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
        let count = match self.refusals {
            (it, count) if it == seq => count + 1,
            _ => 1,
        };
        self.refusals = (seq, count);
        if (fault.is_for_size() || count >= REFUSALS_MAX) && self.aside.len() < ASIDE_MAX {
            self.flights.arrived(hub_seq);
            self.aside.insert(seq);
            let text = format!(
                "message {seq} is not taken by the hub and stays: {}",
                fault.text
            );
            self.log(Level::Warn, text);
        }
        self.resync(&fault.text);
    }

    /// A message came into this box's stream.
    pub(super) fn news_of(&mut self, message: &Message<'_>) {
        let Some(seq) = message.reply.and_then(words::delivered) else {
            return;
        };
        let size = words::value(message.header, "Nats-Msg-Size");
        let size: u64 = size.and_then(|it| it.parse().ok()).unwrap_or(0);
        self.own.last_seq = self.own.last_seq.max(seq);
        self.own.messages += 1;
        self.own.bytes += size + (message.subject.len() + message.header.len()) as u64;
        self.is_changed = true;
        let options = &self.setup.options;
        let is_live = options.live_first || options.order == Order::Newest;
        let class = self.classes.of(message.subject);
        self.lanes.hint(class, seq, is_live);
    }

    /// How much is kept is looked at while it changes.
    fn look_on(&mut self) {
        if !self.is_changed {
            return;
        }
        let now = self.now.mono;
        if now < *self.look_at.get_or_insert(now) {
            return;
        }
        self.is_changed = false;
        self.look_at = Some(now + LOOK_EVERY);
        let name = &self.setup.options.name;
        let subject = self.own_api(&format!("STREAM.INFO.{name}"));
        self.ask(subject, Vec::new(), "i", 0);
    }

    pub(super) fn looked(&mut self, info: Info) {
        let last_seq = self.own.last_seq.max(info.last_seq);
        self.own = Info { last_seq, ..info };
        self.eviction.is_measured = true;
    }
}
