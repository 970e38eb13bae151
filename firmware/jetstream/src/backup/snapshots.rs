//! A backup is read, packed and sent, as fast as its taker acknowledges it.
//!
//! spec: nats-server v2.15.1 server/jetstream_api.go `streamSnapshot`

use std::time::Duration;

use frond_ledger::{Body, Fetched, Seq};
use frond_wire::{Message, MessageBuf};

use super::advisory::Event;
use super::snapshot::{Job, Snapshot, SnapshotId, Source, Taker};
use crate::consumer::{Messages, Resident};
use crate::fetches::Purpose;
use crate::io::{Level, Reach, Tenant};
use crate::jetstream::{Alarm, JetStream};
use crate::limits::{FETCH_MESSAGES_MAX, INTEREST_MS, READ_BYTES, SNAPSHOT_ACK_MS};
use crate::stream::view::StreamView;

/// What is next of the stream.
enum Next {
    /// These are in memory.
    Here(Vec<(Seq, Body)>),
    /// These have to be read.
    OnDisk(Vec<Seq>),
    Nothing,
}

/// How a backup ends.
enum End {
    /// With everything.
    Whole,
    /// With everything that can be read: what is lost must not keep the rest from being saved.
    Lacking(String),
    /// Where it is: the status, and why.
    Cut(String, String),
}

impl End {
    fn cut(status: &str, why: &str) -> Self {
        Self::Cut(status.to_owned(), why.to_owned())
    }

    fn error(&self) -> Option<&str> {
        match self {
            Self::Whole => None,
            Self::Lacking(why) | Self::Cut(_, why) => Some(why),
        }
    }
}

impl JetStream {
    /// Somebody has taken a chunk.
    pub(crate) fn snapshot_acked(&mut self, id: SnapshotId, reach: &dyn Reach) {
        if let Some(Job::Send(sending)) = self.backups.snapshots.get_mut(&id).map(|s| &mut s.job) {
            sending.slots = (sending.slots + 1).min(sending.window);
        }
        self.push_snapshot(id, reach);
    }

    /// Those who take backups came or left.
    pub(crate) fn takers_changed(&mut self, tenant: Tenant, filter: &str, reach: &dyn Reach) {
        let now = self.now.mono;
        let until = now + Duration::from_millis(SNAPSHOT_ACK_MS);
        let mut come = Vec::new();
        let mut gone = Vec::new();
        for (id, snapshot) in &mut self.backups.snapshots {
            let Job::Send(sending) = &mut snapshot.job else {
                continue;
            };
            if snapshot.tenant != tenant || filter != sending.deliver.as_ref() {
                continue;
            }
            match (sending.taker, reach.has_subscription(tenant, filter)) {
                (Taker::Expected(_), true) => {
                    sending.taker = Taker::Listening(until);
                    come.push(*id);
                }
                (Taker::Listening(_), false) => gone.push(*id),
                (Taker::Expected(_), false) | (Taker::Listening(_), true) => {}
            }
        }
        for id in come {
            self.timers.set(Alarm::Snapshot(id), until);
            self.push_snapshot(id, reach);
        }
        for id in gone {
            self.end_snapshot(id, End::cut("408 No Interest", "no interest"), reach);
        }
    }

    /// Nobody came, or nobody answered, for long.
    pub(crate) fn snapshot_waited(&mut self, id: SnapshotId, reach: &dyn Reach) {
        let now = self.now.mono;
        let Some(Job::Send(sending)) = self.backups.snapshots.get_mut(&id).map(|s| &mut s.job)
        else {
            return;
        };
        match sending.taker {
            Taker::Expected(_) => {
                let more = Duration::from_millis(SNAPSHOT_ACK_MS - INTEREST_MS);
                sending.taker = Taker::Listening(now + more);
                self.timers.set(Alarm::Snapshot(id), now + more);
                self.push_snapshot(id, reach);
            }
            // It has taken everything there was: the disk is what is slow.
            Taker::Listening(_) if sending.slots > 0 => {
                let until = now + Duration::from_millis(SNAPSHOT_ACK_MS);
                sending.taker = Taker::Listening(until);
                self.timers.set(Alarm::Snapshot(id), until);
            }
            Taker::Listening(_) => {
                let end = End::cut("408 No Flow Response", "no flow response");
                self.end_snapshot(id, end, reach);
            }
        }
    }

    /// Messages were read for a backup.
    pub(crate) fn snapshot_read(&mut self, id: SnapshotId, fetched: &Fetched, reach: &dyn Reach) {
        let Some(snapshot) = self.backups.snapshots.get_mut(&id) else {
            return;
        };
        snapshot.source = Source::Ready;
        if let Job::Send(sending) = &mut snapshot.job {
            for stored in &fetched.messages {
                let (time, body) = (stored.time.as_nanos(), &stored.body);
                let writer = &mut sending.writer;
                let (subject, header) = (body.subject(), body.header());
                writer.message(stored.seq, time, subject, header, body.payload());
            }
        }
        // What was deleted meanwhile is no loss.
        let host = self.hosts.get(&snapshot.stream);
        let is_there =
            |seq: &&Seq| host.is_some_and(|host| host.stream.contents.slot(**seq).is_some());
        for seq in fetched.missing.iter().filter(is_there) {
            snapshot.unread.add(*seq);
        }
        self.push_snapshot(id, reach);
    }

    /// Reads and sends until the disk or the taker has to be waited for.
    pub(super) fn push_snapshot(&mut self, id: SnapshotId, reach: &dyn Reach) {
        loop {
            let now = self.now.mono;
            let Some(snapshot) = self.backups.snapshots.get_mut(&id) else {
                return;
            };
            let is_dry = snapshot.source == Source::Dry;
            let sending = match &mut snapshot.job {
                Job::Check { .. } if is_dry => return self.snapshot_checked(id, reach),
                Job::Check { .. } => {
                    if !self.read_for_snapshot(id) {
                        return;
                    }
                    continue;
                }
                Job::Send(sending) => sending,
            };
            if sending.slots == 0 || !sending.is_open(now) {
                return;
            }
            let is_full = sending.writer.ready() >= sending.chunk_bytes;
            let is_there = self.hosts.contains_key(&snapshot.stream);
            match (is_full, is_dry, is_there) {
                (true, _, _) => self.send_chunk(id),
                (false, true, _) => {
                    let lacking = snapshot.unread.words().map(End::Lacking);
                    return self.end_snapshot(id, lacking.unwrap_or(End::Whole), reach);
                }
                (false, false, true) => {
                    if !self.read_for_snapshot(id) {
                        return;
                    }
                }
                (false, false, false) => {
                    let next = snapshot.next;
                    let text =
                        format!("couldn't load next message after seq {next}: store is closed");
                    let status = format!("500 {text}");
                    return self.end_snapshot(id, End::Cut(status, text), reach);
                }
            }
        }
    }

    /// Takes what is next of the stream; false when the disk has to be waited for.
    fn read_for_snapshot(&mut self, id: SnapshotId) -> bool {
        let Some(snapshot) = self.backups.snapshots.get_mut(&id) else {
            return false;
        };
        if snapshot.source == Source::Reading {
            return false;
        }
        let Some(host) = self.hosts.get(&snapshot.stream) else {
            snapshot.source = Source::Dry;
            return true;
        };
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        match next(snapshot, &view) {
            Next::Here(messages) => {
                let Job::Send(sending) = &mut snapshot.job else {
                    return true;
                };
                for (seq, body) in messages {
                    let time = view.head(seq).map(|head| head.time).unwrap_or_default();
                    let (subject, header) = (body.subject(), body.header());
                    let (writer, payload) = (&mut sending.writer, body.payload());
                    writer.message(seq, time.as_nanos(), subject, header, payload);
                }
                true
            }
            Next::OnDisk(seqs) => {
                snapshot.source = Source::Reading;
                let stream = snapshot.stream;
                self.fetch(stream, seqs, Purpose::Snapshot(id));
                false
            }
            Next::Nothing => {
                snapshot.source = Source::Dry;
                if let Job::Send(sending) = &mut snapshot.job {
                    sending.writer.end();
                }
                true
            }
        }
    }

    fn send_chunk(&mut self, id: SnapshotId) {
        let until = self.now.mono + Duration::from_millis(SNAPSHOT_ACK_MS);
        let Some(snapshot) = self.backups.snapshots.get_mut(&id) else {
            return;
        };
        let Job::Send(sending) = &mut snapshot.job else {
            return;
        };
        sending.slots -= 1;
        sending.sent += 1;
        sending.taker = Taker::Listening(until);
        let chunk = sending.writer.take(sending.chunk_bytes);
        let reply = format!("{}.{}.{}", sending.ack, chunk.len(), sending.sent);
        let message = MessageBuf::copy_of(&Message {
            subject: &sending.deliver,
            reply: Some(&reply),
            header: b"",
            payload: &chunk,
        });
        let tenant = snapshot.tenant;
        self.timers.set(Alarm::Snapshot(id), until);
        self.publish(tenant, message);
    }

    /// What is left and the end are sent; or only why it ends early.
    fn end_snapshot(&mut self, id: SnapshotId, end: End, reach: &dyn Reach) {
        self.timers.cancel(&Alarm::Snapshot(id));
        let Some(snapshot) = self.backups.snapshots.remove(&id) else {
            return;
        };
        let Job::Send(mut sending) = snapshot.job else {
            return;
        };
        let (tenant, name) = (snapshot.tenant, &snapshot.name);
        let message = |header: &[u8], payload: &[u8]| {
            MessageBuf::copy_of(&Message {
                subject: &sending.deliver,
                reply: None,
                header,
                payload,
            })
        };
        let mut last = Vec::new();
        let header = match &end {
            End::Cut(status, _) => format!("NATS/1.0 {status}\r\n\r\n"),
            End::Lacking(why) => format!("NATS/1.0 500 {why}\r\n\r\n"),
            End::Whole if sending.sent > 0 => "NATS/1.0 204\r\n\r\n".to_owned(),
            End::Whole => String::new(),
        };
        if !matches!(end, End::Cut(..)) && sending.writer.ready() > 0 {
            last = sending.writer.take(usize::MAX / 2);
        }
        let mut messages = Vec::new();
        if !last.is_empty() {
            messages.push(message(b"", &last));
        }
        messages.push(message(header.as_bytes(), b""));
        for message in messages {
            self.publish(tenant, message);
        }
        self.unsubscribe(tenant, sending.ack_sub);
        match end.error() {
            Some(text) => {
                let text = format!("snapshot of stream {name} failed: {text}");
                self.log(Level::Warn, text);
            }
            None => self.log(Level::Info, format!("completed snapshot of stream {name}")),
        }
        let start = sending.started;
        let error = end.error().unwrap_or_default().to_owned();
        let event = Event::SnapshotEnded { start, error };
        self.tell_backup(tenant, name, &event, sending.asker.as_deref(), reach);
    }
}

/// The next messages, as many as are read at once: all in memory or all not.
fn next(snapshot: &mut Snapshot, view: &StreamView<'_>) -> Next {
    let mut here = Vec::new();
    let mut on_disk = Vec::new();
    let mut bytes = 0;
    while let Some(seq) = view
        .next(snapshot.next, &[])
        .filter(|seq| *seq <= snapshot.upto)
    {
        if bytes >= READ_BYTES || here.len().max(on_disk.len()) >= FETCH_MESSAGES_MAX {
            break;
        }
        match view.body(seq) {
            Resident::Here(body) if on_disk.is_empty() => here.push((seq, body)),
            Resident::OnDisk if here.is_empty() => on_disk.push(seq),
            Resident::Here(_) | Resident::OnDisk => break,
            Resident::Gone => snapshot.unread.add(seq),
        }
        bytes += view.head(seq).map_or(0, |head| head.bytes as usize);
        snapshot.next = seq + 1;
    }
    match (here.is_empty(), on_disk.is_empty()) {
        (false, _) => Next::Here(here),
        (_, false) => Next::OnDisk(on_disk),
        (true, true)
            if view
                .next(snapshot.next, &[])
                .is_some_and(|s| s <= snapshot.upto) =>
        {
            Next::Here(here)
        }
        (true, true) => Next::Nothing,
    }
}
