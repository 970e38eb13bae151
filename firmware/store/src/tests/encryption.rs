//! Nothing of a customer lies in the clear, and keys change without a message lost.

use std::collections::BTreeMap;

use bytes::Bytes;
use frond_ledger::{ConsumerId, Record, Recovered};

use super::scratch::{S, Scratch, body, fetch, put, seqs, stream, write};
use crate::{Cipher, Encryption, FileDisk, Secret, Store, StoreError};

const SECRETS: [&str; 7] = [
    "orders.new",
    "payload-",
    "STREAM-NAME",
    "CONSUMER-NAME",
    "VALUE-NAME",
    "VALUE-TEXT",
    "STATE-",
];

fn key(cipher: Cipher, key: &str, previous: Option<&str>) -> Option<Encryption> {
    Some(Encryption {
        cipher,
        key: Secret::new(key.as_bytes()),
        previous: previous.map(|key| Secret::new(key.as_bytes())),
    })
}

fn open(
    scratch: &mut Scratch,
    encryption: Option<Encryption>,
) -> Result<(Store<FileDisk>, Recovered), StoreError> {
    let mut options = scratch.options();
    options.encryption = encryption;
    let disk = FileDisk::open(scratch.path("").as_path()).unwrap();
    Store::open(disk, &options)
}

fn records() -> Vec<Record> {
    let consumer = ConsumerId(1);
    let text = Bytes::from_static;
    let mut records = vec![
        Record::Stream {
            stream: S,
            meta: Some(text(b"STREAM-NAME")),
        },
        Record::Consumer {
            stream: S,
            consumer,
            meta: Some(text(b"CONSUMER-NAME")),
        },
        Record::ConsumerState {
            stream: S,
            consumer,
            state: text(b"STATE-1"),
        },
        Record::ConsumerChange {
            stream: S,
            consumer,
            change: text(b"STATE-2"),
        },
        Record::Value {
            key: Box::from("VALUE-NAME"),
            value: Some(text(b"VALUE-TEXT")),
        },
    ];
    records.extend((1..=400).map(|seq| put(seq, &format!("payload-{seq}"))));
    records
}

/// Everything in the store, some of it in the block store and some in the journal.
fn fill(store: &mut Store<FileDisk>) {
    write(store, records()).unwrap();
    store.checkpointer.checkpoint().unwrap();
    write(
        store,
        (401..=410)
            .map(|seq| put(seq, &format!("payload-{seq}")))
            .collect(),
    )
    .unwrap();
}

fn assert_all_there(store: &Store<FileDisk>, recovered: &Recovered) {
    assert_eq!(recovered.damage, []);
    assert_eq!(seqs(recovered), (1..=410).collect::<Vec<_>>());
    let stream = &recovered.streams[0];
    assert_eq!(stream.meta, "STREAM-NAME");
    assert_eq!(stream.consumers[0].meta, "CONSUMER-NAME");
    assert_eq!(
        stream.consumers[0].state,
        Some(Bytes::from_static(b"STATE-1"))
    );
    assert_eq!(recovered.values["VALUE-NAME"], "VALUE-TEXT");
    for seq in [1, 200, 400, 405] {
        let found = fetch(store, &[seq]).messages;
        assert_eq!(found[0].body, body(&format!("payload-{seq}")), "{seq}");
    }
}

fn files(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(scratch.path("")).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// The secrets that lie in the clear, and where.
fn in_the_clear(scratch: &Scratch) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (name, bytes) in files(scratch) {
        for secret in SECRETS {
            let mut windows = bytes.windows(secret.len());
            if windows.any(|window| window == secret.as_bytes()) {
                found.push((name.clone(), secret));
            }
        }
    }
    found
}

#[test]
fn nothing_of_a_customer_is_in_any_file() {
    for cipher in [Cipher::ChaCha, Cipher::Aes] {
        let mut scratch = Scratch::new();
        let (mut store, _) = open(&mut scratch, key(cipher, "a", None)).unwrap();
        fill(&mut store);
        assert_eq!(in_the_clear(&scratch), []);
        drop(store);
        let (store, recovered) = open(&mut scratch, key(cipher, "a", None)).unwrap();
        assert_all_there(&store, &recovered);
        assert!(files(&scratch).contains_key("names.2"));
        assert_eq!(in_the_clear(&scratch), []);
    }
}

#[test]
fn the_same_without_a_key_finds_all_of_it() {
    let mut scratch = Scratch::new();
    let (mut store, _) = open(&mut scratch, None).unwrap();
    fill(&mut store);
    let found: std::collections::BTreeSet<_> = in_the_clear(&scratch)
        .into_iter()
        .map(|(_, secret)| secret)
        .collect();
    assert_eq!(found.len(), SECRETS.len(), "the test above can fail");
}

#[test]
fn a_store_in_the_clear_is_encrypted_at_the_start() {
    let mut scratch = Scratch::new();
    let (mut store, _) = open(&mut scratch, None).unwrap();
    fill(&mut store);
    drop(store);
    let (store, recovered) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    assert_all_there(&store, &recovered);
    assert_eq!(in_the_clear(&scratch), []);
}

#[test]
fn keys_and_ciphers_change_and_the_old_ones_are_spent() {
    let mut scratch = Scratch::new();
    let (mut store, _) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    fill(&mut store);
    drop(store);
    let steps = [
        key(Cipher::ChaCha, "b", Some("a")),
        key(Cipher::Aes, "b", Some("a")),
        key(Cipher::Aes, "c", Some("b")),
        key(Cipher::Aes, "c", None),
    ];
    for step in steps {
        let (store, recovered) = open(&mut scratch, step).unwrap();
        assert_all_there(&store, &recovered);
    }
    for spent in ["a", "b"] {
        let refused = open(&mut scratch, key(Cipher::Aes, spent, None)).unwrap_err();
        assert!(matches!(refused, StoreError::WrongKey { .. }), "{refused}");
    }
}

#[test]
fn a_wrong_key_and_none_are_refused_and_change_nothing() {
    let mut scratch = Scratch::new();
    let (mut store, _) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    fill(&mut store);
    drop(store);
    let before = files(&scratch);
    for wrong in [
        key(Cipher::ChaCha, "b", None),
        key(Cipher::Aes, "b", Some("c")),
    ] {
        let refused = open(&mut scratch, wrong).unwrap_err().to_string();
        assert!(refused.contains("error decrypting"), "{refused}");
        assert!(refused.contains("prev_key"), "{refused}");
    }
    let refused = open(&mut scratch, None).unwrap_err().to_string();
    assert!(refused.contains("encryption not enabled"), "{refused}");
    assert!(files(&scratch) == before, "something was changed");
    let (store, recovered) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    assert_all_there(&store, &recovered);
}

#[test]
fn any_flipped_byte_of_a_frame_is_found() {
    let mut scratch = Scratch::new();
    let (mut store, _) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    write(&mut store, vec![stream(), put(1, "one")]).unwrap();
    write(&mut store, vec![put(2, "two")]).unwrap();
    write(&mut store, vec![put(3, "three")]).unwrap();
    drop(store);
    // The second frame; after its header and its batch's.
    scratch.spoil("journal", |bytes| bytes[3 * 4096 + 50] ^= 1);
    let (_, recovered) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    assert_eq!(seqs(&recovered), [1, 3]);
    assert_eq!(recovered.streams[0].lost, [2]);
}

#[test]
fn a_lone_small_message_still_takes_one_page() {
    let mut scratch = Scratch::new();
    let (mut store, _) = open(&mut scratch, key(Cipher::ChaCha, "a", None)).unwrap();
    write(&mut store, vec![stream()]).unwrap();
    let before = store.reader.counts();
    write(&mut store, vec![put(1, "one")]).unwrap();
    let after = store.reader.counts();
    assert_eq!(after.journal_bytes - before.journal_bytes, 4096);
    assert_eq!(after.syncs - before.syncs, 1);
}
