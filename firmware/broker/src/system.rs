//! What the system account asks of the broker, and hears from it.

use std::sync::Arc;

use frond_account::Permissions;
use frond_clock::Now;
use frond_wire::ConnectInfo;

use crate::broker::InfoMoment;
use crate::connection::{Hello, State};
use crate::{Broker, ClosedClient, Conn, Output};

impl Broker {
    /// What a client may do; `None` when nothing is forbidden to it.
    #[must_use]
    pub fn permissions(&self, conn: Conn) -> Option<&Permissions> {
        let session = self.conns.get(*self.by_conn.get(&conn)?)?.session()?;
        let access = session.access.as_ref()?;
        Some(access.permissions())
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

    /// A client is turned away; with what it said of itself.
    pub(crate) fn tell_rejected(&mut self, slot: u32, said: Option<&ConnectInfo>, cause: &str) {
        let Some(mut client) = self.client_view(slot) else {
            return;
        };
        if let Some(said) = said {
            client.name.clone_from(&said.name);
            client.lang.clone_from(&said.lang);
            client.version.clone_from(&said.version);
            client.user = match (&*said.nkey, &*said.user, &*said.auth_token) {
                ("", "", "") => String::new(),
                ("", "", _) => "[REDACTED]".to_owned(),
                ("", user, _) => user.to_owned(),
                (key, ..) => key.to_owned(),
            };
        }
        self.outputs
            .push_back(Output::Rejected(Arc::new(ClosedClient {
                client,
                stop: self.now.wall,
                reason: cause.into(),
            })));
    }
}
