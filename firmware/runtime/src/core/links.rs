//! What links to other servers want of their connections.

use std::rc::Rc;

use frond_broker::{Conn, LinkId, LinkKind, Pack};

use super::Core;
use crate::connection::Upgrade;
use crate::tls::{Fault, Outbound};

impl Core {
    /// Packs a connection from here on.
    pub(super) fn pack(&self, pack: Pack) {
        if let Some(socket) = self.socket(pack.conn) {
            socket.pack(pack, &self.pack_tools);
        }
    }

    /// Shakes hands as a remote wants it.
    pub(super) fn secure(&self, link: LinkId, conn: Conn, server_name: String) {
        let Some(socket) = self.socket(conn) else {
            return;
        };
        match self.outbound(link) {
            Ok(context) => socket.upgrade(Upgrade::Connect(context, server_name)),
            Err(why) => {
                self.tell_handshake_fault(conn, true, &Fault::Setup(why));
                socket.close("TLS Handshake Failure");
            }
        }
    }

    /// A handshake on a connection of the node failed. Whichever client calls can fail it, so that
    /// is for those who look closely; one with another server is the operator's business.
    ///
    /// spec: nats-server v2.15.1 server/client.go `doTLSHandshake`
    pub(crate) fn tell_handshake_fault(&self, conn: Conn, dialed: bool, fault: &Fault) {
        let (mark, kind) = self.with_node(|node| node.mark(conn));
        let of = match kind {
            None => "",
            Some(LinkKind::Leaf) => "leafnode ",
            Some(LinkKind::Route) => "route ",
            Some(LinkKind::Gateway) => "gateway ",
        };
        let text = fault.to_string();
        let text = text.strip_prefix("TLS ").unwrap_or(&text);
        if dialed || kind.is_some() {
            tracing::error!("{mark} - TLS {of}{text}");
        } else {
            tracing::debug!("{mark} - TLS {text}");
        }
    }

    /// How the remote of a link wants TLS.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn outbound(&self, link: LinkId) -> Result<Rc<Outbound>, String> {
        match self.with_node(|node| node.link_kind(link)) {
            LinkKind::Leaf => {}
            LinkKind::Route => return self.tls.route_outbound(),
            LinkKind::Gateway => {
                let cluster = self.with_node(|node| node.cluster_of(link));
                return self.tls.gateway_outbound(&cluster.unwrap_or_default());
            }
        }
        let remote = self.with_node(|node| node.remote(link).cloned());
        let remote = remote.ok_or("the remote is gone")?;
        self.tls.remote(&remote)
    }

    /// How the HTTP proxy of a link's remote wants TLS.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn proxy(&self, link: LinkId) -> Result<Rc<Outbound>, String> {
        let remote = self.with_node(|node| node.remote(link).cloned());
        let remote = remote.ok_or("the remote is gone")?;
        self.tls.proxy(&remote)
    }
}
