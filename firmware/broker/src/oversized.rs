//! A message that is too large is not read; who traces it hears of that all the same.
//! spec: nats-server v2.15.1 server/client.go `processHeaderPub`, `sendMsgTraceIngressErrEvent`

use frond_wire::{Message, WireError};

use crate::Broker;
use crate::connection::Kind;
use crate::publish::Origin;

/// The control line of an `HPUB`, and what has come of its headers.
struct Begun<'b> {
    subject: &'b str,
    header: &'b [u8],
    size: usize,
}

impl Broker {
    /// Tells the trace that a refused message asks for, as far as its headers have come.
    pub(crate) fn trace_oversized(&mut self, slot: u32, bytes: &[u8], error: &WireError) {
        if !matches!(error, WireError::PayloadTooLarge { .. }) {
            return;
        }
        let (Some(begun), Some(connection)) = (Begun::read(bytes), self.conns.get_mut(slot)) else {
            return;
        };
        let Kind::Client(session) = &connection.kind else {
            return;
        };
        let (account, echo) = (session.account, session.options.echo);
        let message = Message {
            subject: begun.subject,
            reply: None,
            header: begun.header,
            payload: &[],
        };
        self.begin_trace(Origin::Client { slot, echo }, account, &message);
        self.trace_refusal("maximum payload exceeded");
        self.trace_size(begun.size);
        self.finish_trace();
    }
}

impl<'b> Begun<'b> {
    fn read(bytes: &'b [u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = bytes.split_at_checked(end + 1)?;
        let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        if !words.next()?.eq_ignore_ascii_case("HPUB") {
            return None;
        }
        let (subject, size) = (words.next()?, words.next_back()?);
        let header: usize = words.next_back()?.parse().ok()?;
        Some(Self {
            subject,
            header: rest.get(..header).unwrap_or(rest),
            size: size.parse().ok()?,
        })
    }
}
