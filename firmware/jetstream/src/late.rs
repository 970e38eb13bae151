//! Messages that one message or one request removes, when they are too many for one batch.

use frond_ledger::{DiskFault, Record, Seq, StreamId};
use frond_wire::MessageBuf;

use crate::jetstream::JetStream;
use crate::limits::DROPS_TOGETHER_MAX;
use crate::pending::Pending;
use crate::publish::{failure, refusal};
use crate::stream::inflight::Asker;

/// What a message that is kept has removed, and the disk does not know yet.
#[derive(Debug)]
pub(crate) struct Late {
    stream: StreamId,
    /// What the disk was asked for last.
    asked: Vec<Record>,
    /// What comes after.
    rest: Vec<Record>,
    /// What is answered when it knows all of it.
    answers: Vec<MessageBuf>,
    /// The parts of fast batches whose publishers hear of them then.
    parts: Vec<(Asker, Seq)>,
}

impl Late {
    /// Nothing of it asked for yet.
    pub(crate) const fn new(stream: StreamId, rest: Vec<Record>) -> Self {
        Self {
            stream,
            asked: Vec::new(),
            rest,
            answers: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// This is answered when the disk knows all of it.
    pub(crate) fn answer(&mut self, answer: MessageBuf) {
        self.answers.push(answer);
    }

    /// This part of a fast batch is told then.
    pub(crate) fn tell(&mut self, asker: Asker, seq: Seq) {
        self.parts.push((asker, seq));
    }

    /// What a later message removed is done with this.
    pub(crate) fn join(&mut self, later: Self) {
        self.rest.extend(later.rest);
        self.answers.extend(later.answers);
        self.parts.extend(later.parts);
    }
}

impl JetStream {
    /// The next part goes to the disk; after the last one the publishers hear of it.
    pub(crate) fn drop_late(&mut self, mut late: Late) {
        let Some(host) = self.hosts.get(&late.stream) else {
            return;
        };
        let (group, tenant) = (host.stream.group(), host.stream.tenant);
        if late.rest.is_empty() {
            for answer in late.answers {
                self.publish(tenant, answer);
            }
            for (asker, seq) in &late.parts {
                let host = self.hosts.get(&late.stream);
                if let Some(kept) = host.and_then(|host| host.stream.kept(*seq)) {
                    self.fast_kept(late.stream, asker, &kept);
                }
            }
            return;
        }
        let after = late.rest.split_off(late.rest.len().min(DROPS_TOGETHER_MAX));
        late.asked = std::mem::replace(&mut late.rest, after);
        let records = late.asked.clone();
        // A node that does not decide has no publishers to answer.
        let _ = self
            .journal
            .propose(self.now, group, records, Pending::Late(Box::new(late)));
    }

    /// The disk refused a part: those messages are gone here, and there as soon as it can.
    pub(crate) fn late_failed(&mut self, late: Late, fault: &DiskFault) {
        for record in late.asked.into_iter().chain(late.rest) {
            self.journal.soon(self.now.mono, record);
        }
        let Some(host) = self.hosts.get(&late.stream) else {
            return;
        };
        let (tenant, name) = (host.stream.tenant, host.stream.config.name.clone());
        let (_, error) = failure(fault);
        for answer in &late.answers {
            self.send_json(tenant, answer.subject(), refusal(&name, &error));
        }
        for (asker, _) in &late.parts {
            self.fast_failed(late.stream, asker, &error);
        }
    }
}
