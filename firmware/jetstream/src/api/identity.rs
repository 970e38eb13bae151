//! Which stream of its name a stream is: mirrors and sources elsewhere must notice when it was
//! created anew.
//!
//! spec: nats-server v2.15.1 server/stream.go `streamIdentity`

use frond_wire::{Headers, headers};

use super::{Call, Endpoint};
use crate::consumer::CreateRequest;
use crate::errors::{self, ApiError};
use crate::jetstream::JetStream;
use crate::source::origin::hash;
use crate::stream::Stream;

const IDENTITY: &str = "Nats-Stream-Identity";

/// Refuses who expects another stream.
pub(super) fn expected(call: &Call, stream: &Stream) -> Result<(), ApiError> {
    let headers = Headers::new(call.message.header());
    let own = of(stream);
    match headers.get(IDENTITY).filter(|asked| !asked.is_empty()) {
        Some(asked) if asked != own => {
            Err(errors::CONSUMER_STREAM_IDENTITY_MISMATCH.with("msg", own))
        }
        Some(_) | None => Ok(()),
    }
}

/// The same for the same stream, whatever happens to its messages.
fn of(stream: &Stream) -> String {
    hash(&stream.created.to_string())
}

impl JetStream {
    /// What an answer about a new consumer tells who understands it, as a header block.
    pub(super) fn identity_told(&self, call: &Call, kind: &str) -> Vec<u8> {
        let mut block = Vec::new();
        let is_told = match kind {
            "consumer_create_response" => self.is_for_sourcing(call),
            "consumer_reset_response" => {
                let headers = Headers::new(call.message.header());
                headers.get(IDENTITY).is_some()
            }
            _ => false,
        };
        if is_told {
            let endpoint = Endpoint::parse(&call.subject);
            let (name, _) = endpoint.map(|it| it.scope()).unwrap_or_default();
            if let Some(host) = self.find_stream(call.tenant, name) {
                headers::append(&mut block, IDENTITY, &of(&host.stream));
            }
        }
        block
    }

    /// Whether a create call asks for a mirror's or a source's consumer.
    fn is_for_sourcing(&self, call: &Call) -> bool {
        let asked = CreateRequest::parse(call.body(), self.facts.strict);
        asked.is_ok_and(|asked| asked.config.direct || asked.config.sourcing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_nats_server_s() {
        assert_eq!(hash("2026-11-29T20:16:49.225169135Z"), "udm485Cd");
    }
}
