//! What the system account asks of the broker, and hears from it.

use std::sync::Arc;

use frond_account::{AccountId, PeerKind, Permissions};
use frond_clock::Now;
use frond_wire::ConnectInfo;

use crate::broker::InfoMoment;
use crate::connection::{Hello, Kind, State};
use crate::options::Options;
use crate::{Broker, ClientView, ClosedClient, Conn, Level, LinkId, LinkKind, Output};

impl Broker {
    /// What a client may do; `None` when nothing is forbidden to it.
    #[must_use]
    pub fn permissions(&self, conn: Conn) -> Option<&Permissions> {
        let session = self.conns.get(*self.by_conn.get(&conn)?)?.session()?;
        let access = session.access.as_ref()?;
        Some(access.permissions())
    }

    /// Clients and leafnodes in an account.
    #[must_use]
    pub fn connected(&self, account: AccountId) -> u32 {
        let state = self.accounts.get(account.0 as usize);
        state.map_or(0, |state| state.clients + state.leafs)
    }

    /// Asks one client to go elsewhere.
    ///
    /// # Errors
    /// Why it can't be asked, in nats-server's words.
    /// spec: nats-server v2.15.1 server/server.go `LDMClientByID`
    pub fn lame_duck_client(&mut self, now: Now, conn: Conn) -> Result<(), &'static str> {
        self.now = now;
        let slot = self.by_conn.get(&conn).copied();
        let session = slot
            .and_then(|slot| self.conns.get(slot))
            .and_then(|connection| connection.session());
        let (Some(slot), Some(session)) = (slot, session) else {
            return Err("no such client id");
        };
        if session.options.protocol < 1 || !matches!(session.state, State::Ready(Hello::Informed)) {
            return Err(
                "client does not support Lame Duck Mode or is not ready to receive the notification",
            );
        }
        let all = core::mem::replace(&mut self.lame_duck, true);
        self.send_info(slot, InfoMoment::Changed);
        self.lame_duck = all;
        Ok(())
    }

    /// A client is turned away; what it said of itself is kept.
    pub(crate) fn tell_rejected(&mut self, slot: u32, said: Option<&ConnectInfo>, cause: &str) {
        if let (Some(said), Some(session)) = (
            said,
            self.conns.get_mut(slot).and_then(|it| it.session_mut()),
        ) {
            session.options = Options::of(said.clone());
        }
        let Some(client) = self.client_view(slot) else {
            return;
        };
        self.outputs
            .push_back(Output::Rejected(Arc::new(ClosedClient {
                client,
                stop: self.now.wall,
                reason: cause.into(),
                kind: PeerKind::Client,
            })));
    }

    pub(crate) fn tell_link_connected(&mut self, id: LinkId) {
        let slot = self.links.get(&id).and_then(|link| link.slot);
        if let Some(view) = slot.and_then(|slot| self.link_view(id, slot)) {
            self.outputs
                .push_back(Output::LinkConnected(Box::new(view)));
        }
    }

    /// What is told of a link's end; to be taken before the link forgets what it was bound to.
    pub(crate) fn closed_link(&self, id: LinkId, slot: u32, cause: &str) -> Option<ClosedClient> {
        if self.link_kind(id) != LinkKind::Leaf {
            return None;
        }
        Some(ClosedClient {
            client: ClientView {
                // What is left is still sent.
                pending_bytes: 0,
                ..self.link_view(id, slot)?
            },
            stop: self.now.wall,
            reason: cause.into(),
            kind: PeerKind::Leafnode,
        })
    }

    /// spec: nats-server v2.15.1 server/client.go `closeConnection`
    pub(crate) fn tell_link_closed(&mut self, slot: u32, cause: &str) {
        let link = self.link_at(slot).and_then(|id| self.links.get(&id));
        let Some(link) = link else {
            return;
        };
        let kind = match link.kind {
            LinkKind::Leaf => "Leafnode",
            LinkKind::Route => "Router",
            LinkKind::Gateway => "Gateway",
        };
        let name = match &*link.said.name {
            "" => link.bound.as_ref().map_or("", |bound| &bound.peer.name),
            name => name,
        };
        let mut text = format!("{kind} connection closed: {cause}");
        if !name.is_empty() {
            text += &format!(" - Remote: {}", name.escape_default());
        }
        self.log_connection(slot, Level::Info, &text);
    }

    /// The link whose connection this is.
    pub(crate) fn link_at(&self, slot: u32) -> Option<LinkId> {
        match self.conns.get(slot)?.kind {
            Kind::Link(id) => Some(id),
            Kind::Client(_) | Kind::Closing => None,
        }
    }

    /// The other end of a link; its account once it is bound.
    fn link_view(&self, id: LinkId, slot: u32) -> Option<ClientView> {
        let link = self.links.get(&id)?;
        let (bound, connection) = (link.bound.as_ref(), self.conns.get(slot)?);
        Some(ClientView {
            cid: connection.conn.0,
            peer: Some(connection.peer),
            name: bound.map_or_else(
                || link.said.name.to_string(),
                |bound| bound.peer.name.clone(),
            ),
            version: link.said.version.to_string(),
            user: link.user_name(),
            account: bound.and_then(|bound| bound.scope.one()),
            rtt: link.status().and_then(|status| status.rtt),
            pending_bytes: connection.outbox.len(),
            subscriptions: link.subs.len(),
            tls: connection.tls.clone(),
            proxy: link.proxy.clone(),
            start: connection.started.wall,
            last_activity: connection.last_activity,
            traffic: connection.traffic,
            transport: connection.transport,
            ..ClientView::default()
        })
    }
}
