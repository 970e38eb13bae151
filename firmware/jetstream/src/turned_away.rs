//! Accounts that may not use streams: they are told so, instead of finding nobody.
//! spec: nats-server v2.15.1 server/jetstream.go `enableJetStreamInfoServiceImportOnly`

use frond_clock::Now;

use crate::api::{Call, Endpoint};
use crate::errors;
use crate::io::Tenant;
use crate::jetstream::{JetStream, Route};

impl JetStream {
    /// Answers the API in an account that has no streams, or stops to; nothing changes for one
    /// that has.
    pub fn turn_away(&mut self, now: Now, tenant: Tenant, away: bool) {
        self.now = now;
        let known = self.turned_away.contains_key(&tenant);
        if !away {
            self.welcome_again(tenant);
        } else if !known && !self.accounts.contains_key(&tenant) {
            let sub = self.subscribe(tenant, "$JS.API.>", Route::Api);
            self.turned_away.insert(tenant, sub);
        }
    }

    pub(crate) fn welcome_again(&mut self, tenant: Tenant) {
        if let Some(sub) = self.turned_away.remove(&tenant) {
            self.unsubscribe(tenant, sub);
        }
    }

    pub(crate) fn answer_turned_away(&mut self, call: &Call, endpoint: &Endpoint<'_>) {
        match endpoint {
            Endpoint::MessageNext(..) | Endpoint::DirectGet(..) => self.no_responders(call),
            Endpoint::AccountInfo
            | Endpoint::StreamCreate(_)
            | Endpoint::StreamUpdate(_)
            | Endpoint::StreamNames
            | Endpoint::StreamList
            | Endpoint::StreamInfo(_)
            | Endpoint::StreamDelete(_)
            | Endpoint::StreamPurge(_)
            | Endpoint::StreamSnapshot(_)
            | Endpoint::StreamRestore(_)
            | Endpoint::MessageGet(_)
            | Endpoint::MessageDelete(_)
            | Endpoint::ConsumerCreate(_)
            | Endpoint::ConsumerNames(_)
            | Endpoint::ConsumerList(_)
            | Endpoint::ConsumerInfo(..)
            | Endpoint::ConsumerDelete(..)
            | Endpoint::ConsumerReset(..)
            | Endpoint::ConsumerPause(..)
            | Endpoint::ConsumerUnpin(..)
            | Endpoint::Clustered(_) => {
                let error = errors::NOT_ENABLED_FOR_ACCOUNT;
                self.conclude(call, endpoint.kind(), Err(error));
            }
        }
    }
}
