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

/// spec: wire-2 section 22, lines seen from a real server
#[test]
fn routes_are_told_what_a_real_server_tells() {
    let plain = |subject, reply, header| Message {
        subject,
        reply,
        header,
        payload: b"hi",
    };
    let header = b"NATS/1.0\r\n\r\n";
    let mut out = Vec::new();
    route_msg(&mut out, Some("A"), None, &plain("s", None, b""), &[]);
    let queues = ["g1", "g2"];
    route_msg(&mut out, Some("A"), None, &plain("q", None, b""), &queues);
    route_msg(
        &mut out,
        None,
        None,
        &plain("q", Some("r"), header),
        &queues,
    );
    route_msg(
        &mut out,
        Some("A"),
        Some("CL9"),
        &plain("s", None, b""),
        &[],
    );
    route_msg(
        &mut out,
        Some("A"),
        Some("CL9"),
        &plain("s", Some("r"), header),
        &[],
    );
    route_sub(&mut out, Some("A"), None, "foo", None);
    route_sub(&mut out, None, Some("_"), "foo", Some(("g", 2)));
    route_unsub(&mut out, Some("A"), Some("CL9"), "foo", Some("g"));
    let expected = "RMSG A s 2\r\nhi\r\n\
        RMSG A q | g1 g2 2\r\nhi\r\n\
        HMSG q + r g1 g2 12 14\r\nNATS/1.0\r\n\r\nhi\r\n\
        LMSG CL9 A s 0 2\r\nhi\r\n\
        LMSG CL9 A s r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n\
        RS+ A foo\r\nLS+ _ foo g 2\r\nLS- CL9 A foo g\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
