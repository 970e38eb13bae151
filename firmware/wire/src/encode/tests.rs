use proptest::prelude::*;

use super::*;
use crate::{Dialect, Limits, Op, Parser, Step};

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

const PLAIN: Message<'static> = Message {
    subject: "a",
    reply: None,
    header: b"",
    payload: b"hi",
};
const FULL: Message<'static> = Message {
    reply: Some("r"),
    header: b"NATS/1.0\r\n\r\n",
    ..PLAIN
};

#[test]
fn messages_as_nats_server_writes_them() {
    for (text, expected) in [
        (written(|out| msg(out, &PLAIN, "1")), "MSG a 1 2\r\nhi\r\n"),
        (
            written(|out| msg(out, &FULL, "1")),
            "HMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
        ),
        (
            written(|out| leaf_msg(out, &PLAIN, &[])),
            "LMSG a 2\r\nhi\r\n",
        ),
        (
            written(|out| leaf_msg(out, &PLAIN, &["q", "p"])),
            "LMSG a | q p 2\r\nhi\r\n",
        ),
        (
            written(|out| leaf_msg_head(out, &FULL, &[])),
            "HMSG a r 12 14\r\n",
        ),
        (
            written(|out| leaf_msg_head(out, &FULL, &["q"])),
            "HMSG a + r q 12 14\r\n",
        ),
        (written(|out| publish(out, &PLAIN)), "PUB a 2\r\nhi\r\n"),
    ] {
        assert_eq!(text, expected);
    }
}

#[test]
fn other_operations_as_nats_server_writes_them() {
    for (text, expected) in [
        (written(|out| leaf_sub(out, "a", None)), "LS+ a\r\n"),
        (
            written(|out| leaf_sub(out, "a", Some(("q", 3)))),
            "LS+ a q 3\r\n",
        ),
        (written(|out| leaf_unsub(out, "a", None)), "LS- a\r\n"),
        (
            written(|out| leaf_unsub(out, "a", Some("q"))),
            "LS- a q\r\n",
        ),
        (written(ping), "PING\r\n"),
        (written(pong), "PONG\r\n"),
        (written(ok), "+OK\r\n"),
        (
            written(|out| err(out, "Invalid Subject")),
            "-ERR 'Invalid Subject'\r\n",
        ),
    ] {
        assert_eq!(text, expected);
    }
    let text = written(|out| info(out, &ServerInfo::default()));
    assert!(text.starts_with("INFO {\"server_id\"") && text.ends_with("} \r\n"));
    let text = written(|out| connect(out, &crate::LeafConnect::default()));
    assert_eq!(text, "CONNECT {}\r\n");
}

proptest! {
    #[test]
    fn numbers_are_decimal(value: u64) {
        for value in [value, value >> 40, 0, u64::MAX] {
            prop_assert_eq!(written(|out| number(out, value)), value.to_string());
        }
    }

    #[test]
    fn what_is_written_is_read_back(
        reply in prop::option::of("[a-z.]{1,9}"),
        queues in prop::collection::vec("[a-z]{1,5}", 0..4),
        headers: bool,
        payload in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let message = Message {
            reply: reply.as_deref(),
            header: if headers { b"NATS/1.0\r\n\r\n" } else { b"" },
            payload: &payload,
            ..PLAIN
        };
        let queues: Vec<_> = queues.iter().map(String::as_str).collect();
        let (mut leaf, mut client) = (Vec::new(), Vec::new());
        leaf_msg(&mut leaf, &message, &queues);
        publish(&mut client, &message);
        for (dialect, bytes, op) in [
            (Dialect::Leaf, &leaf, Op::LeafMessage { message, queues }),
            (Dialect::Client, &client, Op::Publish(message)),
        ] {
            let mut parser = Parser::new(dialect, Limits::default());
            let consumed = bytes.len();
            prop_assert_eq!(parser.parse(bytes), Ok(Step::Op { op, consumed }));
        }
    }
}
