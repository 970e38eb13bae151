//! Answers that are waited for across accounts, bounded in number and time.
//! spec: nats-server v2.15.1 server/accounts.go `addRespServiceImport`, `checkExpiredResponses`,
//! `checkForReverseEntry`.

use std::collections::HashMap;
use std::sync::Arc;

use frond_account::{AccountId, ResponseType, Service, ServiceImport};
use frond_clock::Now;
use frond_subject::{is_literal, is_subset};

use crate::Broker;
use crate::broker::Alarm;
use crate::interest::{Owner, Sub, Tie};
use crate::latency::Tracking;
use crate::limits::{AWAITED_RESPONSES_BYTES_MAX, AWAITED_RESPONSES_MAX};

/// The answers one account has yet to give, and those it has yet to get.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    /// What its answers' subjects begin with; made with the first request.
    prefix: Option<Box<str>>,
    /// By the subject that was put into the request.
    open: HashMap<Box<str>, Response>,
    /// What the subjects of those take.
    open_bytes: usize,
    /// By the subject its own people listen on: the exporting account, and the key there.
    awaited: HashMap<Box<str>, Vec<(AccountId, Box<str>)>>,
}

/// Where one answer goes.
#[derive(Debug)]
pub(crate) struct Response {
    /// The account that asked.
    pub(crate) account: AccountId,
    /// The subject it listens on.
    pub(crate) to: Box<str>,
    pub(crate) service: Arc<Service>,
    pub(crate) kind: ResponseType,
    pub(crate) share: bool,
    /// When it was asked, or last answered.
    pub(crate) since: Now,
    pub(crate) tracking: Option<Box<Tracking>>,
}

/// Why an answer is no longer waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It came.
    Answered,
    /// Nobody took the request, or the answer.
    Undelivered,
    /// It took too long.
    Expired,
    /// Nobody listens for it any more.
    Abandoned,
}

impl Response {
    pub(crate) fn to_request(
        import: &ServiceImport,
        importer: AccountId,
        reply: &str,
        now: Now,
    ) -> Self {
        Self {
            account: importer,
            to: reply.into(),
            service: Arc::clone(&import.service),
            kind: import.service.response,
            share: import.share,
            since: now,
            tracking: None,
        }
    }

    /// An answer that itself asks for one.
    pub(crate) fn to_answer(
        service: &Arc<Service>,
        kind: ResponseType,
        share: bool,
        exporter: AccountId,
        reply: &str,
        now: Now,
    ) -> Self {
        Self {
            account: exporter,
            to: reply.into(),
            service: Arc::clone(service),
            kind,
            share,
            since: now,
            tracking: None,
        }
    }
}

impl Responses {
    pub(crate) fn get(&self, subject: &str) -> Option<&Response> {
        self.open.get(subject)
    }

    pub(crate) fn get_mut(&mut self, subject: &str) -> Option<&mut Response> {
        self.open.get_mut(subject)
    }

    fn stop_awaiting(&mut self, to: &str, exporter: AccountId, name: &str) {
        if let Some(list) = self.awaited.get_mut(to) {
            list.retain(|(account, key)| *account != exporter || **key != *name);
            if list.is_empty() {
                self.awaited.remove(to);
            }
        }
    }
}

impl Broker {
    /// The subject an answer in `exporter` is to be sent to; `None` when too many are open.
    pub(crate) fn expect(&mut self, exporter: AccountId, response: Response) -> Option<Box<str>> {
        let state = self.accounts.get(exporter.0 as usize)?;
        let responses = &state.sharing.responses;
        if responses.open.len() >= AWAITED_RESPONSES_MAX
            || responses.open_bytes >= AWAITED_RESPONSES_BYTES_MAX
        {
            return None;
        }
        let prefix = self.response_prefix(exporter)?;
        let mut name = prefix.into_string();
        name.push_str(&self.rng.base62(6));
        if response.tracking.is_some() {
            name = format!("{name}.{}.T", self.rng.base62(8));
        }
        let name: Box<str> = name.into();
        let (asker, to) = (response.account, response.to.clone());
        let threshold = response.service.threshold;
        // Another service's answers may be waited for longer.
        let (alarm, at) = (Alarm::Responses(exporter), self.now.mono + threshold);
        if self.timers.get(&alarm).is_none_or(|set| at < set) {
            self.timers.set(alarm, at);
        }
        let responses = &mut self.account_state(exporter)?.sharing.responses;
        responses.open_bytes += subjects_bytes(&response, &name);
        responses.open.insert(name.clone(), response);
        let awaited = &mut self.account_state(asker)?.sharing.responses.awaited;
        awaited
            .entry(to)
            .or_default()
            .push((exporter, name.clone()));
        Some(name)
    }

    /// `_R_.xxxxxx.`, with a subscription to everything behind it.
    fn response_prefix(&mut self, account: AccountId) -> Option<Box<str>> {
        let responses = &self.accounts.get(account.0 as usize)?.sharing.responses;
        if let Some(prefix) = &responses.prefix {
            return Some(prefix.clone());
        }
        let prefix: Box<str> = format!("_R_.{}.", self.rng.base62(6)).into();
        self.account_state(account)?.sharing.responses.prefix = Some(prefix.clone());
        self.add_sub(Sub {
            account,
            filter: format!("{prefix}>").into(),
            queue: None,
            owner: Owner::Responses,
            delivered: 0,
            max: 0,
            filtered: false,
            tie: Tie::None,
        });
        Some(prefix)
    }

    /// An answer is no longer waited for.
    pub(crate) fn forget(&mut self, exporter: AccountId, name: &str, why: Lost) {
        let Some(state) = self.account_state(exporter) else {
            return;
        };
        let responses = &mut state.sharing.responses;
        let Some(response) = responses.open.remove(name) else {
            return;
        };
        let bytes = subjects_bytes(&response, name);
        responses.open_bytes = responses.open_bytes.saturating_sub(bytes);
        if let Some(state) = self.account_state(response.account) {
            let responses = &mut state.sharing.responses;
            responses.stop_awaiting(&response.to, exporter, name);
        }
        self.report_lost(exporter, &response, why);
    }

    /// One of several answers came.
    pub(crate) fn renew(&mut self, exporter: AccountId, name: &str) {
        let now = self.now;
        let state = self.account_state(exporter);
        if let Some(response) = state.and_then(|state| state.sharing.responses.get_mut(name)) {
            response.since = now;
        }
    }

    pub(crate) fn expire_responses(&mut self, exporter: AccountId) {
        let now = self.now;
        let Some(state) = self.accounts.get(exporter.0 as usize) else {
            return;
        };
        let open = state.sharing.responses.open.iter();
        let is_late = |one: &Response| now.mono.since(one.since.mono) >= one.service.threshold;
        let mut late: Vec<_> = open
            .filter(|(_, one)| is_late(one))
            .map(|(name, one)| (one.since.mono, name.clone()))
            .collect();
        late.sort_unstable();
        for (_, name) in late {
            self.forget(exporter, &name, Lost::Expired);
        }
        let Some(state) = self.accounts.get(exporter.0 as usize) else {
            return;
        };
        let open = state.sharing.responses.open.values();
        if let Some(shortest) = open.map(|one| one.service.threshold).min() {
            let at = now.mono + shortest;
            self.timers.set(Alarm::Responses(exporter), at);
        }
    }

    /// Somebody stopped listening to `filter`: answers that only they waited for are given up.
    pub(crate) fn stop_listening(&mut self, account: AccountId, filter: &str) {
        let Some(state) = self.accounts.get(account.0 as usize) else {
            return;
        };
        let responses = &state.sharing.responses;
        if responses.awaited.is_empty() || filter.starts_with("_R_.") {
            return;
        }
        let heard = |to: &str| state.interest.has(to);
        let mut gone: Vec<Box<str>> = if is_literal(filter) {
            let known = responses.awaited.get_key_value(filter);
            known.map(|(to, _)| to.clone()).into_iter().collect()
        } else {
            let all = responses.awaited.keys();
            all.filter(|to| is_subset(to, filter)).cloned().collect()
        };
        gone.retain(|to| !heard(to));
        gone.sort_unstable();
        for to in gone {
            let state = self.account_state(account);
            let entries = state.and_then(|state| state.sharing.responses.awaited.remove(&to));
            for (exporter, name) in entries.unwrap_or_default() {
                self.forget(exporter, &name, Lost::Abandoned);
            }
        }
    }
}

/// Both subjects are kept twice: with the account that answers, and with the one that asked.
fn subjects_bytes(response: &Response, name: &str) -> usize {
    2 * (response.to.len() + name.len())
}
