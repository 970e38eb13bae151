//! Counters: messages that say what to add become messages that say what it adds up to.
//!
//! spec: ADR-49; nats-server v2.15.1 server/stream.go `processJetStreamMsgWithBatch`

mod decimal;
mod total;

use frond_ledger::{Body, Seq};
use frond_wire::{Headers, Message, MessageBuf, go_json, headers};

use super::Stream;
use super::inflight::{Proposal, Proposed};
use crate::errors::{self, ApiError};
pub(crate) use decimal::Decimal;
use total::{ORIGINS, origins_in};
pub(crate) use total::{Total, Totals, Unknown, value_of};

const INCREMENT: &str = "Nats-Incr";

/// A counter's message as it is kept, and what it tells.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) message: MessageBuf,
    /// `None` when it tells nothing.
    pub(crate) total: Option<Total>,
}

impl Stream {
    /// Whether a publisher's message may count.
    pub(super) fn may_count(
        &self,
        message: &Message<'_>,
        headers: &Headers<'_>,
    ) -> Result<(), ApiError> {
        if increment(headers)?.is_none() {
            return Ok(());
        }
        if !self.config.allow_msg_counter {
            return Err(errors::MESSAGE_INCR_DISABLED);
        }
        if !message.payload.is_empty() {
            return Err(errors::MESSAGE_INCR_PAYLOAD);
        }
        let conditions = [
            "Nats-Rollup",
            "Nats-Expected-Stream",
            "Nats-Expected-Last-Msg-Id",
            "Nats-Expected-Last-Subject-Sequence-Subject",
            "Nats-Expected-Last-Sequence",
            "Nats-Expected-Last-Subject-Sequence",
        ];
        let is_set = |name: &str| headers.get(name).is_some_and(|it| !it.is_empty());
        if conditions.iter().any(|name| is_set(name)) {
            return Err(errors::MESSAGE_INCR_INVALID);
        }
        Ok(())
    }

    /// The message that must be read before one of `subject` can be counted.
    pub(crate) fn unread_counter(&self, subject: &str) -> Option<Seq> {
        if !self.config.allow_msg_counter {
            return None;
        }
        match self.total(subject) {
            Err(Unknown::Unread(seq)) => Some(seq),
            Ok(_) | Err(Unknown::Broken) => None,
        }
    }

    /// What the last message of a counter says, read back for it; `None` when it cannot be.
    pub(crate) fn learn_counter(&mut self, subject: &str, seq: Seq, body: Option<&Body>) {
        match body {
            Some(body) => self.totals.learn(seq, body),
            None => self.totals.lose(subject, seq),
        }
    }

    /// What is kept of a message that says what to add, or brings what it adds up to elsewhere.
    pub(super) fn counted(
        &self,
        message: &MessageBuf,
        subject: &str,
    ) -> Result<Option<Counted>, ApiError> {
        if !self.config.allow_msg_counter {
            return Ok(None);
        }
        let parts = message.message();
        let headers = Headers::new(parts.header);
        let added = added(&headers)?;
        let mut total = self
            .total(subject)
            .map_err(|_| errors::MESSAGE_COUNTER_BROKEN)?;
        let mut header = parts.header.to_vec();
        let added = match headers.get("Nats-Stream-Source") {
            Some(source) if !source.is_empty() => {
                let added = heard(&mut total, source, subject, parts.payload)?;
                headers::replace(&mut header, INCREMENT, &added.to_string());
                added
            }
            Some(_) | None => added,
        };
        total.value = total.value.add(&added);
        let value = total.value.to_string();
        if !total.origins.is_empty() {
            headers::replace(&mut header, ORIGINS, &go_json::to_string(&total.origins));
        }
        let total = if total.origins.is_empty() {
            // A publisher may have said something in place of ours.
            origins_in(&headers).map(|origins| Total { origins, ..total })
        } else {
            Some(total)
        };
        let payload = format!("{{\"val\":\"{value}\"}}");
        let message = MessageBuf::copy_of(&Message {
            header: &header,
            payload: payload.as_bytes(),
            ..parts
        });
        Ok(Some(Counted { message, total }))
    }

    /// What a subject adds up to with all that is on its way.
    fn total(&self, subject: &str) -> Result<Total, Unknown> {
        let on_its_way = self.inflight.of_subject(subject) > 0;
        let is_of = |p: &&Proposed| p.subject == subject.as_bytes();
        let newest = on_its_way.then(|| self.inflight.iter().rfind(is_of));
        if let Some(Proposed {
            seq,
            proposal: Proposal::Keep(body, _),
            ..
        }) = newest.flatten()
        {
            return match self.totals.find(subject, *seq) {
                Err(Unknown::Unread(_)) => {
                    Total::of(body.header(), body.payload()).ok_or(Unknown::Broken)
                }
                known => known.cloned(),
            };
        }
        match self.contents.subjects().find(subject) {
            None => Ok(Total::default()),
            Some(found) => self.totals.find(subject, found.last).cloned(),
        }
    }
}

/// What a counter's message adds.
pub(super) fn added(headers: &Headers<'_>) -> Result<Decimal, ApiError> {
    increment(headers)?.ok_or(errors::MESSAGE_INCR_MISSING)
}

fn increment(headers: &Headers<'_>) -> Result<Option<Decimal>, ApiError> {
    match headers.get(INCREMENT).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match Decimal::parse(text) {
            None => Err(errors::MESSAGE_INCR_INVALID),
            some => Ok(some),
        },
    }
}

/// What an origin's total adds to ours: the difference to what it said before.
fn heard(
    total: &mut Total,
    source: &str,
    subject: &str,
    payload: &[u8],
) -> Result<Decimal, ApiError> {
    let mut fields = source.split(' ');
    let origin = fields.next().unwrap_or_default();
    let there = fields.nth(3).unwrap_or(subject);
    let value = value_of(payload).ok_or(errors::MESSAGE_COUNTER_BROKEN)?;
    let of_origin = total.origins.entry(origin.to_owned()).or_default();
    let before = of_origin.insert(there.to_owned(), value.to_string());
    let before = before.and_then(|text| Decimal::parse(&text));
    Ok(value.sub(&before.unwrap_or_default()))
}
