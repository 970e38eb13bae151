use std::collections::BTreeMap;

use frond_ledger::StreamId;

use crate::allowance::Allowance;
use crate::io::SubId;

/// An account that may use streams.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: Box<str>,
    pub(crate) allowance: Allowance,
    pub(crate) by_name: BTreeMap<Box<str>, StreamId>,
    /// Where the API is asked.
    pub(crate) subs: Vec<SubId>,
    pub(crate) usage: Usage,
    pub(crate) api: ApiCounts,
}

/// Bytes held by streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In memory.
    pub memory: u64,
    /// On the disk.
    pub storage: u64,
}

/// How often the API was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiCounts {
    /// Requests answered.
    pub total: u64,
    /// Answered with an error.
    pub errors: u64,
}

impl Account {
    /// An account without streams.
    pub(crate) fn new(name: &str, allowance: Allowance) -> Self {
        Self {
            name: name.into(),
            allowance,
            by_name: BTreeMap::new(),
            subs: Vec::new(),
            usage: Usage::default(),
            api: ApiCounts::default(),
        }
    }
}
