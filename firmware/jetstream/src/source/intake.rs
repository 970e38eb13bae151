//! What a message of another stream looks like here.

use frond_wire::{Headers, Message, MessageBuf, headers};

use super::origin::{Kind, Origin};
use super::position::Position;

const SOURCE: &str = "Nats-Stream-Source";
/// Conditions and marks that meant something at the origin only.
const NOT_KEPT: [&str; 2] = ["Nats-Expected-", "Nats-Batch-"];

/// The message under the subject and with the headers it has here.
///
/// spec: nats-server v2.15.1 server/stream.go `processInboundSourceMsg`
pub(crate) fn converted(
    origin: &Origin,
    position: Position,
    identity: &str,
    message: &MessageBuf,
    random: u64,
) -> MessageBuf {
    let parts = message.message();
    let renamed = origin.renamed(parts.subject, random);
    let mut header = parts.header.to_vec();
    remove_not_kept(&mut header);
    if origin.kind == Kind::Source {
        let value = origin.header(position.seq, parts.subject, identity);
        headers::set(&mut header, SOURCE, &value);
    }
    MessageBuf::copy_of(&Message {
        subject: renamed.as_deref().unwrap_or(parts.subject),
        reply: None,
        header: &header,
        payload: parts.payload,
    })
}

fn remove_not_kept(header: &mut Vec<u8>) {
    let is_not_kept = |key: &[u8]| NOT_KEPT.iter().any(|p| key.starts_with(p.as_bytes()));
    let found: Vec<String> = Headers::new(header)
        .iter()
        .filter(|(key, _)| is_not_kept(key))
        .map(|(key, _)| String::from_utf8_lossy(key).into_owned())
        .collect();
    for key in found {
        headers::remove(header, &key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::config::StreamSource;
    use frond_clock::Timestamp;

    #[test]
    fn conditions_stay_behind_and_the_origin_is_told() {
        let config = StreamSource {
            name: "ALL".into(),
            ..StreamSource::default()
        };
        let message = MessageBuf::copy_of(&Message {
            subject: "orders.1",
            reply: None,
            header: b"NATS/1.0\r\nNats-Expected-Stream: ALL\r\nA: b\r\nNats-Stream-Source: X 9 > > o\r\nNats-Batch-Id: 1\r\n\r\n",
            payload: b"x",
        });
        let at = Position {
            seq: 2,
            time: Timestamp::default(),
        };
        for (kind, expected) in [
            (
                Kind::Source,
                "NATS/1.0\r\nA: b\r\nNats-Stream-Source: ALL 2 > > orders.1 9kwnso4f\r\n\r\n",
            ),
            (
                Kind::Mirror,
                "NATS/1.0\r\nA: b\r\nNats-Stream-Source: X 9 > > o\r\n\r\n",
            ),
        ] {
            let origin = Origin::new(kind, config.clone());
            let here = converted(&origin, at, "9kwnso4f", &message, 0);
            let header = String::from_utf8(here.header().to_vec()).unwrap();
            assert_eq!(header, expected);
        }
    }
}
