//! What comes of a rollout: it is written down, boxes are told, and each step is said.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use frond_clock::{Instant, Now};

use super::{Fleet, refused};
use crate::limits::{PUTS_MAX, SAVE_EVERY_SECONDS, WANTS_MAX};
use crate::rollout::Want;
use crate::{Bucket, Output, Phase, Rollout, Step, Unwritten};

/// What a put is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Tell(String),
    Withdraw(String),
    /// The rollout, for so many times.
    Keep(u64),
    /// Its bundle.
    KeepBundle,
}

/// A rollout that is over, and what belongs to it.
#[derive(Debug)]
pub(super) struct Former {
    pub(super) rollout: Option<Rollout>,
    pub(super) bundle: Option<Arc<[u8]>>,
    pub(super) saved_phase: Option<Phase>,
}

/// Where the bundle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BundleIs {
    /// Here only.
    New,
    /// On its way to the hub's disk.
    UnderWay,
    /// There, or there is none.
    Kept,
}

/// The key under which a rollout is kept.
const KEY: &str = "current";
/// And the bundle it brings.
const BUNDLE_KEY: &str = "bundle";

impl Fleet {
    pub(super) fn look(&mut self, now: Now, now_s: i64) {
        self.wake = None;
        let free = WANTS_MAX.saturating_sub(self.wants.len());
        if self.is_caught_up
            && let Some(rollout) = &mut self.rollout
        {
            let (before, wave) = (rollout.phase.clone(), rollout.wave);
            let (wants, is_news) = rollout.step(now_s, &self.boxes, free);
            let is_other = rollout.phase != before || rollout.wave != wave;
            self.wake = rollout.wakes_s(now_s).map(|at| wake(now, at - now_s));
            let is_telling = !wants.is_empty();
            if wants.iter().any(|it| matches!(it, Want::Tell(_))) {
                self.told_by = self.saves.0 + 1;
            }
            self.wants.extend(wants);
            self.is_dirty |= is_news;
            if is_other {
                // The next phase may want something at once.
                self.wake = Some(now.mono);
                self.tell_phase();
            }
            self.told_wave(is_telling);
            if self.rollout.as_ref().is_some_and(Rollout::is_over) {
                self.tell_no_more();
            }
        }
        // What was decided is on the hub's disk before anything comes of it.
        self.keep_bundle();
        self.save(now, now_s);
        if self.is_written() {
            self.carry_out();
            self.save(now, now_s);
        }
        if self.is_written() {
            let answers = self.unanswered.drain(..);
            let answers = answers.map(|(ask, answer)| Output::Answer(ask, answer));
            self.out.extend(answers);
        }
    }

    /// Whether all that was decided is on the hub's disk, and what is brought as well.
    pub(super) fn is_written(&self) -> bool {
        let phase = self.rollout.as_ref().map(|it| &it.phase);
        let is_saved = phase.is_none() || self.saved_phase.as_ref() == phase;
        is_saved && self.turn.is_none() && self.bundle_is == BundleIs::Kept
    }

    fn keep_bundle(&mut self) {
        if self.bundle_is == BundleIs::New {
            self.bundle_is = BundleIs::UnderWay;
            let bundle = self.bundle.clone();
            self.put(
                Bucket::Rollouts,
                BUNDLE_KEY,
                bundle,
                None,
                Errand::KeepBundle,
            );
        }
    }

    /// Who was to be told and was not yet shall not be: nor is anything taken back from there.
    pub(super) fn tell_no_more(&mut self) {
        let named = |want: &Want| match want {
            Want::Tell(name) => Some(name.clone()),
            Want::TellAgain(_) | Want::Withdraw(_) => None,
        };
        let untold: BTreeSet<String> = self.wants.iter().filter_map(named).collect();
        self.wants.retain(|want| match want {
            Want::Tell(_) | Want::TellAgain(_) => false,
            Want::Withdraw(name) => !untold.contains(name),
        });
        for name in &untold {
            if let Some(member) = self.member(name) {
                member.told_s = None;
                member.fate = crate::Fate::Untold;
            }
        }
    }

    /// Whether something that a former rollout told is still to be taken back.
    pub(super) fn takes_back(&self) -> bool {
        let mut wants = self.wants.iter();
        let mut puts = self.puts.iter();
        wants.any(|it| matches!(it, Want::Withdraw(_)))
            || puts.any(|(_, it)| matches!(it, Errand::Withdraw(_)))
    }

    /// Says once that all boxes of a wave are told.
    fn told_wave(&mut self, is_telling: bool) {
        let Some(rollout) = &self.rollout else { return };
        let size = rollout.size(rollout.wave);
        let is_told = rollout.counts_of(0, size).told == size;
        if !is_telling || !is_told || rollout.is_over() {
            return;
        }
        let (version, all) = (rollout.version(), rollout.order.len());
        let text = format!("wave {}: {size} of {all} boxes are told", rollout.wave + 1);
        self.tell("wave", version, text, false);
    }

    pub(super) fn carry_out(&mut self) {
        while self.puts.len() < PUTS_MAX {
            // Nobody is told before that is written down.
            let is_written = self.told_by <= self.saves.1;
            if !is_written && matches!(self.wants.front(), Some(Want::Tell(_))) {
                return;
            }
            match self.wants.pop_front() {
                None => return,
                Some(Want::Tell(name) | Want::TellAgain(name)) => {
                    let (key, bundle) = (format!("device.{name}"), self.bundle.clone());
                    let errand = Errand::Tell(name);
                    self.put(Bucket::Configurations, &key, bundle, None, errand);
                }
                Some(Want::Withdraw(name)) => {
                    let key = format!("device.{name}");
                    let replaces = self.member(&name).and_then(|it| it.told_seq);
                    let errand = Errand::Withdraw(name);
                    self.put(Bucket::Configurations, &key, None, replaces, errand);
                }
            }
        }
    }

    pub(super) fn put(
        &mut self,
        bucket: Bucket,
        key: &str,
        value: Option<Arc<[u8]>>,
        replaces: Option<u64>,
        errand: Errand,
    ) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.puts.push((ticket, errand));
        self.out.push_back(Output::Put {
            ticket,
            bucket,
            key: key.to_owned(),
            value,
            replaces,
        });
        ticket
    }

    /// What could not be put is put again with the next look.
    pub(super) fn wrote(&mut self, ticket: u64, result: Result<u64, Unwritten>) {
        let Some(at) = self.puts.iter().position(|(it, _)| *it == ticket) else {
            return;
        };
        let (_, errand) = self.puts.swap_remove(at);
        let is_turn = self.turn.take_if(|turn| *turn == ticket).is_some();
        match result {
            Ok(seq) => self.done(&errand, seq),
            Err(why) => self.undone(&errand, is_turn, &why),
        }
    }

    fn member(&mut self, name: &str) -> Option<&mut crate::Member> {
        self.rollout.as_mut()?.members.get_mut(name)
    }

    fn done(&mut self, errand: &Errand, seq: u64) {
        match errand {
            Errand::Tell(name) => {
                if let Some(member) = self.member(name) {
                    member.told_seq = Some(seq);
                    self.is_dirty = true;
                }
            }
            Errand::Withdraw(name) => {
                if let Some(member) = self.member(name) {
                    member.is_taken_back = true;
                    self.is_dirty = true;
                }
            }
            Errand::KeepBundle => self.bundle_is = BundleIs::Kept,
            Errand::Keep(number) => {
                self.former = None;
                self.saves.1 = self.saves.1.max(*number);
            }
        }
    }

    fn undone(&mut self, errand: &Errand, is_turn: bool, unwritten: &Unwritten) {
        self.is_dirty = true;
        let why = &unwritten.why;
        let Some(version) = self.rollout.as_ref().map(Rollout::version) else {
            return;
        };
        match errand {
            Errand::Tell(name) => {
                let phase = self.rollout.as_ref().map(|it| &it.phase);
                if !unwritten.may_be_there {
                    if let Some(member) = self.member(name) {
                        member.told_s = None;
                        member.fate = crate::Fate::Untold;
                    }
                } else if phase == Some(&Phase::Telling) {
                    self.wants.push_back(Want::TellAgain(name.clone()));
                }
            }
            Errand::Withdraw(name) => {
                if self.withdrawals_left > 0 {
                    self.withdrawals_left -= 1;
                    self.wants.push_back(Want::Withdraw(name.clone()));
                }
            }
            Errand::Keep(_) | Errand::KeepBundle => self.unkept(errand, is_turn, unwritten),
        }
        self.tell(
            "hub_refused",
            version,
            format!("the hub does not take it: {why}"),
            true,
        );
    }

    /// What was decided is not on the hub's disk. A start is taken back, unless it may be there
    /// all the same; all else is written down with the next look. Who asked is told.
    fn unkept(&mut self, errand: &Errand, is_turn: bool, unwritten: &Unwritten) {
        let why = &unwritten.why;
        let is_start = self.former.is_some();
        let refusal = if unwritten.may_be_there && is_start {
            format!(
                "the hub does not say whether it is written down ({why}): it may begin yet, so \
                     ask for its status, and abort it if it does and is not wanted"
            )
        } else {
            format!("the hub does not write it down: {why}")
        };
        if matches!(errand, Errand::Keep(_)) {
            self.saved_phase = None;
        } else {
            self.bundle_is = BundleIs::New;
        }
        if is_turn || is_start {
            let asked = core::mem::take(&mut self.unanswered).into_iter();
            let answers = asked.map(|(ask, _)| Output::Answer(ask, Err(refused(500, &refusal))));
            self.out.extend(answers);
        }
        if !unwritten.may_be_there
            && let Some(former) = self.former.take()
        {
            self.wants.clear();
            self.rollout = former.rollout;
            self.bundle = former.bundle;
            self.saved_phase = former.saved_phase;
            self.bundle_is = BundleIs::Kept;
            self.is_dirty = false;
        }
    }

    /// Members change one by one: written down now and then, and at each turn of the whole.
    fn save(&mut self, now: Now, now_s: i64) {
        let Some(rollout) = &self.rollout else { return };
        // What it brings comes first: of a rollout without it nobody could go on with anything.
        if !self.is_dirty || self.bundle_is != BundleIs::Kept {
            return;
        }
        let next_s = self.saved_s.saturating_add(SAVE_EVERY_SECONDS);
        let is_turn = self.saved_phase.as_ref() != Some(&rollout.phase);
        // Who is to be told waits for it.
        let is_awaited = self.told_by > self.saves.0;
        if now_s < next_s && !is_turn && !is_awaited {
            let at = wake(now, next_s - now_s);
            self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
            return;
        }
        // One that waits for its turn to be written down is written after it.
        if is_turn && self.turn.is_some() {
            return;
        }
        let bytes = rollout.encode();
        self.saved_s = now_s;
        self.saved_phase = Some(rollout.phase.clone());
        self.is_dirty = false;
        self.saves.0 += 1;
        let errand = Errand::Keep(self.saves.0);
        let ticket = self.put(Bucket::Rollouts, KEY, Some(bytes.into()), None, errand);
        if is_turn {
            self.turn = Some(ticket);
        }
    }

    pub(super) fn tell_phase(&mut self) {
        let Some(rollout) = &self.rollout else { return };
        let (version, counts) = (rollout.version(), rollout.counts());
        let wave = rollout.wave + 1;
        let (kind, text, is_bad) = match &rollout.phase {
            Phase::Telling => ("telling", format!("wave {wave} begins"), false),
            Phase::Baking(_) => {
                let bake_s = rollout.plan.bake_s;
                (
                    "baking",
                    format!("wave {wave} is well; the next one in {bake_s} s"),
                    false,
                )
            }
            Phase::Paused(by) => ("paused", format!("paused{}", said_by(by)), false),
            Phase::Done => {
                let absent = match counts.absent {
                    0 => String::new(),
                    absent => format!(", {absent} take it when they are there again"),
                };
                let failed = match counts.failed {
                    0 => String::new(),
                    failed => format!(", it failed on {failed}"),
                };
                let (confirmed, all) = (counts.confirmed, counts.all);
                let on = if confirmed == all {
                    "all ".to_owned()
                } else {
                    format!("{confirmed} of ")
                };
                let text = format!("version {version} is on {on}{all} boxes{absent}{failed}");
                ("done", text, false)
            }
            Phase::Stopped(why) => ("stopped", format!("stopped: {why}"), true),
            Phase::Aborted(by) => ("aborted", format!("aborted{}", said_by(by)), true),
        };
        self.tell(kind, version, text, is_bad);
    }

    pub(super) fn tell(&mut self, kind: &'static str, version: u64, text: String, is_bad: bool) {
        self.out.push_back(Output::Step(Step {
            kind,
            version,
            text,
            is_bad,
        }));
    }
}

fn said_by(by: &str) -> String {
    if by.is_empty() {
        String::new()
    } else {
        format!(" by {by}")
    }
}

pub(super) fn wake(now: Now, after_s: i64) -> Instant {
    now.mono + Duration::from_secs(u64::try_from(after_s).unwrap_or(0))
}
