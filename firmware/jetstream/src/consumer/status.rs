//! The messages without a body that steer a client.
//!
//! Clients compare these texts: they are part of the protocol.
// spec: nats-server v2.14.0 server/consumer.go; ADR-13, ADR-37

use frond_wire::{Message, MessageBuf};

use super::progress::Floor;

/// `NATS/1.0 <text>` to `to`.
pub(crate) fn status(to: &str, text: &str) -> MessageBuf {
    bare(to, None, &format!("NATS/1.0 {text}\r\n\r\n"))
}

/// A status that tells what the request still wanted.
pub(crate) fn unfinished(to: &str, text: &str, messages: i64, bytes: i64) -> MessageBuf {
    let header = format!(
        "NATS/1.0 {text}\r\nNats-Pending-Messages: {messages}\r\nNats-Pending-Bytes: {bytes}\r\n\r\n"
    );
    bare(to, None, &header)
}

/// Tells that nothing happened, and where we are; `stalled`: which flow-control answer is missing.
pub(crate) fn heartbeat(to: &str, last: Floor, stalled: Option<&str>) -> MessageBuf {
    let mut header = format!(
        "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: {}\r\nNats-Last-Stream: {}\r\n",
        last.delivery, last.stream
    );
    if let Some(subject) = stalled {
        header.push_str(&format!("Nats-Consumer-Stalled: {subject}\r\n"));
    }
    header.push_str("\r\n");
    bare(to, None, &header)
}

/// Asks a push client to answer once it has handled everything before.
pub(crate) fn flow_control(to: &str, answer: &str) -> MessageBuf {
    bare(to, Some(answer), "NATS/1.0 100 FlowControl Request\r\n\r\n")
}

/// An empty message.
pub(crate) fn empty(to: &str) -> MessageBuf {
    bare(to, None, "")
}

fn bare(to: &str, reply: Option<&str>, header: &str) -> MessageBuf {
    MessageBuf::copy_of(&Message {
        subject: to,
        reply,
        header: header.as_bytes(),
        payload: b"",
    })
}
