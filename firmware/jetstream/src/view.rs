//! What monitoring may see of the streams.

use frond_clock::Timestamp;
use frond_ledger::Seq;
use frond_wire::go_json::to_vec;

use crate::account::{ApiCounts, Usage};
use crate::allowance::{AccountLimits, Allowance};
use crate::facts::Facts;
use crate::host::Host;
use crate::io::Tenant;
use crate::jetstream::JetStream;
use crate::stream::Health;
use crate::stream::config::{Storage, StreamConfig};

/// All streams at one moment, to read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    streams: &'a JetStream,
}

/// One account's use of streams.
#[derive(Clone, Debug)]
pub struct AccountView<'a> {
    /// Which account.
    pub tenant: Tenant,
    /// Its name.
    pub name: &'a str,
    /// What it may use, when not by tiers.
    pub limits: AccountLimits,
    /// Bytes in use.
    pub usage: Usage,
    /// Bytes its streams reserve.
    pub reserved: Usage,
    /// How many streams it has.
    pub streams: usize,
    /// How many consumers they have.
    pub consumers: usize,
    /// Requests to the API.
    pub api: ApiCounts,
}

/// One stream.
#[derive(Clone, Debug)]
pub struct StreamView<'a> {
    /// Its configuration.
    pub config: &'a StreamConfig,
    /// When it was created.
    pub created: Timestamp,
    /// Messages it holds.
    pub messages: u64,
    /// What they add up to in bytes.
    pub bytes: u64,
    /// First sequence that may exist.
    pub first_seq: Seq,
    /// Highest sequence used.
    pub last_seq: Seq,
    /// When its first message was taken.
    pub first_time: Option<Timestamp>,
    /// When its last message was taken.
    pub last_time: Option<Timestamp>,
    /// Subjects that have messages.
    pub subjects: usize,
    /// Sequences between first and last that are gone.
    pub deleted: u64,
    /// Its consumers, as the API tells them, in JSON; those of mirrors and sources not among them.
    pub consumers: Vec<Vec<u8>>,
    /// The consumers through which mirrors and sources read it.
    pub direct_consumers: Vec<Vec<u8>>,
    /// The stream it mirrors, as the API tells it, in JSON.
    pub mirror: Option<Vec<u8>>,
    /// The streams it is sourced from.
    pub sources: Vec<Vec<u8>>,
    /// Why it takes no messages, when it does not.
    pub fault: Option<&'a str>,
    /// Messages it had and cannot be read.
    pub lost: usize,
}

/// One stream in a few numbers, which are all there anyway.
#[derive(Clone, Copy, Debug)]
pub struct StreamSummary<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is on the disk, and there after a start.
    pub is_on_disk: bool,
    /// Messages it holds.
    pub messages: u64,
    /// What they add up to in bytes.
    pub bytes: u64,
    /// When its first message was taken.
    pub first_time: Option<Timestamp>,
    /// When its last message was taken.
    pub last_time: Option<Timestamp>,
    /// Messages it had and cannot be read.
    pub lost: usize,
    /// Why it takes no messages, when it does not.
    pub fault: Option<StreamFault<'a>>,
}

/// Why a stream takes no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault<'a> {
    /// There is no space left.
    Full,
    /// The disk failed, in its words.
    Failed(&'a str),
}

impl JetStream {
    /// What monitoring may see.
    #[must_use]
    pub const fn view(&self) -> View<'_> {
        View { streams: self }
    }
}

impl<'a> View<'a> {
    /// What the streams know of their server.
    #[must_use]
    pub const fn facts(&self) -> &'a Facts {
        &self.streams.facts
    }

    /// Bytes in use by all accounts.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.streams.usage
    }

    /// Bytes of memory that what is known of the messages takes, and what it may take.
    #[must_use]
    pub fn index_bytes(&self) -> (u64, Option<u64>) {
        (
            self.streams.index_bytes(),
            self.streams.facts.index_bytes_max,
        )
    }

    /// The accounts that may use streams.
    pub fn accounts(&self) -> impl Iterator<Item = AccountView<'a>> + use<'a> {
        let streams = self.streams;
        streams
            .accounts
            .iter()
            .filter(|(_, account)| account.allowance != Allowance::Off)
            .map(move |(tenant, account)| AccountView {
                tenant: *tenant,
                name: &account.name,
                limits: account.allowance.flat(),
                usage: account.usage,
                reserved: Usage {
                    memory: streams.reserved(*tenant, Storage::Memory),
                    storage: streams.reserved(*tenant, Storage::File),
                },
                streams: streams.hosts_of(*tenant).count(),
                consumers: streams
                    .hosts_of(*tenant)
                    .map(|host| host.consumers.len())
                    .sum(),
                api: account.api,
            })
    }

    /// An account's streams by name.
    pub fn streams(&self, tenant: Tenant) -> impl Iterator<Item = StreamView<'a>> + use<'a> {
        let streams = self.streams;
        streams
            .hosts_of(tenant)
            .map(move |host| stream_view(streams, host))
    }

    /// The same in a few numbers each, for whoever looks often.
    pub fn summaries(&self, tenant: Tenant) -> impl Iterator<Item = StreamSummary<'a>> + use<'a> {
        self.streams.hosts_of(tenant).map(summary)
    }

    /// What was found damaged on the disk, until an operator has seen it: `/healthz` tells it.
    #[must_use]
    pub fn reports(&self) -> &'a [Box<str>] {
        &self.streams.reports
    }

    /// Streams that do not take messages because of the disk, and why: `/healthz` tells them.
    pub fn faults(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let hosts = self.streams.hosts.values();
        hosts.filter_map(|host| Some((host.stream.config.name.as_str(), fault(host)?)))
    }
}

fn stream_view<'a>(streams: &JetStream, host: &'a Host) -> StreamView<'a> {
    let contents = &host.stream.contents;
    let config = &host.stream.config;
    let consumers = |direct: bool| {
        let all = host.consumers.values().map(|attached| &attached.machine);
        all.filter(move |it| it.config().direct == direct)
            .map(|it| to_vec(&it.info(streams.now)))
            .collect()
    };
    let origin = |source| to_vec(&streams.feeds.describe(streams.now.mono, host.id(), source));
    StreamView {
        config,
        created: host.stream.created,
        messages: contents.messages(),
        bytes: contents.bytes(),
        first_seq: contents.first(),
        last_seq: contents.last(),
        first_time: contents.oldest().map(|(_, time)| time),
        last_time: contents.last_time(),
        subjects: contents.subjects().len(),
        deleted: contents.deleted(),
        consumers: consumers(false),
        direct_consumers: consumers(true),
        mirror: config.mirror.as_ref().map(origin),
        sources: config.sources.iter().map(origin).collect(),
        fault: fault(host),
        lost: host.stream.lost_count(),
    }
}

fn summary(host: &Host) -> StreamSummary<'_> {
    let contents = &host.stream.contents;
    StreamSummary {
        name: &host.stream.config.name,
        is_on_disk: host.stream.config.storage == Storage::File,
        messages: contents.messages(),
        bytes: contents.bytes(),
        first_time: contents.oldest().map(|(_, time)| time),
        last_time: contents.last_time(),
        lost: host.stream.lost_count(),
        fault: match &host.stream.health {
            Health::Sound => None,
            Health::Full => Some(StreamFault::Full),
            Health::Failed(words) => Some(StreamFault::Failed(words)),
        },
    }
}

fn fault(host: &Host) -> Option<&str> {
    match &host.stream.health {
        Health::Sound => None,
        Health::Full => Some("no space left on the disk"),
        Health::Failed(words) => Some(words),
    }
}
