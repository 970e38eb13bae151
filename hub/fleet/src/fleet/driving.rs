//! What comes of a rollout: it is written down, boxes are told, and each step is said.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use frond_clock::{Instant, Now};

use super::{Fleet, refused};
use crate::limits::{PUTS_MAX, SAVE_EVERY_SECONDS, WANTS_MAX};
use crate::rollout::Want;
use crate::{Bucket, Output, Phase, Rollout, Step};

/// What a put is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Tell(String),
    Withdraw(String),
    /// The rollout.
    Keep,
    /// Its bundle.
    KeepBundle,
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
            self.put(Bucket::Rollouts, BUNDLE_KEY, bundle, Errand::KeepBundle);
        }
    }

    /// Who was to be told and was not yet shall not be: nor is anything taken back from there.
    pub(super) fn tell_no_more(&mut self) {
        let named = |want: &Want| match want {
            Want::Tell(name) => Some(name.clone()),
            Want::Withdraw(_) => None,
        };
        let untold: BTreeSet<String> = self.wants.iter().filter_map(named).collect();
        self.wants.retain(|want| match want {
            Want::Tell(_) => false,
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
            match self.wants.pop_front() {
                None => return,
                Some(Want::Tell(name)) => {
                    let (key, bundle) = (format!("device.{name}"), self.bundle.clone());
                    self.put(Bucket::Configurations, &key, bundle, Errand::Tell(name));
                }
                Some(Want::Withdraw(name)) => {
                    let key = format!("device.{name}");
                    self.put(Bucket::Configurations, &key, None, Errand::Withdraw(name));
                }
            }
        }
    }

    pub(super) fn put(
        &mut self,
        bucket: Bucket,
        key: &str,
        value: Option<Arc<[u8]>>,
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
        });
        ticket
    }

    /// What could not be put is put again with the next look.
    pub(super) fn wrote(&mut self, ticket: u64, result: Result<(), String>) {
        let Some(at) = self.puts.iter().position(|(it, _)| *it == ticket) else {
            return;
        };
        let (_, errand) = self.puts.swap_remove(at);
        let is_turn = self.turn.take_if(|turn| *turn == ticket).is_some();
        match result {
            Ok(()) => self.done(&errand),
            Err(why) => self.undone(&errand, is_turn, &why),
        }
    }

    fn member(&mut self, name: &str) -> Option<&mut crate::Member> {
        self.rollout.as_mut()?.members.get_mut(name)
    }

    fn done(&mut self, errand: &Errand) {
        match errand {
            Errand::Withdraw(name) => {
                if let Some(member) = self.member(name) {
                    member.is_taken_back = true;
                    self.is_dirty = true;
                }
            }
            Errand::KeepBundle => self.bundle_is = BundleIs::Kept,
            Errand::Tell(_) | Errand::Keep => {}
        }
    }

    fn undone(&mut self, errand: &Errand, is_turn: bool, why: &str) {
        self.is_dirty = true;
        let Some(version) = self.rollout.as_ref().map(Rollout::version) else {
            return;
        };
        match errand {
            Errand::Tell(name) => {
                if let Some(member) = self.member(name) {
                    member.told_s = None;
                    member.fate = crate::Fate::Untold;
                }
            }
            Errand::Withdraw(name) => {
                if self.withdrawals_left > 0 {
                    self.withdrawals_left -= 1;
                    self.wants.push_back(Want::Withdraw(name.clone()));
                }
            }
            Errand::Keep | Errand::KeepBundle => {
                // It is written down with the next look, and who asked is told that it is not yet.
                if *errand == Errand::Keep {
                    self.saved_phase = None;
                } else {
                    self.bundle_is = BundleIs::New;
                }
                let is_asked = is_turn || *errand == Errand::KeepBundle;
                let asked = is_asked.then(|| core::mem::take(&mut self.unanswered));
                let refusal = format!("the hub does not write it down: {why}");
                let answers = asked.into_iter().flatten();
                let answers =
                    answers.map(|(ask, _)| Output::Answer(ask, Err(refused(500, &refusal))));
                self.out.extend(answers);
            }
        }
        self.tell(
            "hub_refused",
            version,
            format!("the hub does not take it: {why}"),
            true,
        );
    }

    /// Members change one by one: written down now and then, and at each turn of the whole.
    fn save(&mut self, now: Now, now_s: i64) {
        let Some(rollout) = &self.rollout else { return };
        if !self.is_dirty {
            return;
        }
        let next_s = self.saved_s.saturating_add(SAVE_EVERY_SECONDS);
        let is_turn = self.saved_phase.as_ref() != Some(&rollout.phase);
        if now_s < next_s && !is_turn {
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
        let ticket = self.put(Bucket::Rollouts, KEY, Some(bytes.into()), Errand::Keep);
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
