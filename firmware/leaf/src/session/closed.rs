//! What a peer says that is kept from it.

use frond_broker::{Level, Upcalls};
use frond_wire::Message;
use frond_wire::headers::Headers;

use super::Session;

impl Session {
    /// What is for the server's own people is left out, and they are told whose it was.
    pub(super) fn drop_closed(&self, subject: &str, up: &mut dyn Upcalls) {
        let name = &self.peer.name;
        let words = format!(
            "leafnode: {name:?} said something on {subject:?}, or wants an answer there, which is \
             kept from leafs: it is left out (allow its user that by name, if it may)"
        );
        up.log_seldom(Level::Warn, &format!("closed {name}"), words);
    }

    /// Where a message wants to be traced to, if the peer may not send there itself.
    ///
    /// spec: nats-server v2.15.1 server/msgtrace.go `allowedToPublishOnMsgTraceDest`
    pub(super) fn forbidden_trace<'m>(&self, message: &Message<'m>) -> Option<&'m str> {
        if message.header.is_empty() {
            return None;
        }
        let dest = Headers::new(message.header).get(TRACE_DEST)?;
        (!self.gate.may_receive(dest)).then_some(dest)
    }
}

/// The header that says where a message is traced to.
const TRACE_DEST: &str = "Nats-Trace-Dest";
