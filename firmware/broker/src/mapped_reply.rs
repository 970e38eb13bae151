//! Replies on their way back through a gateway: `_GR_.<cluster>.<server>.<subject>`.
//! spec: nats-server v2.15.1 server/gateway.go `getGWHash`, `isGWRoutedReply`, `trackGWReply`

use std::collections::{HashMap, VecDeque};

use frond_clock::Instant;
use sha2::{Digest as _, Sha256};

use crate::limits::{MAPPED_REPLIES_BYTES_MAX, MAPPED_REPLIES_MAX, MAPPED_REPLY_TIME};

/// A reply subject that names the cluster and the server where the answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedReply<'a> {
    /// Of the name of the cluster.
    pub cluster: &'a str,
    /// Of the id of the server.
    pub server: &'a str,
    /// What the requester listens on.
    pub subject: &'a str,
}

impl<'a> MappedReply<'a> {
    /// `None`: it is an ordinary subject.
    #[must_use]
    pub fn parse(subject: &'a str) -> Option<Self> {
        let rest = subject.strip_prefix(MAPPED_PREFIX)?;
        let (cluster, rest) = rest.split_once('.')?;
        let (server, subject) = rest.split_once('.')?;
        let is_whole = cluster.len() == HASH_CHARS && server.len() == HASH_CHARS;
        (is_whole && !subject.is_empty()).then_some(Self {
            cluster,
            server,
            subject,
        })
    }

    /// What stands before the replies to this server.
    #[must_use]
    pub fn prefix(cluster: &str, server_id: &str) -> String {
        let (cluster, server) = (name_hash(cluster), name_hash(server_id));
        format!("{MAPPED_PREFIX}{cluster}.{server}.")
    }
}

/// The six characters that stand for the name of a cluster or the id of a server.
#[must_use]
pub fn name_hash(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    let digits = digest.iter().take(HASH_CHARS).map(|byte| {
        let digit = DIGITS.get(usize::from(*byte) % DIGITS.len());
        char::from(digit.copied().unwrap_or(b'0'))
    });
    digits.collect()
}

/// The subject without what a gateway put before it.
pub(crate) fn bare(subject: &str) -> &str {
    MappedReply::parse(subject).map_or(subject, |mapped| mapped.subject)
}

/// The mapped replies that were shown bare not long ago, by what was shown.
#[derive(Debug, Default)]
pub(crate) struct ShownReplies {
    mapped: HashMap<Box<str>, (Box<str>, Instant)>,
    /// In the order of their ends.
    ends: VecDeque<(Instant, Box<str>)>,
    bytes: usize,
}

impl ShownReplies {
    /// What to show of a reply; if it is mapped, that is kept for a while.
    pub(crate) fn show<'a>(&mut self, reply: &'a str, now: Instant) -> &'a str {
        let Some(mapped) = MappedReply::parse(reply) else {
            return reply;
        };
        while self.ends.front().is_some_and(|(end, _)| *end <= now)
            || self.ends.len() >= MAPPED_REPLIES_MAX
            || self.bytes >= MAPPED_REPLIES_BYTES_MAX
        {
            let Some((end, shown)) = self.ends.pop_front() else {
                break;
            };
            self.bytes -= bytes_of(&shown);
            if self.mapped.get(&shown).is_some_and(|(_, at)| *at == end) {
                self.mapped.remove(&shown);
            }
        }
        let end = now + MAPPED_REPLY_TIME;
        let shown: Box<str> = mapped.subject.into();
        self.mapped.insert(shown.clone(), (reply.into(), end));
        self.bytes += bytes_of(&shown);
        self.ends.push_back((end, shown));
        mapped.subject
    }

    /// Where an answer to `subject` goes instead.
    pub(crate) fn find(&self, subject: &str, now: Instant) -> Option<&str> {
        if self.mapped.is_empty() {
            return None;
        }
        let (mapped, end) = self.mapped.get(subject)?;
        (now < *end).then_some(mapped)
    }
}

/// A reply is kept as shown twice, and with its prefix.
const fn bytes_of(shown: &str) -> usize {
    3 * shown.len() + 2 * HASH_CHARS + MAPPED_PREFIX.len()
}

/// How all of them begin.
pub(crate) const MAPPED_PREFIX: &str = "_GR_.";

/// All of them.
pub(crate) const MAPPED_REPLIES: &str = "_GR_.>";

const HASH_CHARS: usize = 6;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    /// A captured reply of a cluster called GA.
    const CAPTURED: &str = "_GR_.F2cAWZ.LswYDS.inb.1";

    #[test]
    fn names_are_hashed_as_nats_server_hashes_them() {
        assert_eq!(name_hash("GA"), "F2cAWZ");
        assert!(MappedReply::prefix("GA", "N").starts_with("_GR_.F2cAWZ."));
    }

    #[test]
    fn only_whole_replies_are_mapped_ones() {
        let mapped = MappedReply::parse(CAPTURED).unwrap();
        let parts = (mapped.cluster, mapped.server, mapped.subject);
        assert_eq!(parts, ("F2cAWZ", "LswYDS", "inb.1"));
        for other in ["_GR_.F2cAWZ.LswYDS.", "_GR_.x.y.z", "_INBOX.1", "_GR_."] {
            assert_eq!((MappedReply::parse(other), bare(other)), (None, other));
        }
    }

    #[test]
    fn a_shown_reply_is_known_for_its_time_and_no_longer() {
        let mut replies = ShownReplies::default();
        let start = Instant::START;
        assert_eq!(replies.show(CAPTURED, start), "inb.1");
        assert_eq!(replies.show("inb.2", start), "inb.2");
        let almost = start + (MAPPED_REPLY_TIME - Duration::from_nanos(1));
        assert_eq!(replies.find("inb.1", almost), Some(CAPTURED));
        assert_eq!(replies.find("inb.2", almost), None);
        assert_eq!(replies.find("inb.1", start + MAPPED_REPLY_TIME), None);
    }

    #[test]
    fn replies_that_nobody_answers_take_no_more_than_their_room() {
        let mut replies = ShownReplies::default();
        for n in 0..MAPPED_REPLIES_MAX + 5 {
            replies.show(&format!("_GR_.F2cAWZ.LswYDS.{n}"), Instant::START);
        }
        assert_eq!(replies.mapped.len(), MAPPED_REPLIES_MAX);
        replies.show(CAPTURED, Instant::START + MAPPED_REPLY_TIME);
        assert_eq!(replies.mapped.len(), 1);
    }

    #[test]
    fn long_replies_take_no_more_than_their_room() {
        let mut replies = ShownReplies::default();
        let reply = |n: usize| format!("{n}.{}", "x".repeat(4_000));
        for n in 0..2_000 {
            replies.show(&format!("_GR_.F2cAWZ.LswYDS.{}", reply(n)), Instant::START);
        }
        let held: usize = replies.mapped.keys().map(|shown| 3 * shown.len()).sum();
        assert!(held <= MAPPED_REPLIES_BYTES_MAX + 3 * 4_100 && replies.mapped.len() > 300);
        assert!(replies.find(&reply(1_999), Instant::START).is_some());
        assert!(replies.find(&reply(0), Instant::START).is_none());
    }
}
