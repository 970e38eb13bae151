use frond_account::AccountId;
use frond_broker::{AccountView, Traffic};
use frond_clock::Now;
use frond_wire::Message;
use serde::Serialize;

use crate::Node;
use crate::limits::CONNS_EVERY;

use super::events::Typed;
use super::server_info::ServerInfo;

/// How many are connected in an account, and what they send and get.
///
/// spec: nats-server v2.15.1 server/events.go `AccountNumConns`
#[derive(Serialize)]
struct AccountConns {
    #[serde(flatten)]
    typed: Typed,
    server: ServerInfo,
    acc: String,
    name: String,
    conns: u32,
    leafnodes: u32,
    total_conns: u32,
    num_subscriptions: usize,
    sent: AccountData,
    received: AccountData,
    slow_consumers: u64,
}

#[derive(Serialize)]
struct AccountData {
    #[serde(flatten)]
    all: MsgBytes,
    gateways: MsgBytes,
    routes: MsgBytes,
    leafs: MsgBytes,
}

/// Messages, and bytes of header and payload.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct MsgBytes {
    pub(crate) msgs: u64,
    pub(crate) bytes: u64,
}

impl Node {
    /// Connections of an account came or went: told at once, and again after a while.
    pub(crate) fn population_changed(&mut self, now: Now, account: AccountId) {
        self.serve_account(account);
        let Some(system) = &mut self.system else {
            return;
        };
        if account == self.broker.directory().default_account() {
            return;
        }
        if self.broker.connected(account) > 0 {
            system.conns.set(account, now.mono + CONNS_EVERY);
        } else {
            system.conns.cancel(&account);
        }
        let into = system.account;
        let name = self.account_name(account);
        for subject in [
            format!("$SYS.SERVER.ACCOUNT.{name}.CONNS"),
            format!("$SYS.ACCOUNT.{name}.SERVER.CONNS"),
        ] {
            if self.broker.has_interest(into, &subject)
                && let Some(view) = self.broker.account_view(account)
            {
                let event = self.account_conns(now, &view);
                self.tell(now, into, &subject, &event);
            }
        }
    }

    pub(crate) fn conns_time(&mut self, now: Now) {
        while let Some(account) = self
            .system
            .as_mut()
            .and_then(|system| system.conns.pop_due(now.mono))
        {
            self.population_changed(now, account);
        }
    }

    /// spec: nats-server v2.15.1 server/events.go `connsRequest`
    pub(crate) fn answer_conns(&mut self, now: Now, into: AccountId, message: &Message<'_>) {
        let named = message.subject.split('.').nth(3).unwrap_or_default();
        let account = self.broker.directory().find(named);
        let view = account.and_then(|account| self.broker.account_view(account));
        if let (Some(view), Some(reply)) = (view, message.reply)
            && view.clients + view.leafnodes > 0
        {
            let event = self.account_conns(now, &view);
            self.tell(now, into, reply, &event);
        }
    }

    fn account_conns(&mut self, now: Now, view: &AccountView) -> AccountConns {
        let name = self.account_name(view.account);
        let (all, parts) = (view.traffic, view.by_peer);
        let data = |of: fn(&Traffic) -> MsgBytes| AccountData {
            all: of(&all),
            gateways: of(&parts.gateways),
            routes: of(&parts.routes),
            leafs: of(&parts.leafs),
        };
        AccountConns {
            typed: self.typed(now.wall, "account_connections"),
            server: self.told(now.wall),
            acc: name.clone(),
            name,
            conns: view.clients,
            leafnodes: view.leafnodes,
            total_conns: view.clients + view.leafnodes,
            num_subscriptions: view.subscriptions,
            sent: data(|traffic| MsgBytes {
                msgs: traffic.out_msgs,
                bytes: traffic.out_bytes,
            }),
            received: data(|traffic| MsgBytes {
                msgs: traffic.in_msgs,
                bytes: traffic.in_bytes,
            }),
            slow_consumers: view.slow_consumers,
        }
    }
}
