//! Reads of what is being written: they wait until it is kept.
//!
//! A client that was told of one stream's message may ask at once for what that stream publishes
//! again into another: it is on its way to the disk, and shows only when it is there.

use frond_ledger::{Seq, StreamId};

use crate::api::Call;
use crate::jetstream::JetStream;
use crate::limits::PARKED_READS_MAX;

/// A read that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    call: Call,
    stream: StreamId,
    seq: Seq,
    read: Read,
}

/// How it asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// By `STREAM.MSG.GET` of the stream with this name.
    Api(Box<str>),
    /// By `DIRECT.GET` of the stream with this name, the subject at the end of its own.
    Direct(Box<str>, Option<Box<str>>),
}

impl JetStream {
    /// Lets a read of the last message of `subject` wait if that is being written. False when it
    /// is to be answered now.
    pub(crate) fn park(&mut self, call: &Call, name: &str, subject: &str, read: Read) -> bool {
        if subject.is_empty() || self.parked.len() >= PARKED_READS_MAX {
            return false;
        }
        let stream = self.find_stream(call.tenant, name).map(|host| &host.stream);
        let waits_for = stream.and_then(|stream| Some((stream.id, stream.on_its_way(subject)?)));
        let Some((stream, seq)) = waits_for else {
            return false;
        };
        self.parked.push(Parked {
            call: call.clone(),
            stream,
            seq,
            read,
        });
        true
    }

    /// Answers the reads whose message is kept, or will not be.
    pub(crate) fn unpark(&mut self) {
        if self.parked.is_empty() {
            return;
        }
        let hosts = &self.hosts;
        let (waiting, ready): (Vec<Parked>, Vec<Parked>) = std::mem::take(&mut self.parked)
            .into_iter()
            .partition(|parked| {
                let host = hosts.get(&parked.stream);
                host.is_some_and(|host| host.stream.waits_for(parked.seq))
            });
        self.parked = waiting;
        for Parked { call, read, .. } in ready {
            match read {
                Read::Api(name) => {
                    let outcome = self.message_read(&call, &name);
                    self.conclude(&call, "stream_msg_get_response", outcome);
                }
                Read::Direct(name, subject) => {
                    self.direct_read(&call, &name, subject.as_deref());
                }
            }
        }
    }
}
