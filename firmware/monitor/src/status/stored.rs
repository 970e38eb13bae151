use frond_jetstream::{StreamFault, StreamSummary};
use frond_node::View;
use serde::Serialize;

use crate::limits::STREAMS_SHOWN_MAX;
use crate::status::Seen;
use crate::text::When;

/// How far blocks are forwarded, and what the watchdog probes.
const OWN: [&str; 2] = ["FROND_FORWARD", "FROND_PROBE"];

/// What is kept here, in few numbers: somebody looks at it every two seconds.
#[derive(Debug, Default)]
pub(super) struct Stored<'a> {
    pub(super) used_bytes: u64,
    pub(super) max_bytes: u64,
    /// Bytes of memory for what is known of messages; and how many there may be.
    pub(super) index_bytes: (u64, Option<u64>),
    /// What the disk reported damaged.
    pub(super) reports: &'a [Box<str>],
    /// With their accounts.
    pub(super) streams: Vec<(&'a str, StreamSummary<'a>)>,
}

/// The same for the page.
#[derive(Debug, Serialize)]
pub(super) struct Storage {
    used_bytes: u64,
    max_bytes: u64,
    /// Whether the disk takes no more, whatever may be used of it.
    is_full: bool,
    messages: u64,
    /// Streams there are; the largest of them are listed.
    count: usize,
    streams: Vec<StreamNow>,
}

#[derive(Debug, Serialize)]
struct StreamNow {
    name: String,
    account: String,
    messages: u64,
    bytes: u64,
    oldest: Option<When>,
    newest: Option<When>,
    lost: usize,
    /// Whether it takes no messages.
    is_stuck: bool,
}

impl<'a> Stored<'a> {
    /// What is kept for whoever looks; `None` without JetStream.
    pub(super) fn gather(view: &View<'a>, seen: &Seen) -> Option<Self> {
        let streams = view.streams?;
        let machine = streams.machine.view();
        let accounts = machine.accounts().filter(|it| seen.shows(it.name));
        let rows = accounts.flat_map(|account| {
            let summaries = machine.summaries(account.tenant);
            summaries.map(move |it| (account.name, it))
        });
        Some(Self {
            used_bytes: machine.usage().storage,
            max_bytes: streams.limits.file_bytes_max,
            index_bytes: machine.index_bytes(),
            reports: machine.reports(),
            streams: rows.collect(),
        })
    }

    /// Whether the disk takes no more.
    pub(super) fn is_full(&self) -> bool {
        let mut faults = self.streams.iter().filter_map(|(_, it)| it.fault);
        faults.any(|it| it == StreamFault::Full)
    }

    /// For the page: the largest, and before them those that do not work.
    pub(super) fn shown(mut self) -> Storage {
        let is_full = self.is_full();
        // What this program keeps for itself is nobody's.
        self.streams
            .retain(|(_, it)| !OWN.contains(&it.name) || it.fault.is_some());
        let count = self.streams.len();
        let messages = self.streams.iter().map(|(_, it)| it.messages).sum();
        self.streams
            .sort_by_key(|(_, it)| (it.fault.is_none(), std::cmp::Reverse(it.bytes)));
        self.streams.truncate(STREAMS_SHOWN_MAX);
        let streams = self.streams.into_iter().map(row);
        Storage {
            used_bytes: self.used_bytes,
            max_bytes: self.max_bytes,
            is_full,
            messages,
            count,
            streams: streams.collect(),
        }
    }
}

fn row((account, stream): (&str, StreamSummary<'_>)) -> StreamNow {
    StreamNow {
        name: stream.name.to_owned(),
        account: account.to_owned(),
        messages: stream.messages,
        bytes: stream.bytes,
        oldest: stream.first_time.map(When),
        newest: stream.last_time.map(When),
        lost: stream.lost,
        is_stuck: stream.fault.is_some(),
    }
}
