//! What the disk keeps of a schedule beside its own message.

use frond_clock::Timestamp;
use frond_ledger::{Body, Record, Seq};
use frond_wire::Headers;

use super::{NEXT, SCHEDULER};
use crate::stream::Stream;
use crate::stream::inflight::Proposal;
use crate::stream::mark::Mark;

const ENDED: &str = "ended";
const STAYS: &str = "stays";

/// What is to be known of a schedule after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reminder {
    /// It is due then.
    Due(Timestamp),
    /// It is one still, though other messages of its subject came after it; due then, if that is
    /// known.
    Stays(Option<Timestamp>),
    /// A message of its subject ended it; that one may be gone.
    Ended,
}

impl Reminder {
    /// When the schedule is due, if it tells.
    pub(crate) const fn due(self) -> Option<Timestamp> {
        match self {
            Self::Due(due) => Some(due),
            Self::Stays(due) => due,
            Self::Ended => None,
        }
    }

    /// From what the disk keeps.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(value).ok()?;
        let time = Timestamp::parse_rfc3339;
        match text.strip_prefix(STAYS) {
            Some("") => Some(Self::Stays(None)),
            Some(rest) => time(rest.strip_prefix(' ')?).map(|due| Self::Stays(Some(due))),
            None if text == ENDED => Some(Self::Ended),
            None => time(text).map(Self::Due),
        }
    }

    fn record(self, stream: u32, seq: Seq) -> Record {
        let text = match self {
            Self::Due(due) => due.to_string(),
            Self::Stays(Some(due)) => format!("{STAYS} {due}"),
            Self::Stays(None) => STAYS.to_owned(),
            Self::Ended => ENDED.to_owned(),
        };
        Record::Value {
            key: reminder_key(stream, seq),
            value: Some(text.into()),
        }
    }
}

impl Stream {
    /// What a message on its way makes of schedules: that of its own subject, and the one that
    /// published it.
    pub(in crate::stream) fn reminders(&self, body: &Body) -> Vec<Record> {
        if !self.config.allow_msg_schedules || self.is_memory() {
            return Vec::new();
        }
        let said = Headers::new(body.header());
        let scheduler = said.get(SCHEDULER);
        let is_schedule = Mark::decode(body.mark()).is_schedule;
        let here = self.schedule_of(body.subject()).filter(|_| !is_schedule);
        let here = here.map(|seq| match scheduler {
            None => Reminder::Ended.record(self.id.0, seq),
            Some(_) => Reminder::Stays(self.calendar.due(seq)).record(self.id.0, seq),
        });
        let next = said.get(NEXT).and_then(Timestamp::parse_rfc3339);
        let fired = next.and_then(|next| {
            let seq = self.calendar.of_subject(scheduler?)?;
            let newest = self.contents.subject_of(seq)?.last;
            let reminder = if newest == seq {
                Reminder::Due(next)
            } else {
                Reminder::Stays(Some(next))
            };
            Some(reminder.record(self.id.0, seq))
        });
        here.into_iter().chain(fired).collect()
    }

    /// The schedule of a subject when what is on its way is kept.
    fn schedule_of(&self, subject: &str) -> Option<Seq> {
        if self.inflight.of_subject(subject) > 0 {
            let newest_first = self.inflight.iter().rev();
            let of_subject = newest_first.filter(|it| it.subject == subject.as_bytes());
            for proposed in of_subject {
                let Proposal::Keep(body, _) = &proposed.proposal else {
                    continue;
                };
                if Mark::decode(body.mark()).is_schedule {
                    return Some(proposed.seq);
                }
                Headers::new(body.header()).get(SCHEDULER)?;
            }
        }
        self.calendar.of_subject(subject)
    }
}

/// What the disk keeps under a reminder's key.
pub(crate) fn reminder_key(stream: u32, seq: Seq) -> Box<str> {
    format!("schedule/{stream}/{seq}").into()
}

/// The stream and schedule that a key reminds of, when it is a reminder's.
pub(crate) fn reminded_of(key: &str) -> Option<(u32, Seq)> {
    let (stream, seq) = key.strip_prefix("schedule/")?.split_once('/')?;
    Some((stream.parse().ok()?, seq.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_the_disk() {
        let time = Timestamp::from_nanos(1_700_000_000_500_000_000);
        for reminder in [
            Reminder::Due(time),
            Reminder::Stays(Some(time)),
            Reminder::Stays(None),
            Reminder::Ended,
        ] {
            let Record::Value {
                key,
                value: Some(value),
            } = reminder.record(3, 9)
            else {
                panic!("a value");
            };
            assert_eq!(reminded_of(&key), Some((3, 9)));
            assert_eq!(Reminder::parse(&value), Some(reminder));
        }
        for text in ["", "stays ", "stays x", "ended ", "x"] {
            assert_eq!(Reminder::parse(text.as_bytes()), None, "{text}");
        }
        // As written before there were others.
        assert_eq!(
            Reminder::parse(b"2023-11-14T22:13:20.5Z"),
            Some(Reminder::Due(time))
        );
    }
}
