use std::collections::{BTreeMap, VecDeque};

use super::{Call, Endpoint};
use crate::io::Tenant;

/// A stream, or a consumer of it when the second name is not empty.
pub(crate) type Key = (Tenant, Box<str>, Box<str>);

/// Requests that wait for a change before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Questions.
    pub(crate) infos: usize,
    /// Everything else.
    pub(crate) others: usize,
}

/// Streams and consumers that are being changed, and the requests that wait for the end of it.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: BTreeMap<Key, VecDeque<Call>>,
    waiting: Waiting,
}

impl Locks {
    /// What a request about this stream and consumer has to wait for.
    pub(crate) fn blocking(&self, tenant: Tenant, stream: &str, consumer: &str) -> Option<Key> {
        let whole: Key = (tenant, stream.into(), "".into());
        if self.held.contains_key(&whole) {
            return Some(whole);
        }
        let one: Key = (tenant, stream.into(), consumer.into());
        self.held.contains_key(&one).then_some(one)
    }

    /// A change begins.
    pub(crate) fn hold(&mut self, key: Key) {
        self.held.entry(key).or_default();
    }

    /// How many changes are going on.
    pub(crate) fn changes(&self) -> usize {
        self.held.len()
    }

    /// How many requests wait for one.
    pub(crate) const fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// A request waits.
    pub(crate) fn wait(&mut self, key: Key, call: Call) {
        *self.count_of(&call) += 1;
        self.held.entry(key).or_default().push_back(call);
    }

    /// A change is over: who waited for it.
    pub(crate) fn release(&mut self, key: &Key) -> VecDeque<Call> {
        let calls = self.held.remove(key).unwrap_or_default();
        for call in &calls {
            *self.count_of(call) -= 1;
        }
        calls
    }

    fn count_of(&mut self, call: &Call) -> &mut usize {
        match Endpoint::parse(&call.subject) {
            Some(endpoint) if endpoint.is_info() => &mut self.waiting.infos,
            Some(_) | None => &mut self.waiting.others,
        }
    }
}
