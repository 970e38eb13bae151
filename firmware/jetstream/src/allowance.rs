use std::collections::BTreeMap;

use serde::Serialize;

use crate::stream::config::Storage;

/// What an account may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// Nothing any more: the API says so, and what is stored stays, out of reach.
    Off,
    /// So much of everything.
    Flat(AccountLimits),
    /// By the number of replicas: `R1`, `R3`.
    Tiers(BTreeMap<Box<str>, AccountLimits>),
}

/// What an account, or one tier of it, may use; -1: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AccountLimits {
    /// Bytes in memory.
    pub max_memory: i64,
    /// Bytes on the disk.
    pub max_storage: i64,
    /// Streams.
    pub max_streams: i64,
    /// Consumers of one stream.
    pub max_consumers: i64,
    /// Unacknowledged messages of one consumer.
    pub max_ack_pending: i64,
    /// Bytes of one stream in memory.
    pub memory_max_stream_bytes: i64,
    /// Bytes of one stream on the disk.
    pub storage_max_stream_bytes: i64,
    /// Whether every stream must set `max_bytes`.
    pub max_bytes_required: bool,
}

impl AccountLimits {
    /// What the sum of tiers says: it limits nothing and is shown so.
    pub(crate) const UNSAID: Self = Self {
        max_memory: 0,
        max_storage: 0,
        max_streams: 0,
        max_consumers: 0,
        max_ack_pending: 0,
        memory_max_stream_bytes: 0,
        storage_max_stream_bytes: 0,
        max_bytes_required: false,
    };

    /// Bytes that streams may hold together; 0 is none at all.
    pub(crate) fn bytes_max(&self, storage: Storage) -> Option<u64> {
        let most = match storage {
            Storage::File => self.max_storage,
            Storage::Memory => self.max_memory,
        };
        u64::try_from(most).ok()
    }
}

impl Default for AccountLimits {
    fn default() -> Self {
        Self {
            max_memory: -1,
            max_storage: -1,
            max_streams: -1,
            max_consumers: -1,
            max_ack_pending: -1,
            memory_max_stream_bytes: -1,
            storage_max_stream_bytes: -1,
            max_bytes_required: false,
        }
    }
}

impl Allowance {
    /// The limits of streams with so many replicas.
    ///
    /// spec: nats-server v2.15.1 server/jetstream.go `selectLimits`
    pub(crate) fn of(&self, replicas: i64) -> Option<&AccountLimits> {
        match self {
            Self::Off => None,
            Self::Flat(limits) => Some(limits),
            Self::Tiers(tiers) => tiers.get(tier(replicas).as_str()),
        }
    }

    /// The limits of everything; with tiers nobody says them.
    #[must_use]
    pub fn flat(&self) -> AccountLimits {
        match self {
            Self::Flat(limits) => *limits,
            Self::Off | Self::Tiers(_) => AccountLimits::UNSAID,
        }
    }
}

impl From<AccountLimits> for Allowance {
    fn from(limits: AccountLimits) -> Self {
        Self::Flat(limits)
    }
}

/// What streams with so many replicas are called.
pub(crate) fn tier(replicas: i64) -> String {
    format!("R{}", replicas.max(1))
}
