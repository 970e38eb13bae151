use proptest::prelude::*;

use super::*;
use crate::Message;

/// Everything a peer's bytes lead to, in owned form, when they arrive in these pieces.
fn outcome(dialect: Dialect, limits: Limits, pieces: &[&[u8]]) -> Vec<String> {
    let mut parser = Parser::new(dialect, limits);
    let (mut buf, mut seen) = (Vec::new(), Vec::new());
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            match parser.parse(&buf) {
                Ok(Step::Op { op, consumed }) => {
                    seen.push(format!("{op:?}"));
                    buf.drain(..consumed);
                }
                Ok(Step::Need(total)) => {
                    assert!(total > buf.len(), "needs what it has: {total}");
                    break;
                }
                Err(error) => {
                    seen.push(format!("{error:?}"));
                    return seen;
                }
            }
        }
    }
    seen
}

fn client(bytes: &[u8]) -> Vec<String> {
    outcome(Dialect::Client, Limits::default(), &[bytes])
}

fn one(dialect: Dialect, bytes: &[u8]) -> Op<'_> {
    let step = Parser::new(dialect, Limits::default()).parse(bytes);
    let Ok(Step::Op { op, consumed }) = step else {
        panic!("{step:?}")
    };
    assert_eq!(consumed, bytes.len());
    op
}

fn fails(dialect: Dialect, bytes: &[u8]) -> WireError {
    let step = Parser::new(dialect, Limits::default()).parse(bytes);
    step.expect_err(&String::from_utf8_lossy(bytes))
}

const fn plain(subject: &'static str, reply: Option<&'static str>) -> Message<'static> {
    Message {
        subject,
        reply,
        header: b"",
        payload: b"hi",
    }
}

#[test]
fn client_operations() {
    use Dialect::Client;
    let sub = |queue| Op::Subscribe {
        subject: "a.*",
        queue,
        sid: "7",
    };
    let unsub = |max| Op::Unsubscribe { sid: "7", max };
    for (bytes, op) in [
        (&b"PUB a 2\r\nhi\r\n"[..], Op::Publish(plain("a", None))),
        (
            b"PUB                                                         a 2\r\nhi\r\n",
            Op::Publish(plain("a", None)),
        ),
        (b"pub a r 2\nhi\r\n", Op::Publish(plain("a", Some("r")))),
        (
            b"PuB \t a\t r  02 \r\nhi\r\n",
            Op::Publish(plain("a", Some("r"))),
        ),
        (b"SUB a.* 7\r\n", sub(None)),
        (b"SUB a.* q 7\r\n", sub(Some("q"))),
        (b"UNSUB 7\r\n", unsub(None)),
        (b"UNSUB 7 5\r\n", unsub(Some(5))),
        (b"UNSUB 7 0\r\n", unsub(None)),
        (b"UNSUB 7 x\r\n", unsub(None)),
        (b"CONNECT {}\r\n", Op::Connect(b"{}")),
        (b"connect{}\n", Op::Connect(b"{}")),
        (b"INFO {} \r\n", Op::Info(b"{} ")),
        (b"PING\r\n", Op::Ping),
        (b"ping and more\n", Op::Ping),
        (b"PONG\r\n", Op::Pong),
        (b"+OK\r\n", Op::Ok),
        (b"-ERR 'no'\r\n", Op::Err("no")),
        (b"-ERR  no \r\n", Op::Err("no")),
    ] {
        assert_eq!(one(Client, bytes), op);
    }
}

#[test]
fn headers_are_split_from_the_payload() {
    let bytes = b"HPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n";
    let message = Message {
        header: b"NATS/1.0\r\n\r\n",
        ..plain("a", Some("r"))
    };
    assert_eq!(one(Dialect::Client, bytes), Op::Publish(message));
    let bytes = b"HPUB a 0 2\r\nhi\r\n";
    assert_eq!(one(Dialect::Client, bytes), Op::Publish(plain("a", None)));
}

#[test]
fn leaf_operations() {
    use Dialect::Leaf;
    let sub = |queue| Op::LeafSubscribe {
        subject: "a",
        queue,
    };
    let unsub = |queue| Op::LeafUnsubscribe {
        subject: "a",
        queue,
    };
    let msg = |reply, queues: &[&'static str]| Op::LeafMessage {
        message: plain("a", reply),
        queues: queues.to_vec(),
    };
    for (bytes, op) in [
        (&b"LS+ a\r\n"[..], sub(None)),
        (b"LS+ a q 3\r\n", sub(Some(("q", 3)))),
        (b"RS+ a q 0\r\n", sub(Some(("q", 1)))),
        (b"LS- a\r\n", unsub(None)),
        (b"ls- a q\r\n", unsub(Some("q"))),
        (b"LMSG a 2\r\nhi\r\n", msg(None, &[])),
        (b"RMSG a r 2\r\nhi\r\n", msg(Some("r"), &[])),
        (b"LMSG a | 2\r\nhi\r\n", msg(Some("|"), &[])),
        (b"LMSG a | q 2\r\nhi\r\n", msg(None, &["q"])),
        (b"LMSG a + r 2\r\nhi\r\n", msg(Some("r"), &[])),
        (
            b"LMSG a + r q1 q2 2\r\nhi\r\n",
            msg(Some("r"), &["q1", "q2"]),
        ),
        (b"HMSG a + r q 0 2\r\nhi\r\n", msg(Some("r"), &["q"])),
        (b"-ERR 'x'\r\n", Op::Err("x")),
    ] {
        assert_eq!(one(Leaf, bytes), op);
    }
    for bytes in [
        &b"LS+ a q\r\n"[..],
        b"LS+ a q 1 x\r\n",
        b"LS+ \r\n",
        b"LS- a q x\r\n",
        b"LMSG a\r\n",
        b"LMSG a x r q 2\r\n",
        b"HMSG a 2\r\n",
        b"HMSG a 3 2\r\n",
    ] {
        assert_eq!(fails(Leaf, bytes).err_text(), None);
    }
    for bytes in [&b"MSG"[..], b"SUB", b"A+", b"LX", b"HPUB", b"LS+a"] {
        assert_eq!(fails(Leaf, bytes), WireError::UnknownOperation);
    }
}

#[test]
fn what_is_no_operation_is_refused_without_waiting_for_a_line_end() {
    for bytes in [
        &b"FOO"[..],
        b"F",
        b"PX",
        b"PUBX",
        b"PUB\r",
        b"SUB\r\n",
        b"\r\n",
        b"RS+",
        b"LS+",
        b"LMSG",
        b"A+",
        b"MSG",
        b"\x0bOK",
        b"\0",
        b"\xff",
        b"+O\n",
        b"-ERR\r\n",
        b"PUB a 2\r\nhi\n",
        b"PUB a 2\r\nhix",
        b"PUB a 2\r\nhi\rx",
    ] {
        assert_eq!(fails(Dialect::Client, bytes), WireError::UnknownOperation);
    }
}

#[test]
fn bad_arguments_are_for_the_log_only() {
    for bytes in [
        &b"PUB \r\n"[..],
        b"PUB a\r\n",
        b"PUB a b c 2\r\n",
        b"PUB a x\r\n",
        b"PUB a -1\r\n",
        b"PUB a 1234567890\r\n",
        b"HPUB a 2\r\n",
        b"HPUB a 5 2\r\n",
        b"HPUB a b c 1 2\r\n",
        b"HPUB a x 2\r\n",
        b"SUB a\r\n",
        b"SUB a b c d\r\n",
        b"UNSUB \r\n",
        b"UNSUB a b c\r\n",
        b"SUB \xff 1\r\n",
    ] {
        let error = fails(Dialect::Client, bytes);
        assert!(matches!(error, WireError::BadArguments(_)), "{error:?}");
        assert_eq!(error.err_text(), None);
    }
}

#[test]
fn an_oversize_payload_is_refused_before_it_arrives() {
    let limits = Limits {
        payload_bytes_max: Some(64),
        ..Limits::default()
    };
    let mut parser = Parser::new(Dialect::Client, limits);
    assert_eq!(parser.parse(b"PUB a 64\r\n"), Ok(Step::Need(75)));
    let mut parser = Parser::new(Dialect::Client, limits);
    let error = parser.parse(b"PUB a 65\r\n").unwrap_err();
    assert_eq!(error.err_text(), Some("Maximum Payload Violation"));
    let limits = Limits {
        payload_bytes_max: None,
        ..limits
    };
    let mut parser = Parser::new(Dialect::Client, limits);
    assert_eq!(
        parser.parse(b"PUB a 999999999\r\n"),
        Ok(Step::Need(17 + 1_000_000_000))
    );
}

#[test]
fn a_control_line_is_bounded_before_its_end_arrives() {
    let limits = Limits {
        control_line_bytes_max: 10,
        ..Limits::default()
    };
    let most = b"CONNECT 0123456789";
    let seen = |rest: &[u8]| outcome(Dialect::Client, limits, &[most, rest]);
    assert_eq!(seen(b""), [""; 0]);
    assert_eq!(seen(b"\r"), [""; 0]);
    assert_eq!(seen(b"\r\n").len(), 1);
    assert_eq!(seen(b"x"), ["ControlLineTooLong"]);
    assert_eq!(seen(b"\rx"), ["ControlLineTooLong"]);
    let blanks = [b' '; 300];
    assert_eq!(
        outcome(Dialect::Client, limits, &[b"PUB", &blanks]),
        ["ControlLineTooLong"]
    );
    let long = format!("CONNECT {}", "x".repeat(161));
    let (most, over) = long.as_bytes().split_at(168);
    assert_eq!(outcome(Dialect::Leaf, limits, &[most]), [""; 0]);
    assert_eq!(
        outcome(Dialect::Leaf, limits, &[most, over]),
        ["ControlLineTooLong"]
    );
}

#[test]
fn a_large_payload_is_waited_for_in_one_step() {
    let mut bytes = b"PUB a 100000\r\n".to_vec();
    let mut parser = Parser::new(Dialect::Client, Limits::default());
    assert_eq!(parser.parse(&bytes), Ok(Step::Need(100_015)));
    bytes.extend([b'x'; 100_000]);
    assert_eq!(parser.parse(&bytes), Ok(Step::Need(100_015)));
    bytes.push(b'\r');
    assert_eq!(parser.parse(&bytes), Ok(Step::Need(100_016)));
    bytes.push(b'\n');
    assert!(matches!(
        parser.parse(&bytes),
        Ok(Step::Op {
            consumed: 100_016,
            ..
        })
    ));
}

#[test]
fn operations_follow_each_other() {
    let seen = client(b"PING\r\nPUB a 0\r\n\r\nPONG\n");
    assert_eq!(seen.len(), 3);
    assert_eq!((seen[0].as_str(), seen[2].as_str()), ("Ping", "Pong"));
}

/// Pieces of protocol, sensible and not, so that random joins reach deep.
fn traffic() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            &b"PUB a 2\r\nhi\r\n"[..], b"HPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", b"SUB a q 1\r\n",
            b"UNSUB 1 2\r\n", b"PING\r\n", b"PONG x\n", b"+OK\r\n", b"INFO {}\r\n", b"CONNECT{}\r\n",
            b"LS+ a q 2\r\n", b"LS- a\r\n", b"LMSG a + r q 2\r\nhi\r\n", b"HMSG a 0 0\r\n\r\n",
            b"-ERR 'x'\r\n", b"PUB a 2\r\nhi", b"PUB ", b"\r", b"\n", b" ", b"30", b"CONNECT ",
        ])
        .prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_changes_nothing(
        bytes in traffic(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let limits = Limits { control_line_bytes_max: 30, payload_bytes_max: Some(29) };
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.sort_unstable();
        at.insert(0, 0);
        at.push(bytes.len());
        let pieces: Vec<_> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let single: Vec<_> = bytes.chunks(1).collect();
        for dialect in [Dialect::Client, Dialect::Leaf] {
            let whole = outcome(dialect, limits, &[&bytes]);
            prop_assert_eq!(&outcome(dialect, limits, &pieces), &whole);
            prop_assert_eq!(&outcome(dialect, limits, &single), &whole);
        }
    }
}
