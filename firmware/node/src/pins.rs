use std::collections::BTreeSet;

use frond_account::Transport;
use frond_broker::{Conn, Level};
use frond_clock::Now;
use frond_config::{Config, Tls};

use crate::{Node, Output};

impl Node {
    /// Closes clients whose certificate is pinned no more.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `applyOptions`, of pinned certificates
    pub(crate) fn reload_pins(&mut self, now: Now, former: &Config) {
        let ports = [
            (Transport::Tcp, former.tls.as_ref(), self.config.tls.clone()),
            (
                Transport::WebSocket,
                former.websocket.tls.as_ref(),
                self.config.websocket.tls.clone(),
            ),
        ];
        for (transport, former, now_is) in ports {
            let pins = pins(now_is.as_ref());
            if !pins.is_empty() && pins != self::pins(former) {
                self.unpin(now, transport, &pins);
            }
        }
    }

    fn unpin(&mut self, now: Now, transport: Transport, pins: &BTreeSet<String>) {
        let clients = self.broker.clients();
        let gone: Vec<_> = clients
            .filter(|client| client.transport == transport)
            .filter_map(|client| {
                let peer = client.tls.as_ref()?.peer.as_ref();
                let key = peer.map_or_else(String::new, |peer| peer.subject_pk_sha256.clone());
                (!pins.contains(&key)).then_some((Conn(client.cid), client.peer, key))
            })
            .collect();
        if gone.is_empty() {
            return;
        }
        for (conn, peer, key) in &gone {
            let peer = peer.map_or_else(String::new, |at| format!("{at} - "));
            let text = format!(
                "{peer}cid:{} - Failed pinned cert test for key id: {key}",
                conn.0
            );
            self.tell_pins(Level::Debug, text);
            self.broker.close(now, *conn, "TLS Handshake Failure");
        }
        let text = format!(
            "Disconnect {} clients due to pinned certs reload",
            gone.len()
        );
        self.tell_pins(Level::Info, text);
    }

    fn tell_pins(&mut self, level: Level, text: String) {
        self.outputs.push_back(Output::Log { level, text });
    }
}

fn pins(tls: Option<&Tls>) -> BTreeSet<String> {
    tls.map(|tls| tls.pinned_certs.clone()).unwrap_or_default()
}
