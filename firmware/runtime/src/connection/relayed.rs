//! The words of a proxy before those of the peer it relays.

use std::rc::Rc;

use frond_node::Input;

use super::Connection;
use crate::proxied;

impl Connection {
    /// Hears whom a proxy relays, if there is one, before anything else is read.
    pub(super) async fn hear_proxy(&mut self) -> Result<(), &'static str> {
        let socket = Rc::clone(&self.socket);
        let heard = tokio::select! {
            heard = proxied::hear(socket.line.stream()) => heard,
            () = socket.until_closing() => return Ok(()),
        };
        match heard {
            Ok(heard) => {
                self.rest = heard.early;
                socket.again.set(!self.rest.is_empty());
                let (conn, from) = (self.conn, heard.from);
                self.core.handle(Input::Relayed { conn, from });
                Ok(())
            }
            Err(why) => {
                self.core.tell_bad_proxy(self.conn, &why);
                Err("Protocol Violation")
            }
        }
    }
}
