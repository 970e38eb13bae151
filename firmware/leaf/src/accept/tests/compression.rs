use frond_broker::{Compression, Link as _};
use frond_wire::ServerInfo;

use super::{CONNECT, attached, greeted, listener};
use crate::Accept;
use crate::testing::{Mock, accepted, at, feed, wake};

/// Who agreed on nothing is called what the peer calls it.
#[test]
fn a_leaf_that_knows_no_compression_is_shown_so() {
    for (word, shown) in [
        ("not supported", "not supported"),
        ("off", "off"),
        ("", "not supported"),
    ] {
        let (link, _) = attached(&CONNECT.replace("\"off\"", &format!("{word:?}")), None, &[]);
        assert_eq!(link.status().compression, shown, "{word}");
    }
}

#[test]
fn a_leaf_that_wants_frames_is_greeted_again_in_them() {
    let mut listener = listener();
    listener.compression = Compression::auto();
    let (mut link, mut up, greeting) = greeted(listener);
    let first = ServerInfo::parse(greeting.strip_prefix("INFO ").unwrap().as_bytes()).unwrap();
    assert_eq!(first.compression, "s2_auto");
    let wish = "INFO {\"client_id\":6,\"compression\":\"s2_fast\"}\r\n";
    feed(&mut link, &mut up, at(20), wish);
    assert_eq!(up.asked(), ["pack s2_fast after 0"]);
    let again = up.said();
    assert_eq!(again, greeting);
    feed(&mut link, &mut up, at(21), wish);
    assert_eq!(up.said(), "-ERR 'Authorization Violation'\r\n");
}

#[test]
fn the_way_becomes_longer_and_more_is_done() {
    let mut listener = listener();
    listener.compression = Compression::auto();
    let (mut link, mut up, _) = greeted(listener);
    feed(
        &mut link,
        &mut up,
        at(1),
        "INFO {\"compression\":\"accept\"}\r\n",
    );
    feed(&mut link, &mut up, at(2), &format!("{CONNECT}\r\n"));
    link.authenticated(at(2), accepted(None), &mut up);
    assert_eq!(link.status().compression, "s2_uncompressed");
    up.asked();
    let asked = wake(&mut link, &mut up);
    let late = at(asked.mono.as_nanos() / 1_000_000 + 60);
    feed(&mut link, &mut up, late, "PONG\r\n");
    assert_eq!(up.asked().len(), 1);
    assert_eq!(link.status().compression, "s2_better");
}

#[test]
fn what_its_websocket_compresses_is_not_compressed_twice() {
    let mut up = Mock::new("hub1");
    up.deflated = true;
    let mut listener = listener();
    listener.compression = Compression::auto();
    let mut link = Accept::new(listener, 6);
    link.opened(at(0), &mut up);
    assert!(!up.said().contains("\"compression\""));
}
