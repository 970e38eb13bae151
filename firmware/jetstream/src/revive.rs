//! An account is enabled: the API listens, and the streams that the disk had come back.

use frond_ledger::{RecoveredStream, StreamId};

use crate::host::{Host, Presence};
use crate::io::Tenant;
use crate::jetstream::{JetStream, Route};
use crate::stream::Stream;
use crate::stream::recover::StreamMeta;
use crate::stream::removed::Removed;

impl JetStream {
    /// Listens for requests to the API, by its own name and by the domain's.
    pub(crate) fn listen_for_api(&mut self, tenant: Tenant) {
        let mut subs = vec![self.subscribe(tenant, "$JS.API.>", Route::Api)];
        if let Some(domain) = self.facts.domain.clone() {
            let subject = format!("$JS.{domain}.API.>");
            subs.push(self.subscribe(tenant, &subject, Route::DomainApi));
        }
        if let Some(account) = self.accounts.get_mut(&tenant) {
            account.subs = subs;
        }
    }

    /// Brings an account's streams back.
    pub(crate) fn revive(&mut self, tenant: Tenant, account: &str) {
        let dormant = std::mem::take(&mut self.dormant);
        let (mine, others) = dormant
            .into_iter()
            .partition(|(meta, _): &(StreamMeta, RecoveredStream)| meta.account == account);
        self.dormant = others;
        for (meta, found) in mine {
            self.revive_stream(tenant, meta, found);
        }
    }

    /// Listens on a stream's subjects and to its origins, and no longer to those it dropped. In
    /// an account that may use no streams it listens to nothing.
    pub(crate) fn listen_for_stream(&mut self, id: StreamId) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let tenant = host.stream.tenant;
        let mut wanted = host.stream.config.subjects.clone();
        let mut old = std::mem::take(&mut host.subs);
        if self.is_off(tenant) {
            wanted.clear();
        }
        let mut subs = std::collections::BTreeMap::new();
        for subject in wanted {
            let sub = match old.remove(subject.as_str()) {
                Some(sub) => sub,
                None => self.subscribe(tenant, &subject, Route::Publish(id)),
            };
            subs.insert(subject.into_boxed_str(), sub);
        }
        for sub in old.into_values() {
            self.unsubscribe(tenant, sub);
        }
        if let Some(host) = self.hosts.get_mut(&id) {
            host.subs = subs;
        }
        self.follow_sources(id);
    }

    /// The limits are kept again and consumers restored, before anybody sees the stream.
    fn revive_stream(&mut self, tenant: Tenant, meta: StreamMeta, mut found: RecoveredStream) {
        let id = found.stream;
        if meta.is_partial {
            self.forget_partial(id, &meta.config.name);
            return;
        }
        let owner = meta.account.clone();
        let last = self.feeds.last_taken(&meta.config, &found);
        let consumers = std::mem::take(&mut found.consumers);
        let mut stream = Stream::recovered(id, tenant, meta, found, last);
        let mut removed = Removed::default();
        stream.judge(&self.ages);
        stream.enforce_all(self.now.wall, &self.ages, &mut removed);
        let name: Box<str> = stream.config.name.as_str().into();
        let host = Host::new(stream, &owner, Presence::Here, self.facts.domain.as_deref());
        self.hosts.insert(id, host);
        if let Some(account) = self.accounts.get_mut(&tenant) {
            account.by_name.insert(name, id);
        }
        let mut is_sure = ![None, Some(id)]
            .iter()
            .any(|what| self.damaged.contains(what));
        for consumer in &consumers {
            is_sure &= self.restore(id, consumer);
        }
        if is_sure {
            self.drop_finished(id, &mut removed);
        }
        for record in removed.records(id).collect::<Vec<_>>() {
            self.journal.soon(self.now.mono, record);
        }
        self.count_bytes(id);
        self.listen_for_stream(id);
        self.recall_schedules(id);
        self.watch(id);
        self.fresh.insert(id);
    }

    /// Messages that every consumer had finished when the power went. Only where that is sure:
    /// what is lost of a consumer's progress may say that it never had them.
    fn drop_finished(&mut self, id: StreamId, removed: &mut Removed) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        if host.stream.is_kept_by_interest() && !host.consumers.is_empty() {
            host.drop_finished(removed);
        }
    }
}
