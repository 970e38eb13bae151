//! `/accountz`: accounts by name, or one of them.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Accountz`

pub(crate) mod sharing;

use frond_clock::Timestamp;
use serde::Serialize;

use crate::query::{Query, Refusal};
use crate::rows::{Account, Server};
use crate::subsz::SublistStats;
use crate::text::{When, empty};
use sharing::Sharing;

mod claims;

use claims::ClaimsInfo;

#[derive(Debug, Serialize)]
pub(crate) struct Accountz {
    server_id: String,
    now: When,
    #[serde(skip_serializing_if = "empty")]
    system_account: String,
    #[serde(skip_serializing_if = "empty")]
    accounts: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    account_detail: Option<AccountInfo>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct AccountInfo {
    account_name: String,
    update_time: When,
    #[serde(skip_serializing_if = "empty")]
    is_system: bool,
    expired: bool,
    complete: bool,
    jetstream_enabled: bool,
    leafnode_connections: u32,
    client_connections: u32,
    subscriptions: usize,
    #[serde(flatten)]
    sharing: Sharing,
    name_tag: String,
    #[serde(flatten)]
    claims: ClaimsInfo,
    sublist_stats: SublistStats,
}

/// The names of all accounts, or with `acc` what is known of one, which came from the
/// configuration at `loaded`; `sharing` tells what an account shares.
pub(crate) fn document(
    server: &Server,
    query: &Query,
    accounts: Vec<Account>,
    sharing: impl FnOnce(&str) -> Sharing,
    loaded: Timestamp,
) -> Result<Accountz, Refusal> {
    let system = accounts.iter().find(|account| account.is_system);
    let mut document = Accountz {
        server_id: server.id.clone(),
        now: When(server.now),
        system_account: system
            .map(|account| account.name.clone())
            .unwrap_or_default(),
        accounts: Vec::new(),
        account_detail: None,
    };
    match query.text("acc") {
        "" => document.accounts = accounts.into_iter().map(|account| account.name).collect(),
        name => {
            document.account_detail = Some(detail(name, accounts, sharing, (loaded, server.now))?)
        }
    }
    Ok(document)
}

/// What is known of one account.
pub(crate) fn detail(
    name: &str,
    accounts: Vec<Account>,
    sharing: impl FnOnce(&str) -> Sharing,
    (loaded, now): (Timestamp, Timestamp),
) -> Result<AccountInfo, Refusal> {
    let found = accounts.into_iter().find(|account| account.name == name);
    let account = found.ok_or_else(|| Refusal(format!("Account {name} does not exist")))?;
    let sharing = sharing(name);
    Ok(info(account, sharing, loaded, now))
}

fn info(account: Account, sharing: Sharing, loaded: Timestamp, now: Timestamp) -> AccountInfo {
    let claimed = account.claimed.as_ref();
    let name = claimed.map(|it| it.claims.name.clone());
    let name = name.filter(|name| !name.is_empty());
    let updated = claimed.map(|it| Timestamp::from_nanos(it.updated_ns));
    AccountInfo {
        sublist_stats: SublistStats::of(std::iter::once(&account)),
        account_name: account.name.clone(),
        update_time: When(updated.unwrap_or(loaded)),
        is_system: account.is_system,
        expired: claimed.is_some_and(|it| it.is_expired(now.as_nanos())),
        complete: true,
        jetstream_enabled: account.has_jetstream,
        leafnode_connections: account.leafnodes,
        client_connections: account.clients,
        subscriptions: account.subscriptions,
        sharing,
        claims: claimed
            .map(|it| ClaimsInfo::of(it, now))
            .unwrap_or_default(),
        name_tag: name.unwrap_or(account.name),
    }
}
