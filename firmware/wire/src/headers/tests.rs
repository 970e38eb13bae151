use proptest::prelude::*;

use super::*;

#[test]
fn a_block_with_a_status() {
    let block = status(404, "No Messages");
    assert_eq!(block, b"NATS/1.0 404 No Messages\r\n\r\n");
    let headers = Headers::new(&block);
    assert_eq!(headers.status(), Some(404));
    assert_eq!(headers.description(), Some("No Messages"));
    assert_eq!(Headers::new(b"NATS/1.0\r\n\r\n").status(), None);
    assert_eq!(Headers::new(b"").description(), None);
    assert_eq!(
        Headers::new(b"NATS/1.0 503\r\n\r\n").description(),
        Some("")
    );
}

#[test]
fn no_responders_names_the_subject() {
    let block = no_responders("req");
    assert_eq!(block, b"NATS/1.0 503\r\nNats-Subject: req\r\n\r\n");
    assert_eq!(block.len(), 32 + 3);
    assert_eq!(Headers::new(&block).get("Nats-Subject"), Some("req"));
}

#[test]
fn keys_are_found_exactly_and_first() {
    let block =
        b"NATS/1.0\r\nxKey: no\r\nKeyx: no\r\nkey: no\r\nA: Key: no\r\nKey:   1 \r\nKey:2\r\n\r\n";
    let headers = Headers::new(block);
    assert_eq!(headers.get("Key"), Some("1 "));
    assert_eq!(headers.get("Ke"), None);
    assert_eq!(headers.get("NATS/1.0"), None);
    let keys: Vec<_> = headers.iter().collect();
    assert_eq!(keys.len(), 6);
    assert_eq!(keys[3], (&b"A"[..], &b"Key: no"[..]));
}

#[test]
fn removing_takes_every_line_of_a_key() {
    let mut block = b"NATS/1.0\r\nA: 1\r\nB: 2\r\nA: 3\r\n\r\n".to_vec();
    remove(&mut block, "A");
    assert_eq!(block, b"NATS/1.0\r\nB: 2\r\n\r\n");
    remove(&mut block, "B");
    assert_eq!(block, b"");
}

#[test]
fn a_value_cannot_forge_a_line() {
    let mut block = Vec::new();
    append(&mut block, "A", "x\r\nB: y");
    assert_eq!(Headers::new(&block).iter().count(), 1);
}

proptest! {
    #[test]
    fn the_last_set_value_is_read(
        lines in prop::collection::vec(("[A-C]{1,2}", "[a-z:][a-z: ]{0,6}"), 0..9),
    ) {
        let (mut block, mut model) = (Vec::new(), std::collections::BTreeMap::new());
        for (key, value) in &lines {
            set(&mut block, key, value);
            model.insert(key.as_str(), value.as_str());
        }
        for (key, value) in &model {
            prop_assert_eq!(Headers::new(&block).get(key), Some(*value));
        }
        prop_assert_eq!(Headers::new(&block).iter().count(), model.len());
    }

    #[test]
    fn any_bytes_are_survived(mut block in prop::collection::vec(any::<u8>(), 0..60), key in "[A-C]{0,2}") {
        let headers = Headers::new(&block);
        let _ = (headers.status(), headers.description(), headers.get(&key), headers.iter().count());
        remove(&mut block, &key);
        append(&mut block, &key, "x");
    }
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    let mut block = b"NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n".to_vec();
    replace(&mut block, "A", "x\r\ny");
    replace(&mut block, "C", "3");
    assert_eq!(block, b"NATS/1.0\r\nA: x  y\r\nB: 2\r\nC: 3\r\n\r\n");
}

#[test]
fn every_line_of_a_key_goes_and_only_those() {
    let mut block = b"NATS/1.0\r\nA: 1\r\nAB: A: 2\r\nA:\r\n A: 3\r\nA: 4\r\n\r\n".to_vec();
    remove(&mut block, "A");
    assert_eq!(block, b"NATS/1.0\r\nAB: A: 2\r\n A: 3\r\n\r\n");
    remove(&mut block, "C");
    assert_eq!(block, b"NATS/1.0\r\nAB: A: 2\r\n A: 3\r\n\r\n");
    // What comes after an empty line is no header.
    let mut block = b"NATS/1.0\r\nA: 1\r\n\r\nA: 2\r\n\r\n".to_vec();
    remove(&mut block, "A");
    assert_eq!(block, b"NATS/1.0\r\n\r\nA: 2\r\n\r\n");
    let mut only = b"NATS/1.0\r\nA: 1\r\nA: 2\r\n\r\n".to_vec();
    remove(&mut only, "A");
    assert_eq!(only, b"");
}
