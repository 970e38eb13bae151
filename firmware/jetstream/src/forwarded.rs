//! Which streams the configuration of this box has made for its `forward` blocks.
//!
//! A block that is gone leaves its stream behind. What a stream says of itself anybody may have
//! written, so what was in the configuration is remembered apart from it.

use std::collections::BTreeMap;

use bytes::Bytes;
use frond_ledger::Record;

use crate::io::Tenant;
use crate::jetstream::JetStream;

/// Their subjects, by the names of account and stream.
pub(crate) type Forwarded = BTreeMap<(Box<str>, Box<str>), Vec<String>>;

/// Before the name of an account and, behind a slash, of a stream.
const PREFIX: &str = "forward/";
/// That this box remembers at all: the versions before this one only wrote into the streams.
const BEGUN: &str = "forward";

impl JetStream {
    /// What was noted before.
    pub(crate) fn recall_forwarded(&mut self, values: &BTreeMap<Box<str>, Bytes>) {
        let of = |key: &str, value: &Bytes| {
            let (account, stream) = key.strip_prefix(PREFIX)?.rsplit_once('/')?;
            let subjects = serde_json::from_slice(value).ok()?;
            Some(((account.into(), stream.into()), subjects))
        };
        let known = values.iter().filter_map(|(key, value)| of(key, value));
        let known = known.collect();
        self.forwarded = values.contains_key(BEGUN).then_some(known);
    }

    /// Notes what the configuration says now, as account, stream and subjects, and forgets streams
    /// that are gone. The first time `made_before` are believed as well.
    pub fn note_forwarded(
        &mut self,
        blocks: &[(String, String, Vec<String>)],
        made_before: &[(String, String, Vec<String>)],
    ) {
        let is_first = self.forwarded.is_none();
        let mut known = self.forwarded.take().unwrap_or_default();
        if is_first {
            self.keep_value(BEGUN.into(), Some(Bytes::from_static(b"\x01")));
        }
        let before = made_before.iter().filter(|_| is_first);
        for (account, stream, subjects) in before.chain(blocks) {
            let name = (account.as_str().into(), stream.as_str().into());
            if known.get(&name) != Some(subjects) {
                let value = serde_json::to_vec(subjects).unwrap_or_default();
                self.keep_value(key(&name), Some(value.into()));
                known.insert(name, subjects.clone());
            }
        }
        let is_wanted = |name: &(Box<str>, Box<str>)| {
            let mut all = blocks.iter();
            all.any(|(account, stream, _)| **account == *name.0 && **stream == *name.1)
        };
        let gone: Vec<_> = known.keys().filter(|it| !is_wanted(it)).cloned().collect();
        for name in gone {
            if !self.has_stream(&name.0, &name.1) {
                self.keep_value(key(&name), None);
                known.remove(&name);
            }
        }
        self.forwarded = Some(known);
    }

    /// The subjects that a stream of this account was last made for by a block of the
    /// configuration; `None`: it never was.
    #[must_use]
    pub fn forwarded(&self, account: &str, stream: &str) -> Option<&[String]> {
        let known = self.forwarded.as_ref()?;
        let found = known.get(&(account.into(), stream.into()));
        found.map(Vec::as_slice)
    }

    fn has_stream(&self, account: &str, stream: &str) -> bool {
        let mut accounts = self.accounts.iter();
        let tenant = accounts.find(|(_, it)| *it.name == *account);
        tenant.is_some_and(|(tenant, _): (&Tenant, _)| self.find_stream(*tenant, stream).is_some())
            || self
                .dormant
                .iter()
                .any(|(meta, _)| meta.config.name == stream)
    }

    fn keep_value(&mut self, key: Box<str>, value: Option<Bytes>) {
        self.journal
            .soon(self.now.mono, Record::Value { key, value });
    }
}

fn key(name: &(Box<str>, Box<str>)) -> Box<str> {
    format!("{PREFIX}{}/{}", name.0, name.1).into()
}
