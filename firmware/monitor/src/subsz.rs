//! `/subsz`: subscriptions.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Subsz`

use serde::Serialize;

use crate::limits::SUBSCRIPTIONS_LISTED_DEFAULT;
use crate::paging::Paging;
use crate::query::{Query, Refusal};
use crate::rows::{Account, Server, Subscription};
use crate::text::{When, empty};

/// Whether subscriptions are listed, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) list: bool,
    paging: Paging,
    /// Only of this account; empty: of any.
    account: String,
    /// Only those that a message on this subject reaches; empty: any.
    test: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Subsz {
    server_id: String,
    now: When,
    #[serde(flatten)]
    stats: SublistStats,
    total: usize,
    offset: usize,
    limit: usize,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list: Vec<SubDetail>,
}

/// Sums over accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct SublistStats {
    num_subscriptions: usize,
    num_cache: usize,
    num_inserts: u64,
    num_removes: u64,
    num_matches: u64,
    cache_hit_rate: f64,
    max_fanout: usize,
    avg_fanout: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct SubDetail {
    #[serde(skip_serializing_if = "empty")]
    account: String,
    #[serde(skip_serializing_if = "empty")]
    account_tag: String,
    subject: String,
    #[serde(skip_serializing_if = "empty")]
    qgroup: String,
    sid: String,
    msgs: u64,
    #[serde(skip_serializing_if = "empty")]
    max: u64,
    cid: u64,
}

impl Options {
    pub(crate) fn read(query: &Query) -> Result<Self, Refusal> {
        let list = query.flag("subs")?;
        let paging = Paging::new(
            query.int("offset")?,
            query.int("limit")?,
            SUBSCRIPTIONS_LISTED_DEFAULT,
        );
        let test = query.text("test").to_owned();
        if !test.is_empty() && !frond_subject::is_literal(&test) {
            let text = format!("invalid test subject, must be valid publish subject: {test}");
            return Err(Refusal(text));
        }
        Ok(Self {
            list,
            paging,
            account: query.text("acc").to_owned(),
            test,
        })
    }

    fn takes_account(&self, name: &str) -> bool {
        self.account.is_empty() || self.account == name
    }

    fn takes(&self, sub: &Subscription) -> bool {
        self.takes_account(&sub.account)
            && (self.test.is_empty() || frond_subject::matches(&sub.subject, &self.test))
    }
}

/// Sums over the accounts asked for, and their subscriptions when those are.
pub(crate) fn document(
    server: &Server,
    options: &Options,
    accounts: &[Account],
    subs: Vec<Subscription>,
) -> Subsz {
    let counted = accounts
        .iter()
        .filter(|account| options.takes_account(&account.name));
    let details: Vec<_> = subs
        .into_iter()
        .filter(|sub| options.list && options.takes(sub))
        .map(SubDetail::of)
        .collect();
    Subsz {
        server_id: server.id.clone(),
        now: When(server.now),
        stats: SublistStats::of(counted),
        total: details.len(),
        offset: options.paging.offset,
        limit: options.paging.limit,
        subscriptions_list: options.paging.cut(details),
    }
}

impl SublistStats {
    pub(crate) fn of<'a>(accounts: impl Iterator<Item = &'a Account>) -> Self {
        let (mut sum, mut fanout, mut misses) = (Self::default(), 0, 0);
        for account in accounts {
            sum.num_subscriptions += account.subscriptions;
            sum.num_cache += account.cached_subjects;
            sum.num_inserts += account.interest.inserts;
            sum.num_removes += account.interest.removes;
            sum.num_matches += account.interest.matches;
            sum.max_fanout = sum.max_fanout.max(account.fanout.max);
            fanout += account.fanout.sum;
            misses += account.interest.misses;
        }
        sum.avg_fanout = ratio(fanout as f64, sum.num_cache as f64);
        let hits = sum.num_matches.saturating_sub(misses);
        sum.cache_hit_rate = ratio(hits as f64, sum.num_matches as f64);
        sum
    }
}

/// 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl SubDetail {
    pub(crate) fn of(sub: Subscription) -> Self {
        Self {
            account_tag: sub.account.clone(),
            account: sub.account,
            subject: sub.subject,
            qgroup: sub.queue,
            sid: sub.sid,
            msgs: sub.msgs,
            max: sub.max,
            cid: sub.cid,
        }
    }

    /// As a connection shows it, whose account is known.
    pub(crate) fn without_account(sub: Subscription) -> Self {
        Self {
            account: String::new(),
            account_tag: String::new(),
            ..Self::of(sub)
        }
    }
}
