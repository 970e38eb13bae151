use frond_backup::Writer;
use frond_clock::{Instant, Timestamp};
use frond_ledger::{Seq, StreamId};

use crate::api::Call;
use crate::io::{SubId, Tenant};

/// A backup on its way out; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SnapshotId(pub(super) u64);

/// One stream that leaves as a backup.
///
/// **Invariant**: it holds at most one read from the disk and one chunk; the next is read when
/// the taker has acknowledged enough of what was sent.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) tenant: Tenant,
    pub(super) stream: StreamId,
    pub(super) name: Box<str>,
    /// The next sequence to read, and the last.
    pub(super) next: Seq,
    pub(super) upto: Seq,
    pub(super) source: Source,
    pub(super) unread: Unread,
    pub(super) job: Job,
}

/// Messages that the stream has and the disk cannot read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unread {
    pub(super) count: u64,
    /// The sequence of the first.
    first: Seq,
}

/// Where the messages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The next ones may be read.
    Ready,
    /// The disk has been asked.
    Reading,
    /// There are no more.
    Dry,
}

/// What is done with the messages.
#[derive(Debug)]
pub(super) enum Job {
    /// They are only read, so that the backup is not begun when some cannot be.
    Check { call: Box<Call>, request: Request },
    /// They are sent.
    Send(Box<Sending>),
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) deliver: String,
    pub(super) has_consumers: bool,
    pub(super) is_checked: bool,
    pub(super) chunk_bytes: usize,
    /// Chunks that may be on their way.
    pub(super) window: usize,
}

/// What is being sent.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) writer: Writer,
    pub(super) deliver: Box<str>,
    pub(super) chunk_bytes: usize,
    /// Chunks that may be sent now.
    pub(super) slots: usize,
    pub(super) window: usize,
    /// Chunks sent that want an answer.
    pub(super) sent: u64,
    /// How the subjects begin that they are answered on.
    pub(super) ack: String,
    pub(super) ack_sub: SubId,
    pub(super) taker: Taker,
    /// Who asked for it, as a document.
    pub(super) asker: Option<Box<str>>,
    pub(super) started: Timestamp,
}

/// Who takes the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    /// Nobody yet; not waited for beyond this.
    Expected(Instant),
    /// Somebody, who has to answer before this.
    Listening(Instant),
}

impl Unread {
    pub(super) const fn add(&mut self, seq: Seq) {
        if self.count == 0 {
            self.first = seq;
        }
        self.count += 1;
    }

    /// What the taker hears of it, if anything.
    ///
    /// spec: nats-server v2.15.1 server/stream_backup.go `streamSnapshotV2`
    pub(super) fn words(self) -> Option<String> {
        let Self { count, first } = self;
        let before = first.saturating_sub(1);
        let text = format!("couldn't load next message after seq {before}: {count} cannot be read");
        (count > 0).then_some(text)
    }
}

impl Sending {
    /// Whether chunks may go.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        match self.taker {
            Taker::Expected(until) => now >= until,
            Taker::Listening(_) => true,
        }
    }

    /// When waiting is over.
    pub(super) const fn deadline(&self) -> Instant {
        match self.taker {
            Taker::Expected(until) | Taker::Listening(until) => until,
        }
    }
}
