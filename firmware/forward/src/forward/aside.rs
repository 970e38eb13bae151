//! What does not get through must not hold up what is behind it: it stays on this box, counted.
//!
//! Whether a message or the way is to blame is found out by sending one at a time: a message that
//! failed alone several times while the hub was there, and only when another arrives after it.

use std::collections::{BTreeMap, BTreeSet};

use frond_clock::Instant;

use super::Forward;
use super::lanes::Stored;
use crate::ask;
use crate::io::Level;
use crate::limits::{AGAIN_EVERY, ASIDE_MAX, FAILURES_MAX, SUSPECTS_MAX, SUSPECTS_ROUNDS_MAX};
use crate::status::State;

/// The rest of the line that a message is published with: a verb, numbers, spaces.
const LINE_BYTES: usize = 96;

/// Why a message is left where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It can never go as it is, or the hub said so of it.
    Never,
    /// It has so many bytes on its way, more than the hub takes.
    Large(u64),
    /// It got no answer while others did: it is tried again now and then.
    Lost,
}

/// What was on its way when something failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Accused {
    #[default]
    None,
    One(u64),
    Many,
}

/// Who is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// That is not known yet.
    None,
    /// A message, which is set aside.
    Aside(u64),
    /// All fail: the way.
    Way,
}

/// All that does not get through.
#[derive(Debug, Default)]
pub(super) struct Aside {
    left: BTreeMap<u64, Why>,
    /// They failed alone; nothing has arrived since.
    suspects: BTreeSet<u64>,
    /// They were suspects once, and are tried once more.
    warned: BTreeSet<u64>,
    /// The one of them all that was looked for last.
    checked: u64,
    /// One at a time, until one arrives.
    pub(super) is_alone: bool,
    accused: Accused,
    /// Who failed last, and how often in a row.
    trial: (u64, u32),
    /// How often all suspects were let go because nothing arrived at all.
    rounds: u32,
    again_at: Option<Instant>,
}

impl Aside {
    pub(super) fn count(&self) -> u64 {
        self.left.len() as u64
    }

    /// Sequences that are not to be sent.
    pub(super) fn seqs(&self) -> impl Iterator<Item = u64> {
        self.left.keys().chain(&self.suspects).copied()
    }

    pub(super) fn has(&self, seq: u64) -> bool {
        self.left.contains_key(&seq) || self.suspects.contains(&seq)
    }

    /// One that is not here any more, or at the hub.
    pub(super) fn forget(&mut self, seq: u64) {
        self.left.remove(&seq);
        self.suspects.remove(&seq);
        self.warned.remove(&seq);
    }

    /// Nothing before this sequence is here any more.
    pub(super) fn forget_before(&mut self, first: u64) {
        self.left = self.left.split_off(&first);
        self.suspects = self.suspects.split_off(&first);
        self.warned = self.warned.split_off(&first);
    }

    /// Who was on its way when something failed that may have been its fault.
    pub(super) fn accuse(&mut self, seqs: &[u64]) {
        self.accused = match seqs {
            [] => return,
            [seq] => Accused::One(*seq),
            _ => Accused::Many,
        };
    }

    /// It was the way's: the hub cannot be reached.
    pub(super) fn acquit(&mut self) {
        self.accused = Accused::None;
        self.trial = (0, 0);
        self.suspects.clear();
        self.warned.clear();
    }

    /// What failed last says nothing: so did a plain question.
    pub(super) fn drop_charge(&mut self) {
        self.accused = Accused::None;
    }

    /// The hub is there.
    fn judge(&mut self) -> Verdict {
        let seq = match std::mem::take(&mut self.accused) {
            Accused::None => return Verdict::None,
            Accused::Many => {
                self.is_alone = true;
                return Verdict::None;
            }
            Accused::One(seq) => seq,
        };
        self.is_alone = true;
        let before = self.trial;
        let count = if before.0 == seq { before.1 + 1 } else { 1 };
        self.trial = (seq, count);
        if count >= FAILURES_MAX && self.warned.remove(&seq) {
            self.left.insert(seq, Why::Lost);
            return Verdict::Aside(seq);
        }
        if count >= FAILURES_MAX {
            self.suspects.insert(seq);
        }
        let most = SUSPECTS_MAX << self.rounds.min(SUSPECTS_ROUNDS_MAX);
        if self.suspects.len() < most {
            return Verdict::None;
        }
        self.rounds += 1;
        self.suspects.clear();
        Verdict::Way
    }

    /// There is nothing else to try: they may go again. Whether there are any.
    pub(super) fn release_suspects(&mut self) -> bool {
        let has_some = !self.suspects.is_empty();
        self.suspects.clear();
        has_some
    }

    /// Another arrived: those that failed before it may be to blame. They are tried once more.
    /// Whether there are any.
    fn convict(&mut self) -> bool {
        self.is_alone = false;
        self.accused = Accused::None;
        self.trial = (0, 0);
        self.rounds = 0;
        let has_some = !self.suspects.is_empty();
        self.warned.append(&mut self.suspects);
        has_some
    }

    /// One after the other: each may have been removed by somebody.
    pub(super) fn next_check(&mut self) -> Option<u64> {
        let mut later = self.left.range(self.checked + 1..);
        let next = later.next().or_else(|| self.left.first_key_value());
        self.checked = next.map_or(0, |(seq, _)| *seq);
        next.map(|(seq, _)| *seq)
    }

    /// Those that got no answer are tried again, if it is time.
    fn release(&mut self, now: Instant) -> bool {
        let has_some = self.left.values().any(|why| *why == Why::Lost);
        let at = *self.again_at.get_or_insert(now + AGAIN_EVERY);
        if !has_some {
            self.again_at = None;
        }
        if !has_some || now < at {
            return false;
        }
        self.again_at = None;
        self.left.retain(|_, why| *why != Why::Lost);
        true
    }
}

impl Forward {
    /// Leaves a message where it is for good.
    pub(super) fn set_aside(&mut self, seq: u64, kind: Why, why: &str) {
        if self.aside.left.len() >= ASIDE_MAX {
            let text = format!("{ASIDE_MAX} messages are set aside, no more can be: {why}");
            return self.failed(super::Step::LookAtHub, &text);
        }
        self.taken.insert(seq);
        self.aside.left.insert(seq, kind);
        self.tell_aside(seq, why);
    }

    fn tell_aside(&mut self, seq: u64, why: &str) {
        self.aside_why = why.to_owned();
        let text = format!("message {seq} is set aside and stays in the stream: {why}");
        self.log(Level::Warn, text);
    }

    /// Why a message can never leave this box as it is.
    pub(super) fn why_never(&self, stored: &Stored) -> Option<(Why, String)> {
        let line = self.prefix.len() + stored.subject.len() + self.setup.inbox.len() + LINE_BYTES;
        let most = self.setup.line_max;
        if line as u64 > most {
            let text = format!("a subject that takes {line} bytes of max_control_line ({most})");
            return Some((Why::Never, text));
        }
        let (own, hubs) = (
            self.setup.payload_max,
            self.hub_payload_max.unwrap_or(u64::MAX),
        );
        let bytes = |header: usize| (header + stored.payload.len()) as u64;
        if bytes(stored.header.len() + ask::added_bytes(&self.setup)) <= own.min(hubs) {
            return None;
        }
        // The server's own words about it, which stay here, are more than what is added.
        let exact = bytes(self.header_of(stored, u64::MAX).len());
        if exact > own {
            let text = format!("{exact} bytes are more than max_payload ({own})");
            return Some((Why::Never, text));
        }
        let text = || format!("{exact} bytes are more than the hub's max_payload ({hubs})");
        (exact > hubs).then(|| (Why::Large(exact), text()))
    }

    /// The hub said what it takes, perhaps more than before.
    pub(super) fn hub_takes(&mut self, most: Option<u64>) {
        // Without a line there is nothing new to know.
        if most.is_none() || most == self.hub_payload_max {
            return;
        }
        self.hub_payload_max = most;
        let fits = |why: &Why| matches!(why, Why::Large(bytes) if Some(*bytes) <= most);
        let before = self.aside.left.len();
        self.aside.left.retain(|_, why| !fits(why));
        if self.aside.left.len() < before && self.phase == super::Phase::Running {
            self.cut();
            self.set_out(super::Step::LookAtHub);
        }
    }

    /// The hub is there again. Whether the block may go on.
    pub(super) fn judge(&mut self) -> bool {
        match self.aside.judge() {
            Verdict::None => return true,
            Verdict::Aside(seq) => {
                self.tell_aside(seq, "it got no answer while others did");
                return true;
            }
            Verdict::Way => {}
        }
        let prefix = &self.prefix;
        let text = format!("the hub is there and takes nothing under {prefix}.>: may this box?");
        self.failed(super::Step::LookAtHub, &text);
        false
    }

    pub(super) fn convict(&mut self) {
        if self.aside.convict() {
            self.cut();
            self.set_out(super::Step::LookAtHub);
        }
    }

    /// Now and then what got no answer is tried again.
    pub(super) fn release(&mut self) {
        if self.phase == super::Phase::Running && self.aside.release(self.now.mono) {
            self.cut();
            self.set_out(super::Step::LookAtHub);
        }
    }

    /// What is wrong when everything else has gone.
    pub(super) fn has_only_aside(&self) -> bool {
        let count = self.aside.count();
        count > 0 && self.own.messages <= count
    }

    pub(super) fn tell_of_aside(&mut self) {
        self.state = State::Trouble;
        let (count, why) = (self.aside.count(), &self.aside_why);
        self.trouble = format!("{count} messages are set aside: {why}");
    }
}
