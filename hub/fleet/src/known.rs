use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize as _;

use crate::limits::{BOXES_MAX, CLONED_SECONDS, SIGN_AGAIN_SECONDS, STARTS_MAX, STATUS_BYTES_MAX};
use crate::{Alarm, Attempt, Status, words};

/// A box that once said something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// When the hub last took something from it, in seconds since 1970 by the hub's clock.
    pub seen_s: i64,
    /// What that was.
    pub status: Status,
    /// The starts it told of, the latest first.
    starts: VecDeque<String>,
    /// When an earlier start was heard again: two boxes have one name.
    cloned_s: Option<i64>,
    /// The attempt that was signed last, and when.
    signed: (String, i64),
}

/// All boxes that ever said something, by their names.
#[derive(Clone, Debug)]
pub struct Boxes {
    known: BTreeMap<String, Known>,
    /// Who says nothing for so many seconds is silent.
    silent_s: i64,
}

impl Boxes {
    /// None yet.
    #[must_use]
    pub const fn new(silent_s: i64) -> Self {
        Self {
            known: BTreeMap::new(),
            silent_s,
        }
    }

    /// A box said this of itself. What is no status is left alone.
    pub fn take(&mut self, name: &str, seen_s: i64, said: &[u8]) {
        if said.len() > STATUS_BYTES_MAX || !words::is_name(name) {
            return;
        }
        let Ok(mut said) = serde_json::from_slice(said) else {
            return;
        };
        words::clean_all(&mut said);
        let Ok(status) = Status::deserialize(said) else {
            return;
        };
        if self.known.len() >= BOXES_MAX && !self.known.contains_key(name) {
            return;
        }
        let known = self.known.entry(name.to_owned()).or_default();
        known.take(seen_s, status);
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

    /// It was taken off the list.
    pub fn forget(&mut self, name: &str) {
        self.known.remove(name);
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
        alarms.sort_by_key(|alarm| std::cmp::Reverse(alarm.level));
        alarms
    }
}

impl Known {
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
mod tests {
    use super::*;

    fn codes(boxes: &Boxes, now_s: i64) -> Vec<&'static str> {
        let known = boxes.get("till-7").unwrap();
        let alarms = boxes.alarms(known, now_s);
        alarms.iter().map(|alarm| alarm.code).collect()
    }

    #[test]
    fn a_box_that_starts_again_is_no_copy_and_two_that_take_turns_are() {
        let mut boxes = Boxes::new(300);
        let say = |boxes: &mut Boxes, at, instance: &str| {
            let said = format!("{{\"state\":\"idle\",\"instance\":\"{instance}\"}}");
            boxes.take("till-7", at, said.as_bytes());
        };
        for (at, instance) in [(1, "a"), (2, "a"), (3, "b"), (4, "c")] {
            say(&mut boxes, at, instance);
            assert_eq!(codes(&boxes, at), [""; 0]);
        }
        say(&mut boxes, 5, "b");
        assert_eq!(codes(&boxes, 5), ["cloned"]);
        // Only one of them is left.
        for at in 6..10 {
            say(&mut boxes, at * 100, "b");
        }
        assert_eq!(codes(&boxes, 900), [""; 0]);
    }

    #[test]
    fn an_attempt_is_signed_once_and_again_while_the_box_goes_on_asking() {
        let mut boxes = Boxes::new(300);
        let mut signed = |at, nonce: &str| {
            let said = format!("{{\"trial\":{{\"digest\":\"d\",\"nonce\":\"{nonce}\"}}}}");
            boxes.take("till-7", at, said.as_bytes());
            boxes.attempt("till-7").map(|it| it.nonce)
        };
        assert_eq!(signed(10, "a").as_deref(), Some("a"));
        assert_eq!(signed(11, "a"), None);
        assert_eq!(signed(12, "b").as_deref(), Some("b"));
        assert_eq!(signed(12 + SIGN_AGAIN_SECONDS, "b").as_deref(), Some("b"));
        boxes.take("till-7", 99, b"{\"state\":\"idle\"}");
        assert_eq!(boxes.attempt("till-7"), None);
        assert_eq!(boxes.attempt("till-8"), None);
    }

    #[test]
    fn who_says_nothing_is_silent_and_junk_is_nothing() {
        let mut boxes = Boxes::new(300);
        boxes.take("till-7", 1000, b"{\"state\":\"idle\",\"news\":1}");
        boxes.take("till-7", 5000, b"junk");
        assert_eq!(codes(&boxes, 1300), [""; 0]);
        assert_eq!(codes(&boxes, 1301), ["silent"]);
        boxes.forget("till-7");
        assert!(boxes.is_empty());
    }
}
