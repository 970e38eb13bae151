use super::world::{QUIET, World};
use crate::Next;

#[test]
fn what_is_no_protocol_ends_the_connection() {
    let long = format!("PUB foo {}", "x".repeat(5000));
    for (said, answer, cause) in [
        (
            "FOO\r\n",
            "-ERR 'Unknown Protocol Operation'\r\n",
            "Protocol Violation",
        ),
        (
            "PUB x 2\r\nabcd\r\n",
            "-ERR 'Unknown Protocol Operation'\r\n",
            "Protocol Violation",
        ),
        (
            "LS+ a\r\n",
            "-ERR 'Unknown Protocol Operation'\r\n",
            "Protocol Violation",
        ),
        (
            &long,
            "-ERR 'maximum control line exceeded'\r\n",
            "Maximum Control Line Exceeded",
        ),
        (
            "PUB x 2000000\r\n",
            "-ERR 'Maximum Payload Violation'\r\n",
            "Maximum Message Payload Exceeded",
        ),
        ("SUB a\r\n", "", "Protocol Violation"),
        ("PUB a b c d\r\n", "", "Protocol Violation"),
        ("-ERR 'x'\r\n", "", "Parse Error"),
    ] {
        let mut world = World::open_to_all();
        let conn = world.quiet();
        assert_eq!(world.say(conn, said), Next::Never, "{said}");
        assert_eq!(world.read(conn), answer, "{said}");
        assert_eq!(world.closed.get(&conn).unwrap(), cause, "{said}");
    }
}

#[test]
fn headers_are_for_those_who_announced_them() {
    let mut world = World::open_to_all();
    let conn = world.client(&QUIET.replace("true", "false"));
    assert_eq!(world.ask(conn, "HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n"), "");
    assert_eq!(world.closed.get(&conn).unwrap(), "Protocol Violation");
}

#[test]
fn random_bytes_never_do_worse_than_close() {
    let mut rng = frond_clock::Rng::seeded(3);
    let words: [&[u8]; 12] = [
        b"PUB ",
        b"SUB ",
        b"a ",
        b"1 ",
        b"\r\n",
        b"HPUB ",
        b"UNSUB ",
        b"PING",
        b"CONNECT {",
        b"}",
        b"\xff\x00",
        b"> ",
    ];
    let mut world = World::open_to_all();
    for _ in 0..2000 {
        let conn = world.quiet();
        for _ in 0..rng.below(30) {
            let word = words[rng.below(words.len() as u64) as usize];
            if world.say_bytes(conn, word) == Next::Never {
                break;
            }
        }
        world.broker.closed(world.now, conn, "Client Closed");
        world.drain();
        world.outputs.clear();
    }
    assert_eq!(world.broker.subscription_count(), 0);
    assert_eq!(world.broker.client_count(), 0);
}
