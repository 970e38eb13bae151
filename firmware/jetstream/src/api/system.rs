//! The API in the system account: it owns no streams, and its operators purge those of others.

use frond_clock::Now;
use frond_ledger::StreamId;
use frond_wire::{Message, MessageBuf};
use serde::Serialize;

use super::{Call, Endpoint, answer, audit};
use crate::errors::{self, ApiError};
use crate::io::{Reach, Tenant};
use crate::jetstream::{JetStream, Route};

/// What only the leader of a cluster answers.
const LEADERS: [&str; 6] = [
    "SERVER.REMOVE",
    "SERVER.EVACUATE",
    "META.LEADER.STEPDOWN",
    "META.RESCUE",
    "ACCOUNT.STREAM.MOVE.*.*",
    "ACCOUNT.STREAM.CANCEL_MOVE.*.*",
];

#[derive(Serialize)]
struct Purged {
    initiated: bool,
}

impl JetStream {
    /// Answers the API in the system account, too.
    pub fn serve_system(&mut self, now: Now, tenant: Tenant) {
        self.now = now;
        if self.system == Some(tenant) {
            return;
        }
        for sub in std::mem::take(&mut self.system_subs) {
            if let Some(former) = self.system {
                self.unsubscribe(former, sub);
            }
        }
        self.system = Some(tenant);
        let mut subs = vec![self.subscribe(tenant, "$JS.API.>", Route::Api)];
        if let Some(domain) = self.facts.domain.clone() {
            let subject = format!("$JS.{domain}.API.>");
            subs.push(self.subscribe(tenant, &subject, Route::DomainApi));
        }
        self.system_subs = subs;
    }

    /// Handles a request of the system account.
    // spec: nats-server v2.15.1 server/jetstream_api.go apiDispatch
    pub(super) fn ask_as_system(&mut self, mut call: Call, reach: &dyn Reach) {
        let subject = call.subject.clone();
        let rest = subject.strip_prefix("$JS.API.").unwrap_or_default();
        if LEADERS
            .iter()
            .any(|filter| frond_subject::matches(filter, rest))
        {
            return;
        }
        let is_watched = reach.has_interest(call.tenant, audit::SUBJECT);
        call.asker = is_watched.then(|| "{}".into());
        if let Some(account) = rest.strip_prefix("ACCOUNT.PURGE.") {
            let outcome = self.purge_account(account, reach);
            self.conclude(&call, "account_purge_response", outcome.map(Some));
            return;
        }
        let is_info = Endpoint::parse(&subject) == Some(Endpoint::AccountInfo);
        let kind = if is_info {
            "account_info_response"
        } else {
            call.asker = is_watched.then(|| "null".into());
            "system_response"
        };
        self.conclude(&call, kind, Err(errors::NOT_ENABLED_FOR_ACCOUNT));
    }

    /// Every stream of an account goes.
    // spec: nats-server v2.15.1 server/jetstream_api.go jsLeaderAccountPurgeRequest
    fn purge_account(&mut self, name: &str, reach: &dyn Reach) -> Result<Vec<u8>, ApiError> {
        if name.contains(['\\', '/']) {
            let text = "account name can not contain path separators";
            return Err(errors::STREAM_GENERAL_ERROR.with("err", text));
        }
        let mut accounts = self.accounts.iter();
        let found = accounts.find(|(_, account)| &*account.name == name);
        let tenant = found.map(|(tenant, _)| *tenant);
        if let Some(tenant) = tenant {
            self.abandon_restores(tenant, reach);
        }
        let account = tenant.and_then(|tenant| Some((tenant, self.accounts.get(&tenant)?)));
        let streams: Vec<(Tenant, StreamId)> = account
            .into_iter()
            .flat_map(|(tenant, account)| account.by_name.values().map(move |id| (tenant, *id)))
            .collect();
        for (tenant, id) in streams {
            let Some(host) = self.hosts.get(&id) else {
                continue;
            };
            let subject = format!("$JS.API.STREAM.DELETE.{}", host.stream.config.name);
            let request = MessageBuf::copy_of(&Message {
                subject: &subject,
                reply: None,
                header: b"",
                payload: b"",
            });
            self.ask(Call::new(tenant, request), reach);
        }
        let purged = Purged { initiated: true };
        Ok(answer::success("account_purge_response", &purged))
    }
}
