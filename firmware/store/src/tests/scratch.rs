//! A data directory for one test, and records to put in it.

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{
    Batch, Body, DiskFault, Fetched, Need, Query, Record, Recovered, Seq, StreamId, Ticket, commit,
};
use std::path::PathBuf;

use crate::{Disk, FileDisk, Options, Store};

pub(super) const S: StreamId = StreamId(1);

pub(super) struct Scratch {
    directory: tempfile::TempDir,
    opens: u64,
}

impl Scratch {
    pub(super) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            opens: 0,
        }
    }

    pub(super) fn options(&mut self) -> Options {
        self.opens += 1;
        small(self.opens)
    }

    pub(super) fn open(&mut self) -> (Store<FileDisk>, Recovered) {
        let options = self.options();
        Store::open(FileDisk::open(self.directory.path()).unwrap(), &options).unwrap()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn spoil(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path(name)).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(name), bytes).unwrap();
    }
}

pub(super) fn small(nonce: u64) -> Options {
    Options {
        journal_bytes: 256 * 1024,
        cache_bytes: 256 * 1024,
        reserve_bytes: 0,
        room_wait: core::time::Duration::ZERO,
        nonce,
        encryption: None,
    }
}

pub(super) fn body(text: &str) -> Body {
    let bytes = format!("orders.newID:{text}{text}");
    let id = 13..13 + text.len() as u32;
    Body::new(Bytes::from(bytes), 10, 3 + text.len() as u32, Some(id)).unwrap()
}

pub(super) fn put(seq: Seq, text: &str) -> Record {
    Record::Put {
        stream: S,
        seq,
        time: Timestamp::from_nanos(1_000 + seq as i64),
        body: body(text),
    }
}

pub(super) fn stream() -> Record {
    Record::Stream {
        stream: S,
        meta: Some(Bytes::from_static(b"S")),
    }
}

pub(super) fn write<D: Disk>(store: &mut Store<D>, records: Vec<Record>) -> Result<(), DiskFault> {
    let batch = Batch {
        ticket: Ticket(1),
        need: Need::Sync,
        records,
    };
    commit(&mut store.writer, &[batch]).map(|receipts| assert_eq!(receipts.len(), 1))
}

pub(super) fn ask<D: Disk>(store: &Store<D>, seqs: &[Seq], again: Option<u32>) -> Fetched {
    store.reader.fetch(&Query {
        stream: S,
        seqs: seqs.to_vec(),
        again,
    })
}

/// Until nothing is left that may come, as far as the medium is there at all.
pub(super) fn fetch<D: Disk>(store: &Store<D>, seqs: &[Seq]) -> Fetched {
    let mut fetched = ask(store, seqs, None);
    while fetched.tries > 0 {
        let rest = ask(store, &fetched.unread, Some(fetched.tries));
        fetched.messages.extend(rest.messages);
        fetched.missing.extend(rest.missing);
        (fetched.unread, fetched.tries) = (rest.unread, rest.tries);
    }
    fetched.missing.sort_unstable();
    fetched
}

pub(super) fn seqs(recovered: &Recovered) -> Vec<Seq> {
    let stream = recovered.streams.iter().find(|stream| stream.stream == S);
    stream.map_or_else(Vec::new, |stream| {
        stream.heads.iter().map(|(head, _)| head.seq).collect()
    })
}
