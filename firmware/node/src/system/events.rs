//! What this server tells unasked.

use frond_account::PeerKind;
use frond_broker::{ClientView, ClosedClient};
use frond_clock::{Now, Timestamp};
use serde::Serialize;

use crate::Node;

use super::account_stat::MsgBytes;
use super::client_info::ClientInfo;
use super::server_info::{ServerInfo, When};

/// What every event begins with.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Typed {
    #[serde(rename = "type")]
    kind: String,
    id: String,
    timestamp: When,
}

#[derive(Serialize)]
struct Connect {
    #[serde(flatten)]
    typed: Typed,
    server: ServerInfo,
    client: ClientInfo,
}

/// `sent` and `received` as the client sees them.
#[derive(Serialize)]
struct Disconnect {
    #[serde(flatten)]
    typed: Typed,
    server: ServerInfo,
    client: ClientInfo,
    sent: MsgBytes,
    received: MsgBytes,
    reason: String,
}

impl Node {
    pub(crate) fn typed(&mut self, at: Timestamp, name: &str) -> Typed {
        let system = self.system.as_mut();
        Typed {
            kind: format!("io.nats.server.advisory.v1.{name}"),
            id: system.map_or_else(String::new, |system| system.rng.nuid()),
            timestamp: When(at),
        }
    }

    /// spec: nats-server v2.15.1 server/events.go `accountConnectEvent`
    pub(crate) fn tell_connect(&mut self, now: Now, client: &ClientView, kind: PeerKind) {
        let name = client.account.map(|account| self.account_name(account));
        let subject = format!("$SYS.ACCOUNT.{}.CONNECT", name.unwrap_or_default());
        let Some(into) = self.listener_of(&subject) else {
            return;
        };
        let event = Connect {
            typed: self.typed(now.wall, "client_connect"),
            client: self.client_info(client, kind, None),
            server: self.told(now.wall),
        };
        self.tell(now, into, &subject, &event);
    }

    /// spec: nats-server v2.15.1 server/events.go `accountDisconnectEvent`
    pub(crate) fn tell_disconnect(&mut self, now: Now, closed: &ClosedClient) {
        // Who never came further was in the default account.
        let default = self.broker.directory().default_account();
        let name = self.account_name(closed.client.account.unwrap_or(default));
        let subject = format!("$SYS.ACCOUNT.{name}.DISCONNECT");
        if let Some(into) = self.listener_of(&subject) {
            let event = self.disconnect(now, closed);
            self.tell(now, into, &subject, &event);
        }
    }

    /// spec: nats-server v2.15.1 server/events.go `sendAuthErrorEvent`, `sendAccountAuthErrorEvent`
    pub(crate) fn tell_rejection(&mut self, now: Now, closed: &ClosedClient) {
        let subject = format!("$SYS.SERVER.{}.CLIENT.AUTH.ERR", self.facts().id);
        if let Some(into) = self.listener_of(&subject) {
            let event = self.disconnect(now, closed);
            self.tell(now, into, &subject, &event);
        }
        if closed.kind == PeerKind::Leafnode {
            return;
        }
        let subject = "$SYS.ACCOUNT.CLIENT.AUTH.ERR";
        let default = self.broker.directory().default_account();
        let account = closed.client.account.unwrap_or(default);
        if self.system.is_some() && self.broker.has_interest(account, subject) {
            let event = self.disconnect(now, closed);
            self.tell(now, account, subject, &event);
        }
    }

    /// Clients are led away.
    pub(crate) fn tell_lame_duck(&mut self, now: Now) {
        let subject = format!("$SYS.SERVER.{}.LAMEDUCK", self.facts().id);
        self.tell_server(now, &subject);
    }

    /// The process ends.
    pub(crate) fn tell_shutdown(&mut self, now: Now) {
        let subject = format!("$SYS.SERVER.{}.SHUTDOWN", self.facts().id);
        self.tell_server(now, &subject);
    }

    fn tell_server(&mut self, now: Now, subject: &str) {
        if let Some(into) = self.listener_of(subject) {
            let server = self.told(now.wall);
            self.tell(now, into, subject, &server);
        }
    }

    /// The system account, when somebody there wants to hear of this.
    pub(crate) fn listener_of(&self, subject: &str) -> Option<frond_account::AccountId> {
        let account = self.system.as_ref()?.account;
        self.broker
            .has_interest(account, subject)
            .then_some(account)
    }

    fn disconnect(&mut self, now: Now, closed: &ClosedClient) -> Disconnect {
        let traffic = closed.client.traffic;
        Disconnect {
            typed: self.typed(closed.stop, "client_disconnect"),
            client: self.client_info(&closed.client, closed.kind, Some(When(closed.stop))),
            server: self.told(now.wall),
            sent: MsgBytes {
                msgs: traffic.in_msgs,
                bytes: traffic.in_bytes,
            },
            received: MsgBytes {
                msgs: traffic.out_msgs,
                bytes: traffic.out_bytes,
            },
            reason: closed.reason.to_string(),
        }
    }
}
