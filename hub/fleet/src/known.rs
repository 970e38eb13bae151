use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::limits::{BOXES_MAX, CLONED_SECONDS, SIGN_AGAIN_SECONDS, STARTS_MAX};
use crate::pin::Pinned;
use crate::word::Word;
use crate::{Alarm, Attempt, Pin, Status, words};

/// A box that once said something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// When the hub last took something from it, in seconds since 1970 by the hub's clock.
    pub seen_s: i64,
    /// What that was.
    pub status: Status,
    /// The key that signed it.
    signer: Option<String>,
    /// The starts it told of, the latest first.
    starts: VecDeque<String>,
    /// The last word of each of its latest starts, by their numbers.
    rounds: BTreeMap<u64, u64>,
    /// When an earlier start was heard again: two boxes have one name.
    cloned_s: Option<i64>,
    /// When somebody else spoke under its name.
    stranger_s: Option<i64>,
    /// The attempt that was signed last, and when.
    signed: (String, i64),
}

/// How far what is said under a name is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anybody may have said it.
    Unsigned,
    /// It is signed by whoever spoke first under that name.
    Signed,
    /// It is signed by the box whose code somebody typed in.
    Claimed,
}

/// All boxes that ever said something, by their names.
#[derive(Clone, Debug)]
pub struct Boxes {
    known: BTreeMap<String, Known>,
    pins: BTreeMap<String, Pinned>,
    /// Who says nothing for so many seconds is silent.
    silent_s: i64,
}

impl Boxes {
    /// None yet.
    #[must_use]
    pub const fn new(silent_s: i64) -> Self {
        Self {
            known: BTreeMap::new(),
            pins: BTreeMap::new(),
            silent_s,
        }
    }

    /// Somebody said this of a box. What is no status is left alone, and so is what is not of its
    /// key, once that is known; whether anything came of it.
    pub fn take(&mut self, name: &str, seen_s: i64, said: &[u8]) -> bool {
        let word = Word::read(said).filter(|_| words::is_name(name));
        let Some(word) = word.filter(|_| self.has_room(name)) else {
            return false;
        };
        if self.pins.get(name).map(|it| &*it.pin.identity) != word.key() {
            if self.pins.contains_key(name) {
                let known = self.known.entry(name.to_owned()).or_default();
                known.stranger_s = Some(seen_s);
                return false;
            }
        } else if word.key().is_none() {
            return self.believe(name, seen_s, word);
        }
        if !word.is_genuine(name) {
            return false;
        }
        let known = self.known.entry(name.to_owned()).or_default();
        if let Some(pinned) = self.pins.get(name) {
            known.forget_before(pinned.pin.start);
        }
        if !known.is_news(seen_s, word.turn()) {
            return false;
        }
        self.pin(name, &word);
        self.believe(name, seen_s, word)
    }

    fn believe(&mut self, name: &str, seen_s: i64, word: Word) -> bool {
        let known = self.known.entry(name.to_owned()).or_default();
        known.signer = word.key().map(str::to_owned);
        known.take(seen_s, word.status);
        true
    }

    fn has_room(&self, name: &str) -> bool {
        self.known.len() < BOXES_MAX || self.known.contains_key(name)
    }

    /// From now on nobody but the owner of that key speaks under the name; and of a start before
    /// this one it does not either.
    fn pin(&mut self, name: &str, word: &Word) {
        let (identity, start) = (word.key().unwrap_or_default(), word.status.start);
        let pinned = self.pins.entry(name.to_owned()).or_insert_with(|| {
            let identity = identity.to_owned();
            Pinned::new(
                Pin {
                    identity,
                    ..Pin::default()
                },
                false,
            )
        });
        if pinned.pin.start < start {
            (pinned.pin.start, pinned.is_kept) = (start, false);
        }
    }

    /// What is to be put into the registry of the key of a box: where, and what.
    pub(crate) fn pin_to_put(&mut self, name: &str, now_s: i64) -> Option<(String, Vec<u8>)> {
        let put = self.pins.get_mut(name)?.put(now_s)?;
        Some((Pin::key_of(name), put))
    }

    /// What is in the registry of the key of a box; empty: it was taken off the list.
    pub(crate) fn take_pin(&mut self, name: &str, said: &[u8]) {
        if said.is_empty() {
            self.pins.remove(name);
            self.known.remove(name);
            return;
        }
        let pin = serde_json::from_slice::<Pin>(said).ok();
        let is_new = !self.pins.contains_key(name);
        let is_full = is_new && self.pins.len() >= BOXES_MAX;
        let Some(pin) = pin.filter(|_| words::is_name(name) && !is_full) else {
            return;
        };
        if let Some(known) = self.known.get_mut(name)
            && known.signer.as_deref() != Some(&*pin.identity)
        {
            // It was believed of somebody else.
            self.known.remove(name);
        }
        let mut kept = Pinned::new(pin, true);
        if let Some(before) = self.pins.get(name).map(|it| &it.pin)
            && before.identity == kept.pin.identity
        {
            // Somebody wrote it down who did not know all of it.
            let more = Pin {
                is_claimed: before.is_claimed || kept.pin.is_claimed,
                start: before.start.max(kept.pin.start),
                ..kept.pin.clone()
            };
            kept.is_kept = more == kept.pin;
            kept.pin = more;
        }
        if let Some(known) = self.known.get_mut(name) {
            known.forget_before(kept.pin.start);
        }
        self.pins.insert(name.to_owned(), kept);
    }

    /// How far a box is believed.
    #[must_use]
    pub fn trust(&self, name: &str) -> Trust {
        match self.pins.get(name).map(|it| it.pin.is_claimed) {
            None => Trust::Unsigned,
            Some(false) => Trust::Signed,
            Some(true) => Trust::Claimed,
        }
    }

    /// What is on trial on a box, if it is to be signed now. What was signed may be lost on its
    /// way, so it is signed again while the box goes on asking.
    pub(crate) fn attempt(&mut self, name: &str) -> Option<Attempt> {
        let known = self.known.get_mut(name)?;
        let trial = known.status.trial.as_ref()?;
        let nonce = trial.nonce.as_ref()?;
        let (signed, at_s) = &known.signed;
        if signed == nonce && known.seen_s - at_s < SIGN_AGAIN_SECONDS {
            return None;
        }
        known.signed = (nonce.clone(), known.seen_s);
        Some(Attempt {
            name: name.to_owned(),
            digest: trial.digest.clone(),
            nonce: nonce.clone(),
        })
    }

    /// Its last word was taken away. Anybody on its line can do that, so that whose key is known
    /// stays on the list until its key is taken away.
    pub fn forget(&mut self, name: &str) {
        if !self.pins.contains_key(name) {
            self.known.remove(name);
        }
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.known.get(name)
    }

    /// All of them, by their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Known)> {
        self.known.iter().map(|(name, known)| (&**name, known))
    }

    /// Those after this name.
    pub fn after<'a>(&'a self, name: &str) -> impl Iterator<Item = (&'a str, &'a Known)> + use<'a> {
        let after = (
            std::ops::Bound::Excluded(name.to_owned()),
            std::ops::Bound::Unbounded,
        );
        let rest = self.known.range(after);
        rest.map(|(name, known)| (&**name, known))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether a box says nothing any more.
    #[must_use]
    pub fn is_silent(&self, known: &Known, now_s: i64) -> bool {
        now_s - known.seen_s > self.silent_s
    }

    /// What is wrong with a box, the worst first.
    #[must_use]
    pub fn alarms(&self, known: &Known, now_s: i64) -> Vec<Alarm> {
        let mut alarms = Alarm::of(&known.status, now_s);
        if self.is_silent(known, now_s) {
            alarms.push(Alarm::silent(known.seen_s));
        }
        if known.cloned_s.is_some_and(|at| now_s - at < CLONED_SECONDS) {
            alarms.push(Alarm::cloned());
        }
        let strange_s = known.stranger_s.unwrap_or(i64::MIN);
        if now_s.saturating_sub(strange_s) < CLONED_SECONDS {
            alarms.push(Alarm::stranger());
        }
        alarms.sort_by_key(|alarm| std::cmp::Reverse(alarm.level));
        alarms
    }
}

impl Known {
    /// Whether a word that its key signed was not said before, nor is from an earlier start: that
    /// is somebody who says it again, or a copy of the box when it has more to say than was heard.
    fn is_news(&mut self, seen_s: i64, (start, round): (u64, u64)) -> bool {
        let latest = self.rounds.last_key_value().map(|(start, _)| *start);
        let oldest = self.rounds.first_key_value().map(|(start, _)| *start);
        let is_known = self.rounds.get(&start);
        let is_fresh = match is_known {
            Some(last) => round > *last,
            None => oldest.is_none_or(|oldest| start > oldest),
        };
        if is_fresh {
            self.rounds.insert(start, round);
            while self.rounds.len() > STARTS_MAX {
                self.rounds.pop_first();
            }
        }
        let is_latest = latest.is_none_or(|latest| start >= latest);
        if is_fresh && !is_latest {
            self.cloned_s = Some(seen_s);
        }
        is_fresh && is_latest
    }

    /// What is from before that start is old.
    fn forget_before(&mut self, start: u64) {
        self.rounds.entry(start).or_insert(0);
    }

    /// A box that starts again never comes back to an earlier start: when that is heard, another
    /// box speaks under the same name.
    fn take(&mut self, seen_s: i64, status: Status) {
        let start = match (&status.identity, &status.instance) {
            (None, None) => None,
            (identity, instance) => Some(format!("{identity:?} {instance:?}")),
        };
        if let Some(start) = start
            && self.starts.front() != Some(&start)
        {
            if self.starts.contains(&start) {
                self.cloned_s = Some(seen_s);
                self.starts.retain(|it| *it != start);
            }
            self.starts.push_front(start);
            self.starts.truncate(STARTS_MAX);
        }
        self.seen_s = self.seen_s.max(seen_s);
        self.status = status;
    }
}

#[cfg(test)]
mod tests;
