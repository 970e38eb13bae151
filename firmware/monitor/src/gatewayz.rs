//! `/gatewayz`: connections to other clusters.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Gatewayz`

use std::collections::BTreeMap;

use frond_broker::{GatewayAccount, GatewayWay};
use frond_clock::Timestamp;
use serde::Serialize;

use crate::connz::ConnInfo;
use crate::limits::INTEREST_ONLY_THRESHOLD;
use crate::query::{Query, Refusal, Subs};
use crate::rows::{Gateway, Server, Subscription};
use crate::subsz::SubDetail;
use crate::text::{When, empty};

#[derive(Debug, Serialize)]
pub(crate) struct Gatewayz {
    server_id: String,
    now: When,
    #[serde(skip_serializing_if = "empty")]
    name: String,
    #[serde(skip_serializing_if = "empty")]
    host: String,
    #[serde(skip_serializing_if = "empty")]
    port: u16,
    /// None when the one that was asked for is not there.
    outbound_gateways: Option<BTreeMap<String, RemoteGatewayz>>,
    inbound_gateways: BTreeMap<String, Vec<RemoteGatewayz>>,
}

#[derive(Debug, Serialize)]
struct RemoteGatewayz {
    configured: bool,
    connection: ConnInfo,
    #[serde(skip_serializing_if = "empty")]
    accounts: Vec<AccountGatewayz>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
struct AccountGatewayz {
    name: String,
    interest_mode: &'static str,
    #[serde(skip_serializing_if = "empty")]
    no_interest_count: usize,
    interest_only_threshold: usize,
    #[serde(skip_serializing_if = "empty")]
    num_subs: usize,
    #[serde(skip_serializing_if = "empty")]
    num_queue_subs: usize,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list_detail: Vec<SubDetail>,
}

/// This cluster among the clusters.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) name: String,
    /// What others are told.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// What is asked for.
struct Options {
    /// Only this cluster; empty: all.
    gateway: String,
    accounts: bool,
    /// Only this account; empty: all.
    account: String,
    subs: Subs,
}

/// The gateways that are up; `own` is `None` on a server that has none.
pub(crate) fn document(
    server: &Server,
    query: &Query,
    own: Option<Own>,
    gateways: Vec<Gateway>,
) -> Result<Gatewayz, Refusal> {
    let subs = query.subs()?;
    let accounts = query.flag("accs")?;
    let account = query.text("acc_name").to_owned();
    let options = Options {
        gateway: query.text("gw_name").to_owned(),
        accounts: accounts || !account.is_empty(),
        account,
        subs,
    };
    let is_on = own.is_some();
    let Own { name, host, port } = own.unwrap_or_default();
    let (mut outbound, mut inbound) = (BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
    for gateway in gateways {
        let name = gateway.detail.gateway.clone();
        if !options.gateway.is_empty() && options.gateway != name {
            continue;
        }
        let way = gateway.detail.way;
        let remote = remote(gateway, &options, server.now);
        match way {
            GatewayWay::Outbound => {
                outbound.insert(name, remote);
            }
            GatewayWay::Inbound => inbound.entry(name).or_default().push(remote),
        }
    }
    let is_missing = is_on && !options.gateway.is_empty() && outbound.is_empty();
    Ok(Gatewayz {
        server_id: server.id.clone(),
        now: When(server.now),
        name,
        host,
        port,
        outbound_gateways: (!is_missing).then_some(outbound),
        inbound_gateways: inbound,
    })
}

fn remote(gateway: Gateway, options: &Options, now: Timestamp) -> RemoteGatewayz {
    let detail = gateway.detail;
    let mut connection = gateway.connection;
    connection.subscriptions = connection.subs.len();
    let subs = std::mem::take(&mut connection.subs);
    let wanted = |account: &&GatewayAccount| {
        options.accounts && (options.account.is_empty() || options.account == account.name)
    };
    let accounts = detail.accounts.iter().filter(wanted);
    RemoteGatewayz {
        configured: detail.is_configured && detail.way == GatewayWay::Outbound,
        accounts: accounts
            .map(|account| AccountGatewayz::of(account, &subs, options.subs))
            .collect(),
        connection: ConnInfo::plain(&connection, now),
    }
}

impl AccountGatewayz {
    fn of(account: &GatewayAccount, subs: &[Subscription], how: Subs) -> Self {
        let own = || subs.iter().filter(|sub| sub.account == account.name);
        let mut row = Self {
            name: account.name.clone(),
            interest_mode: account.mode.name(),
            no_interest_count: account.no_interest,
            interest_only_threshold: INTEREST_ONLY_THRESHOLD,
            num_subs: own().count(),
            num_queue_subs: own().filter(|sub| !sub.queue.is_empty()).count(),
            ..Self::default()
        };
        match how {
            Subs::Hidden => {}
            Subs::Listed => row.subscriptions_list = own().map(|sub| sub.subject.clone()).collect(),
            Subs::Detailed => {
                let unnamed = |sub: &Subscription| Subscription {
                    sid: String::new(),
                    ..sub.clone()
                };
                let details = own().map(|sub| SubDetail::without_account(unnamed(sub)));
                row.subscriptions_list_detail = details.collect();
            }
        }
        row
    }
}
