//! Everything that must be so before messages go: one question after the other.

use std::time::Duration;

use frond_clock::Instant;
use serde_json::Value;

use super::drain::NO_ANSWER;
use super::{Forward, Phase};
use crate::ask::{self, Fault, Info};
use crate::io::Level;
use crate::limits::{
    ANSWER_WAIT, FAULT_WAIT, FAULT_WAIT_MAX, FLIGHT_TIME_SHORT, HUB_WAIT, SCAN_MESSAGES,
};
use crate::mark::Mark;
use crate::patience::Silence;
use crate::status::State;
use crate::words;

/// A question, in the order of the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The stream for marks is made.
    Marks,
    /// Whether this box's stream is there.
    LookAtOwn,
    MakeOwn,
    MendOwn,
    ReadMark,
    /// As versions before this wrote it.
    ReadFormerMark,
    /// To hear of new messages.
    Watch,
    /// What is there from now on.
    LookAgain,
    LookAtHub,
    MakeHub,
    /// Where the hub's stream began for this box. Nothing is sent before that is on the disk.
    WriteMark {
        last: u64,
        /// The disk has no room for a message.
        is_full: bool,
    },
    /// What the messages of the hub after those that are settled are.
    Scan {
        from: u64,
        last: u64,
        open: u64,
    },
}

impl Step {
    const fn is_about_hub(self) -> bool {
        match self {
            Self::Marks
            | Self::LookAtOwn
            | Self::MakeOwn
            | Self::MendOwn
            | Self::ReadMark
            | Self::ReadFormerMark
            | Self::Watch
            | Self::LookAgain
            | Self::WriteMark { .. } => false,
            Self::LookAtHub | Self::MakeHub | Self::Scan { .. } => true,
        }
    }
}

impl Forward {
    pub(super) fn set_out(&mut self, step: Step) {
        self.phase = Phase::Setting { step, asked: None };
    }

    pub(super) fn rest(&mut self, step: Step, wait: Duration) {
        let until = self.now.mono + wait;
        self.phase = Phase::Resting { step, until };
    }

    pub(super) fn fault_wait(&self) -> Duration {
        let doublings = self.faults.saturating_sub(1).min(10);
        (FAULT_WAIT * 2_u32.pow(doublings)).min(FAULT_WAIT_MAX)
    }

    pub(super) fn settings_time(&mut self) {
        let now = self.now.mono;
        match self.phase {
            Phase::Setting { step, asked: None } => self.put(step, now),
            Phase::Setting {
                step: Step::Scan { last, .. },
                asked: Some(at),
            } => self.wait_for_scan(last, at),
            Phase::Setting {
                step,
                asked: Some(at),
            } if now >= at + ANSWER_WAIT => self.waited(step, now),
            Phase::Resting { step, until } if now >= until => self.put(step, now),
            Phase::Setting { .. } | Phase::Resting { .. } | Phase::Away | Phase::Running => {}
        }
    }

    /// An answer takes long: over a slow line it comes after what was sent before.
    fn waited(&mut self, step: Step, now: Instant) {
        if !step.is_about_hub() {
            return self.failed(step, "no answer in time");
        }
        // It went, as far as anybody knows.
        self.spend(self.asked_bytes);
        match now < self.step_since + HUB_WAIT {
            true => self.say_step(step, now),
            false => self.failed(step, NO_ANSWER),
        }
    }

    fn wait_for_scan(&mut self, last: u64, asked: Instant) {
        match self.patience.silence(self.now.mono, asked) {
            Silence::Short => {}
            Silence::Ask => self.probe(),
            Silence::Dead => self.failed(Step::LookAtHub, NO_ANSWER),
            Silence::Lost => {
                self.turn += 1;
                self.scan_batch = 1;
                self.scan_from(self.flights.floor() + 1, last);
            }
        }
    }

    pub(super) fn is_asking_hub(&self) -> bool {
        matches!(self.phase, Phase::Setting { step, .. } if step.is_about_hub())
    }

    /// Whether this box's own part is done, whatever there is to be done at the hub.
    pub(super) fn is_at_home(&self) -> bool {
        match self.phase {
            Phase::Away => false,
            Phase::Setting { step, .. } | Phase::Resting { step, .. } => step.is_about_hub(),
            Phase::Running => true,
        }
    }

    fn put(&mut self, step: Step, now: Instant) {
        self.count += 1;
        self.step_number = self.count;
        self.step_since = now;
        self.say_step(step, now);
    }

    fn say_step(&mut self, step: Step, now: Instant) {
        self.phase = Phase::Setting {
            step,
            asked: Some(now),
        };
        let options = &self.setup.options;
        let name = options.name.clone();
        let (subject, body) = match step {
            Step::Marks => (
                self.own_api(&format!("STREAM.CREATE.{}", ask::MARKS)),
                ask::marks(),
            ),
            Step::LookAtOwn | Step::LookAgain => {
                (self.own_api(&format!("STREAM.INFO.{name}")), Vec::new())
            }
            Step::MakeOwn => (
                self.own_api(&format!("STREAM.CREATE.{name}")),
                ask::own(&self.setup, None),
            ),
            Step::MendOwn => self.own_with(self.own.mark.as_deref()),
            Step::ReadMark | Step::ReadFormerMark => {
                let subject = if step == Step::ReadMark {
                    ask::mark_subject(&self.setup)
                } else {
                    ask::former_mark_subject(&self.setup)
                };
                let what = format!("STREAM.MSG.GET.{}", ask::MARKS);
                (self.own_api(&what), ask::last(&subject))
            }
            Step::Watch => {
                let inbox = self.setup.inbox.rsplit('.').next().unwrap_or_default();
                let watcher = format!("forward-{inbox}-{}", self.turn);
                let what = format!("CONSUMER.CREATE.{name}.{watcher}");
                (
                    self.own_api(&what),
                    ask::watch(&name, &watcher, &self.news()),
                )
            }
            Step::LookAtHub => {
                let what = format!("STREAM.INFO.{}", self.hub_stream);
                (self.hub_api(&what), Vec::new())
            }
            Step::MakeHub => {
                let what = format!("STREAM.CREATE.{}", self.hub_stream);
                let body = ask::hubs(&self.hub_stream, &self.prefix, &self.setup.server_name);
                (self.hub_api(&what), body)
            }
            Step::WriteMark { is_full: true, .. } => self.own_with_mark(),
            Step::WriteMark { .. } => (ask::mark_subject(&self.setup), self.mark.to_json()),
            Step::Scan { from, last, .. } => return self.scan(from, last),
        };
        self.asked_bytes = (subject.len() + body.len()) as u64;
        self.ask(subject, body, "s", self.step_number);
    }

    fn scan_from(&mut self, from: u64, last: u64) {
        self.set_out(Step::Scan {
            from,
            last,
            open: 0,
        });
    }

    /// Some of the hub's messages at once: they come whole, so that it is one over a slow line.
    fn scan(&mut self, from: u64, last: u64) {
        let end = last.min(from + self.scan_batch - 1);
        self.patience.heard(self.now.mono);
        let subject = self.hub_api(&format!("STREAM.MSG.GET.{}", self.hub_stream));
        for seq in from..=end {
            let body = ask::one(seq);
            self.asked_bytes = (subject.len() + body.len()) as u64;
            self.ask(subject.clone(), body, "g", seq);
        }
        self.phase = Phase::Setting {
            step: Step::Scan {
                from: end + 1,
                last,
                open: end + 1 - from,
            },
            asked: Some(self.now.mono),
        };
    }

    /// One of the hub's messages, or why it is not there.
    pub(super) fn scanned(&mut self, seq: u64, answer: Result<Value, Fault>) {
        let Phase::Setting {
            step: Step::Scan { from, last, open },
            asked,
        } = self.phase
        else {
            return;
        };
        match answer {
            Ok(json) => {
                let header = ask::header_of(&json);
                if let Some(own) = words::own_seq(&header, &self.id_prefix) {
                    self.has_arrived(seq, own);
                }
            }
            Err(fault) if fault.is_no_message() => {}
            Err(fault) => return self.failed(Step::LookAtHub, &fault.text),
        }
        self.patience.heard(self.now.mono);
        let open = open.saturating_sub(1);
        if open > 0 {
            let step = Step::Scan { from, last, open };
            self.phase = Phase::Setting { step, asked };
            return;
        }
        let took = asked.map(|at| self.now.mono.since(at));
        self.scan_batch = match took.is_some_and(|took| took < FLIGHT_TIME_SHORT) {
            true => SCAN_MESSAGES.min(self.scan_batch * 2),
            false => 1,
        };
        // What was looked at need not be looked at again.
        self.flights.begin(from - 1);
        if from <= last {
            self.scan_from(from, last);
        } else {
            self.run(last);
        }
    }

    /// The answer to the question that is open; `None`: nobody is there to answer.
    pub(super) fn step_answered(&mut self, answer: Option<Result<Value, Fault>>) {
        let Phase::Setting { step, .. } = self.phase else {
            return;
        };
        let Some(answer) = answer else {
            return match step.is_about_hub() {
                true => self.hub_is_away(),
                false => self.failed(Step::Marks, "the account has no JetStream here"),
            };
        };
        match (step, answer) {
            (Step::Marks, _) => self.set_out(Step::LookAtOwn),
            (Step::LookAtOwn, Ok(json)) if Info::of(&json).is_ours => {
                self.own = Info::of(&json);
                self.set_out(Step::MendOwn);
            }
            (Step::LookAtOwn, Ok(_)) => {
                let text = "there is a stream of this name that no forward block made";
                self.failed(Step::LookAtOwn, text);
            }
            (Step::LookAtOwn, Err(fault)) if fault.code == ask::NO_STREAM => {
                self.set_out(Step::MakeOwn);
            }
            (Step::MakeOwn | Step::MendOwn, Ok(json)) => self.own_is(Info::of(&json)),
            (Step::ReadMark, Err(fault)) if fault.is_no_message() => {
                self.set_out(Step::ReadFormerMark);
            }
            (Step::ReadMark | Step::ReadFormerMark, answer) => self.mark_is(answer),
            (Step::Watch, Ok(_)) => {
                self.told_at = self.now.mono;
                self.set_out(Step::LookAgain);
            }
            // Somebody removed it since.
            (
                Step::MendOwn
                | Step::Watch
                | Step::LookAgain
                | Step::WriteMark { is_full: true, .. },
                Err(fault),
            ) if fault.code == ask::NO_STREAM => self.failed(Step::Marks, &fault.text),
            (Step::LookAgain, Ok(json)) => {
                self.own = Info::of(&json);
                self.set_out(Step::LookAtHub);
            }
            (Step::LookAtHub, Err(fault)) if fault.code == ask::NO_STREAM => {
                // That is why nothing got through.
                self.aside.drop_charge();
                self.set_out(Step::MakeHub);
            }
            (Step::LookAtHub | Step::MakeHub, Ok(json)) => self.hub_is(&Info::of(&json)),
            (Step::WriteMark { last, .. }, Ok(_)) => {
                self.marking.hub_seq = last;
                self.run(last);
            }
            (Step::WriteMark { last, .. }, Err(fault)) if fault.is_for_room() => {
                self.write_mark(last, true);
            }
            // Their answers are those of `scanned`.
            (Step::Scan { .. }, _) => {}
            (
                Step::LookAtOwn
                | Step::MakeOwn
                | Step::MendOwn
                | Step::Watch
                | Step::LookAgain
                | Step::LookAtHub
                | Step::MakeHub
                | Step::WriteMark { .. },
                Err(fault),
            ) => self.failed(step, &fault.text),
        }
    }

    pub(super) fn failed(&mut self, step: Step, why: &str) {
        self.faults += 1;
        self.state = State::Trouble;
        if self.trouble != why {
            why.clone_into(&mut self.trouble);
            self.log(Level::Warn, why.to_owned());
        }
        let from = match step.is_about_hub() {
            true => {
                self.aside.drop_charge();
                Step::LookAtHub
            }
            false => step,
        };
        self.rest(from, self.fault_wait());
    }

    fn own_is(&mut self, info: Info) {
        let created = frond_clock::Timestamp::parse_rfc3339(&info.created);
        let epoch = created.map_or(0, frond_clock::Timestamp::as_nanos);
        let epoch = words::base36(u64::try_from(epoch).unwrap_or(0));
        let options = &self.setup.options;
        self.id_prefix = format!("{}.{}.{epoch}.", self.setup.server_name, options.name);
        let is_known = self.mark.own_created == info.created;
        self.own = info;
        self.set_out(if is_known {
            Step::Watch
        } else {
            Step::ReadMark
        });
    }

    fn mark_is(&mut self, answer: Result<Value, Fault>) {
        let read = match answer {
            Ok(json) => Mark::of_json(&ask::payload_of(&json)).unwrap_or_default(),
            Err(fault) if fault.is_no_message() => Mark::default(),
            Err(fault) => return self.failed(Step::ReadMark, &fault.text),
        };
        let more = self.own.mark.as_deref();
        let more = more.and_then(|it| Mark::of_json(it.as_bytes()));
        let spent = read.spent();
        let newest = Mark::newest(&self.own.created, more.into_iter().chain([read]));
        self.meter
            .resume(&newest.as_ref().map_or(spent, Mark::spent));
        self.mark = if let Some(newest) = newest {
            newest
        } else {
            // The stream here is a new one: nothing of it was ever sent, and nothing of the former
            // one is to be removed from it.
            self.uncertain.clear();
            self.removals = super::Removals::default();
            self.eviction.begin();
            self.aside = super::Aside::default();
            self.forget_evictions();
            Mark::of_new(&self.own.created)
        };
        self.flights.begin(self.mark.hub_seq);
        self.set_out(Step::Watch);
    }

    fn hub_is(&mut self, info: &Info) {
        if !self.judge() {
            return;
        }
        let all = format!("{}.>", self.prefix);
        let hears = |it: &String| frond_subject::is_subset(&all, it);
        if !info.subjects.iter().any(hears) {
            let text = format!("the hub's stream {} does not take {all}", self.hub_stream);
            return self.failed(Step::LookAtHub, &text);
        }
        let floor = self.flights.floor();
        if info.created != self.mark.hub_created || info.last_seq < floor {
            self.mark.hub_created.clone_from(&info.created);
            self.mark.hub_seq = info.last_seq;
            self.mark.set_spent(self.meter.spent());
            self.uncertain.clear();
            let last = info.last_seq;
            return self.write_mark(last, false);
        }
        let last = info.last_seq;
        if last == floor {
            self.run(last);
        } else {
            // Somebody else may have written between ours, and after them: each is looked up.
            self.scan_from(floor + 1, last);
        }
    }

    /// Everything is known: messages go.
    fn run(&mut self, last: u64) {
        // What was on its way and is not there has to go again.
        self.uncertain.clear();
        let arrived = self.removals.seqs();
        self.taken = arrived.chain(self.aside.seqs()).collect();
        self.flights.begin(last);
        let options = &self.setup.options;
        self.lanes.begin(options.order, self.own.last_seq);
        self.phase = Phase::Running;
        self.trouble.clear();
        self.is_changed = true;
        if self.state != State::HubFull {
            self.log(
                Level::Info,
                format!("to {} of {}", self.hub_stream, self.setup.url),
            );
        }
    }
}
