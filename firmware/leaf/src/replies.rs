use std::collections::BTreeMap;

use frond_account::AllowResponses;
use frond_clock::Instant;

use crate::limits::TRACKED_REPLIES_MAX;

/// Where the peer may answer although its permissions say nothing of it.
#[derive(Clone, Debug)]
pub(crate) struct Replies {
    rule: AllowResponses,
    asked: BTreeMap<Box<str>, Asked>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Instant,
    answers: u32,
}

impl Replies {
    pub(crate) const fn new(rule: AllowResponses) -> Self {
        Self {
            rule,
            asked: BTreeMap::new(),
        }
    }

    /// The peer was sent a request that wants its answer at `reply`.
    pub(crate) fn asked(&mut self, now: Instant, reply: &str) {
        if self.asked.len() >= TRACKED_REPLIES_MAX {
            self.forget(now);
        }
        self.asked.insert(
            reply.into(),
            Asked {
                at: now,
                answers: 0,
            },
        );
    }

    /// Whether one more answer may go to `subject`; it is counted.
    pub(crate) fn answer(&mut self, now: Instant, subject: &str) -> bool {
        let Some(asked) = self.asked.get_mut(subject) else {
            return false;
        };
        asked.answers = asked.answers.saturating_add(1);
        let fits = self.rule.max_msgs.is_none_or(|max| asked.answers <= max)
            && self
                .rule
                .expires
                .is_none_or(|expires| now.since(asked.at) < expires);
        if !fits {
            self.asked.remove(subject);
        }
        fits
    }

    /// Drops what has expired; when nothing has, the older half.
    fn forget(&mut self, now: Instant) {
        if let Some(expires) = self.rule.expires {
            self.asked.retain(|_, asked| now.since(asked.at) < expires);
        }
        if self.asked.len() >= TRACKED_REPLIES_MAX {
            let mut times: Vec<_> = self.asked.values().map(|asked| asked.at).collect();
            times.sort_unstable();
            let middle = times.get(times.len() / 2).copied().unwrap_or(now);
            self.asked.retain(|_, asked| asked.at > middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn answers_are_limited_in_number_and_time() {
        let rule = AllowResponses {
            max_msgs: Some(2),
            expires: Some(Duration::from_secs(5)),
        };
        let mut replies = Replies::new(rule);
        let start = Instant::START;
        replies.asked(start, "r.1");
        assert!(!replies.answer(start, "r.2"));
        let answers: Vec<_> = (0..4).map(|_| replies.answer(start, "r.1")).collect();
        assert_eq!(answers, [true, true, false, false]);
        replies.asked(start, "r.1");
        assert!(!replies.answer(start + Duration::from_secs(5), "r.1"));
    }

    #[test]
    fn a_flood_of_requests_stays_bounded() {
        let mut replies = Replies::new(AllowResponses {
            max_msgs: None,
            expires: None,
        });
        for i in 0..3 * TRACKED_REPLIES_MAX as u64 {
            replies.asked(Instant::from_nanos(i), &format!("r.{i}"));
            assert!(replies.asked.len() <= TRACKED_REPLIES_MAX);
            assert!(replies.answer(Instant::from_nanos(i), &format!("r.{i}")));
        }
    }
}
