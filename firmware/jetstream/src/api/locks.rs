use std::collections::{BTreeMap, VecDeque};

use super::Call;
use crate::io::Tenant;
use crate::limits::WAITING_REQUESTS_MAX;

/// A stream, or a consumer of it when the second name is not empty.
pub(crate) type Key = (Tenant, Box<str>, Box<str>);

/// Streams and consumers that are being changed, and the requests that wait for the end of it.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: BTreeMap<Key, VecDeque<Call>>,
    waiting: usize,
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

    /// A request waits; it comes back when too many do.
    pub(crate) fn wait(&mut self, key: Key, call: Call) -> Option<Call> {
        if self.waiting >= WAITING_REQUESTS_MAX {
            return Some(call);
        }
        self.waiting += 1;
        self.held.entry(key).or_default().push_back(call);
        None
    }

    /// A change is over: who waited for it.
    pub(crate) fn release(&mut self, key: &Key) -> VecDeque<Call> {
        let calls = self.held.remove(key).unwrap_or_default();
        self.waiting -= calls.len();
        calls
    }
}
