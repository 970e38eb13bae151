//! `/accstatz`: what accounts sent and got.
//!
//! spec: nats-server v2.15.1 server/monitor.go `AccountStatz`

use frond_broker::Traffic;
use serde::Serialize;

use crate::query::{Query, Refusal};
use crate::rows::{Account, Server};
use crate::text::When;

#[derive(Debug, Serialize)]
pub(crate) struct AccountStatz {
    server_id: String,
    now: When,
    account_statz: Vec<AccountStat>,
}

#[derive(Debug, Serialize)]
struct AccountStat {
    acc: String,
    name: String,
    conns: u32,
    leafnodes: u32,
    total_conns: u32,
    num_subscriptions: usize,
    sent: DataStats,
    received: DataStats,
    slow_consumers: u64,
}

#[derive(Debug, Serialize)]
struct DataStats {
    #[serde(flatten)]
    all: MsgBytes,
    gateways: MsgBytes,
    routes: MsgBytes,
    leafs: MsgBytes,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct MsgBytes {
    msgs: u64,
    bytes: u64,
}

impl AccountStatz {
    /// Over the system account an empty list is only sent when unused accounts are asked for.
    pub(crate) fn is_silent(&self, query: &Query) -> bool {
        self.account_statz.is_empty() && query.text("unused").is_empty()
    }
}

/// The accounts with connections, or with `unused` all; of those named in `accounts`, when there
/// are any.
pub(crate) fn document(
    server: &Server,
    query: &Query,
    accounts: Vec<Account>,
) -> Result<AccountStatz, Refusal> {
    let unused = query.flag("unused")?;
    let named = query.options("accounts");
    let taken = accounts.into_iter().filter(|account| {
        (named.is_empty() || named.contains(&account.name.as_str()))
            && (unused || account.clients + account.leafnodes > 0)
    });
    Ok(AccountStatz {
        server_id: server.id.clone(),
        now: When(server.now),
        account_statz: taken.map(stat).collect(),
    })
}

fn stat(account: Account) -> AccountStat {
    let (all, parts) = (account.traffic, account.by_peer);
    let data = |of: fn(&Traffic) -> MsgBytes| DataStats {
        all: of(&all),
        gateways: of(&parts.gateways),
        routes: of(&parts.routes),
        leafs: of(&parts.leafs),
    };
    AccountStat {
        acc: account.name.clone(),
        name: account.name,
        conns: account.clients,
        leafnodes: account.leafnodes,
        total_conns: account.clients + account.leafnodes,
        num_subscriptions: account.subscriptions,
        sent: data(|traffic| MsgBytes {
            msgs: traffic.out_msgs,
            bytes: traffic.out_bytes,
        }),
        received: data(|traffic| MsgBytes {
            msgs: traffic.in_msgs,
            bytes: traffic.in_bytes,
        }),
        slow_consumers: account.slow_consumers,
    }
}
