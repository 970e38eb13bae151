//! What sockets are told of the rules for their peers, and tell of what they hold.

use std::time::Duration;

use frond_broker::Conn;
use frond_clock::Now;
use frond_config::WriteTimeout;

use crate::{Listener, Node, setup};

/// What is done about a peer that takes what waits for it too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRule {
    /// How long what waits now may take.
    pub deadline: Duration,
    /// What happens when it takes longer.
    pub late: Late,
}

/// What happens to a peer that is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It is closed.
    Close,
    /// It is given as much time again, unless it took nothing at all.
    Retry,
}

impl Node {
    /// The other end took what waited for it: a line that brings nothing back is not dead.
    pub fn drained(&mut self, now: Now, conn: Conn) {
        self.broker.drained(now, conn);
    }

    /// Whether clients have to say who they are.
    #[must_use]
    pub fn wants_login(&self) -> bool {
        self.broker.directory().auth_required()
    }

    /// The most that the hub of an account takes of header and payload together, in bytes, while
    /// there is one line to one, and it said so.
    #[must_use]
    pub fn hub_payload_max(&self, account: &str) -> Option<u64> {
        let account = self.broker.directory().find(account)?;
        self.broker.hub_payload_max(account)
    }

    /// The rule for peers that came in here.
    ///
    /// spec: nats-server v2.15.1 server/client.go `initClient`
    #[must_use]
    pub fn write_rule(&self, listener: Listener) -> WriteRule {
        match listener {
            Listener::Client | Listener::WebSocket => WriteRule {
                deadline: self.config.write_deadline,
                late: late(self.config.write_timeout, Late::Close),
            },
            Listener::Leaf => self.link_write_rule(),
            Listener::Route => self.route_write_rule(),
            Listener::Gateway => self.gateway_write_rule(),
        }
    }

    /// The rule for the servers of this cluster, whoever dialed.
    #[must_use]
    pub fn route_write_rule(&self) -> WriteRule {
        let cluster = &self.config.cluster;
        let deadline = cluster.write_deadline;
        WriteRule {
            deadline: deadline.unwrap_or(self.config.write_deadline),
            late: late(cluster.write_timeout, Late::Retry),
        }
    }

    /// The rule for the servers of other clusters, whoever dialed.
    #[must_use]
    pub fn gateway_write_rule(&self) -> WriteRule {
        let gateway = &self.config.gateway;
        let deadline = gateway.write_deadline;
        WriteRule {
            deadline: deadline.unwrap_or(self.config.write_deadline),
            late: late(gateway.write_timeout, Late::Retry),
        }
    }

    /// The rule for leafnodes, whoever dialed.
    #[must_use]
    pub fn link_write_rule(&self) -> WriteRule {
        let leafs = &self.config.leafnodes;
        WriteRule {
            deadline: leafs.write_deadline.unwrap_or(self.config.write_deadline),
            late: late(leafs.write_timeout, Late::Retry),
        }
    }

    /// A peer was late and is given time: `waiting` bytes are not written.
    pub fn write_late(&mut self, now: Now, conn: Conn, deadline: Duration) {
        self.broker.write_late(now, conn, deadline);
        self.settle(now);
    }

    /// A peer was late and is given no more time: the shell closes it.
    pub fn write_too_late(&mut self, now: Now, conn: Conn, deadline: Duration) {
        self.broker.write_too_late(now, conn, deadline);
        self.settle(now);
    }

    /// A peer that was greeted is told why it may not stay.
    pub fn dismiss(&mut self, now: Now, conn: Conn, text: &str, cause: &str) {
        self.broker.dismiss(now, conn, text, cause);
        self.settle(now);
    }

    /// A client was held back for so long.
    pub fn producer_stalled(&mut self, now: Now, conn: Conn, time: Duration) {
        self.broker.producer_stalled(now, conn, time);
        self.settle(now);
    }

    /// The shell holds so many bytes for a connection. Whether something is to be done now that
    /// [`Node::poll`] tells.
    pub fn hold(&mut self, now: Now, conn: Conn, bytes: usize) -> bool {
        self.broker.hold(now, conn, bytes);
        self.settle(now);
        !self.outputs.is_empty()
    }

    /// Bytes that may be held for peers which are not connections yet.
    #[must_use]
    pub fn lobby_bytes_max(&self) -> usize {
        setup::lobby_bytes_max(&self.config, &self.seed)
    }

    /// Whether another server dialed that nobody knows yet.
    #[must_use]
    pub fn is_stranger(&self, conn: Conn) -> bool {
        self.broker.is_stranger(conn)
    }

    /// Peers that had to go before they said who they are, since the start.
    #[must_use]
    pub const fn strangers_shed(&self) -> u64 {
        self.broker.totals().strangers_shed
    }

    /// There is no room for another connection: lets `count` go that have not said who they are.
    pub fn shed_strangers(&mut self, now: Now, count: usize) {
        self.broker.shed_strangers(now, count);
        self.settle(now);
    }
}

const fn late(given: WriteTimeout, default: Late) -> Late {
    match given {
        WriteTimeout::Default => default,
        WriteTimeout::Close => Late::Close,
        WriteTimeout::Retry => Late::Retry,
    }
}
