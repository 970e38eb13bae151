//! Reads of what is being written: they wait until it is kept.
//!
//! A client that was told of one stream's message may ask at once for what that stream publishes
//! again into another: it is on its way to the disk, and shows only when it is there. The same
//! goes for who publishes without waiting for acks, flushes, and asks.

use frond_ledger::StreamId;

use crate::api::{Call, Endpoint};
use crate::host::Host;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::limits::PARKED_READS_MAX;
use crate::stream::{Behind, Stream};

/// A read that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    call: Call,
    /// The messages whose fate it waits for: the newest of each stream it is about.
    behind: Vec<(StreamId, Behind)>,
    read: Read,
}

/// How it asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// By `STREAM.MSG.GET` of the stream with this name.
    Api(Box<str>),
    /// By `DIRECT.GET` of the stream with this name, the subject at the end of its own.
    Direct(Box<str>, Option<Box<str>>),
    /// By another request, about a stream and what is in it.
    Request,
}

/// Which of the messages on their way a read is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About<'a> {
    /// Those of one subject.
    Subject(&'a str),
    /// All of them.
    All,
}

impl JetStream {
    /// Lets a read wait if what it is `about` is being written. False when it is to be answered
    /// now.
    pub(crate) fn park(&mut self, call: &Call, name: &str, about: About<'_>, read: Read) -> bool {
        let stream = self.find_stream(call.tenant, name).map(|host| &host.stream);
        let waits_for = stream.and_then(|stream| {
            let newest = match about {
                About::Subject(subject) => stream.on_its_way(subject),
                About::All => stream.newest_on_its_way(),
            };
            Some((stream.id, newest?))
        });
        self.park_behind(call, waits_for.into_iter().collect(), read)
    }

    /// Lets a request wait for what was published before it to the stream it is about, or to any
    /// of them when it is about all: nats-server has stored that when its publisher hears the
    /// answer to a ping. False when it is to be answered now.
    pub(crate) fn park_request(&mut self, call: &Call, endpoint: &Endpoint<'_>) -> bool {
        if matches!(endpoint, Endpoint::AccountInfo | Endpoint::StreamList) {
            let on_its_way = |stream: &Stream| Some((stream.id, stream.newest_on_its_way()?));
            let hosts = self.hosts.values().map(|host: &Host| &host.stream);
            let own = hosts.filter(|stream| stream.tenant == call.tenant);
            let behind = own.filter_map(on_its_way).collect();
            return self.park_behind(call, behind, Read::Request);
        }
        let (stream, _) = endpoint.scope();
        // It is about few messages, and waits for those.
        let is_get = matches!(endpoint, Endpoint::MessageGet(_));
        // What is in the stream does not matter to its end, but that overtakes nobody.
        let is_end =
            matches!(endpoint, Endpoint::StreamDelete(_)) && !self.has_parked(call, stream);
        !is_get && !is_end && self.park(call, stream, About::All, Read::Request)
    }

    /// Lets a pull that would be told that there are no messages wait for those on their way.
    /// False when it is to be answered now.
    pub(crate) fn park_pull(&mut self, call: &Call, stream: &str, consumer: &str) -> bool {
        let host = self.find_stream(call.tenant, stream);
        let host = host.filter(|host| host.stream.is_writing());
        let consumer = host.and_then(|host| host.consumer(consumer));
        consumer.is_some_and(|(_, consumer)| consumer.machine.has_nothing_for(call.body()))
            && self.park(call, stream, About::All, Read::Request)
    }

    /// Answers the reads whose message is kept, or will not be. False when there was none.
    pub(crate) fn unpark(&mut self, reach: &dyn Reach) -> bool {
        if self.parked.is_empty() {
            return false;
        }
        let hosts = &self.hosts;
        let stream = |id: StreamId| hosts.get(&id).map(|host| &host.stream);
        let goes_on = |parked: &mut Parked| {
            // Who had to wait for a turn waits for the disk then.
            for (id, behind) in &mut parked.behind {
                if let Behind::Taken(_) = *behind
                    && let Some(stream) = stream(*id).filter(|it| !it.waits_for(*behind))
                    && let Some(newest) = stream.newest_written()
                {
                    *behind = newest;
                }
            }
            let mut behind = parked.behind.iter();
            behind.any(|(id, behind)| stream(*id).is_some_and(|it| it.waits_for(*behind)))
        };
        let mut parked = std::mem::take(&mut self.parked);
        let ready: Vec<Parked> = parked.extract_if(.., |it| !goes_on(it)).collect();
        self.parked = parked;
        let has_ready = !ready.is_empty();
        for Parked { call, read, .. } in ready {
            match read {
                Read::Api(name) => {
                    let outcome = self.message_read(&call, &name);
                    self.conclude(&call, "stream_msg_get_response", outcome);
                }
                Read::Direct(name, subject) => {
                    self.direct_read(&call, &name, subject.as_deref());
                }
                Read::Request => self.ask_on(call, reach),
            }
        }
        has_ready
    }

    fn has_parked(&self, call: &Call, stream: &str) -> bool {
        let id = self.find_stream(call.tenant, stream).map(Host::id);
        let mut behind = self.parked.iter().flat_map(|parked| &parked.behind);
        behind.any(|(stream, _)| Some(*stream) == id)
    }

    fn park_behind(&mut self, call: &Call, behind: Vec<(StreamId, Behind)>, read: Read) -> bool {
        if behind.is_empty() || self.parked.len() >= PARKED_READS_MAX {
            return false;
        }
        self.parked.push(Parked {
            call: call.clone(),
            behind,
            read,
        });
        true
    }
}
