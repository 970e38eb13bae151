//! `/jsz`: streams and consumers.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Jsz`, `accountDetail`

mod detail;

use serde::Serialize;

use crate::jetstream::{JetStream, JetStreamConfig, JetStreamStats, JsAccount, JsLimitOpts};
use crate::limits::ACCOUNTS_LISTED_DEFAULT;
use crate::paging::Paging;
use crate::query::{Query, Refusal};
use crate::rows::Server;
use crate::text::{When, empty};
pub(crate) use detail::AccountDetail;

/// How much is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    account: String,
    accounts: bool,
    streams: bool,
    consumers: bool,
    direct_consumers: bool,
    config: bool,
    raft: bool,
    leader_only: bool,
    /// `None`: all accounts.
    paging: Option<Paging>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Jsz {
    #[serde(flatten)]
    stats: JetStreamStats,
    server_id: String,
    now: When,
    #[serde(skip_serializing_if = "empty")]
    disabled: bool,
    config: JetStreamConfig,
    #[serde(skip_serializing_if = "empty")]
    limits: Option<JsLimitOpts>,
    streams: usize,
    #[serde(skip_serializing_if = "empty")]
    streams_leader: usize,
    consumers: usize,
    #[serde(skip_serializing_if = "empty")]
    consumers_leader: usize,
    messages: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    account_details: Vec<AccountDetail>,
    total: usize,
}

impl Options {
    pub(crate) fn read(query: &Query) -> Result<Self, Refusal> {
        let accounts = query.flag("accounts")?;
        let streams = query.flag("streams")?;
        let consumers = query.flag("consumers")?;
        let direct_consumers = query.flag("direct-consumers")?;
        let config = query.flag("config")?;
        let offset = query.int("offset")?;
        let limit = query.int("limit")?;
        let leader_only = query.flag("leader-only")?;
        let raft = query.flag("raft")?;
        query.flag("stream-leader-only")?;
        let account = query.text("acc").to_owned();
        let streams = streams || consumers;
        Ok(Self {
            accounts: accounts || (streams && account.is_empty()),
            account,
            streams,
            consumers,
            direct_consumers,
            config,
            raft,
            leader_only,
            paging: (limit >= 0).then(|| Paging::new(offset, limit, ACCOUNTS_LISTED_DEFAULT)),
        })
    }
}

/// JetStream as a whole, and the accounts asked for. Every stream and consumer of a lone server
/// is led by it.
pub(crate) fn document(
    server: &Server,
    options: &Options,
    jetstream: Option<JetStream>,
) -> Result<Jsz, Refusal> {
    let Some(jetstream) = jetstream else {
        return if options.leader_only {
            Err(Refusal(NOT_LEADER.to_owned()))
        } else {
            Ok(disabled(server))
        };
    };
    let streams = jetstream.streams().count();
    let consumers = jetstream
        .streams()
        .map(|stream| stream.consumers.len())
        .sum();
    let led = |count| if options.raft { count } else { 0 };
    Ok(Jsz {
        stats: jetstream.stats(),
        disabled: false,
        limits: Some(jetstream.limits),
        streams,
        streams_leader: led(streams),
        consumers,
        consumers_leader: led(consumers),
        messages: jetstream.streams().map(|stream| stream.messages).sum(),
        bytes: jetstream.streams().map(|stream| stream.bytes).sum(),
        total: jetstream.accounts.len(),
        config: jetstream.config,
        account_details: chosen(jetstream.accounts, options)
            .into_iter()
            .map(|account| AccountDetail::new(account, options, &server.name))
            .collect(),
        ..disabled(server)
    })
}

/// What is said when only the leader is asked and this server is none.
/// spec: nats-server v2.15.1 server/monitor.go `errSkipZreq`
pub(crate) const NOT_LEADER: &str = "filtered response: not leader";

/// One account's part, as the system account is asked for it; `knows`: whether it exists.
pub(crate) fn account(
    server: &Server,
    options: &Options,
    name: &str,
    knows: bool,
    jetstream: Option<JetStream>,
) -> Result<AccountDetail, Refusal> {
    let refused = |why: String| Err(Refusal(why));
    let Some(jetstream) = jetstream else {
        return refused("jetstream not enabled".to_owned());
    };
    let mut accounts = jetstream.accounts.into_iter();
    match accounts.find(|account| account.name == name) {
        Some(account) => Ok(AccountDetail::new(account, options, &server.name)),
        None if knows => refused(format!("account {name:?} not jetstream enabled")),
        None => refused(format!("account {name:?} not found")),
    }
}

fn disabled(server: &Server) -> Jsz {
    Jsz {
        stats: JetStreamStats::default(),
        server_id: server.id.clone(),
        now: When(server.now),
        disabled: true,
        config: JetStreamConfig::default(),
        limits: None,
        streams: 0,
        streams_leader: 0,
        consumers: 0,
        consumers_leader: 0,
        messages: 0,
        bytes: 0,
        account_details: Vec::new(),
        total: 0,
    }
}

/// The account asked for, else the accounts of the page by name, when accounts are asked for.
fn chosen(mut accounts: Vec<JsAccount>, options: &Options) -> Vec<JsAccount> {
    accounts.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(at) = accounts
        .iter()
        .position(|account| account.name == options.account)
    {
        return vec![accounts.swap_remove(at)];
    }
    match (options.accounts, options.paging) {
        (false, _) => Vec::new(),
        (true, Some(paging)) => paging.cut(accounts),
        (true, None) => accounts,
    }
}

#[cfg(test)]
mod tests;
