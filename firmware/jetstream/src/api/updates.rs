//! `STREAM.UPDATE` and `STREAM.PURGE`.

use frond_ledger::{Record, Seq, StreamId};
use frond_wire::go_json;

use super::json::{flexible_object, request};
use super::{Call, Outcome};
use crate::errors::{self, ApiError};
use crate::host::Host;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::pending::What;
use crate::stream::config::StreamConfig;
use crate::stream::decode::stream_config;
use crate::stream::retention::Purge;
use crate::stream::{recover, update, validate};

impl JetStream {
    pub(super) fn stream_update(&mut self, call: &Call, name: &str, reach: &dyn Reach) -> Outcome {
        let asked = stream_config(call.body(), self.facts.strict)?;
        let mut config = asked.config;
        validate::name(&config.name)?;
        if config.name != name {
            return Err(errors::STREAM_MISMATCH);
        }
        self.bound_window(&mut config, asked.pedantic)?;
        let Some(host) = self.find_stream(call.tenant, name) else {
            validate::normalise(&mut config, asked.pedantic)?;
            self.check_size(call.tenant, &config)?;
            return Err(errors::STREAM_NOT_FOUND);
        };
        let (id, group) = (host.id(), host.stream.group());
        let is_memory = host.stream.is_memory();
        let created = host.stream.created;
        let old = host.stream.config.clone();
        if config.sealed && !config.deny_purge {
            // What a sealed stream implies must not trip over what is asked beside it.
            config.allow_rollup_hdrs = false;
        }
        validate::normalise(&mut config, asked.pedantic)?;
        validate::copies(&config)?;
        update::update(&old, &mut config)?;
        violates_consumers(host, &config)?;
        self.inherit(call.tenant, &mut config, asked.pedantic)?;
        self.check_size(call.tenant, &config)?;
        self.check_room(call.tenant, Some(&old), &config)?;
        self.check_overlap(call.tenant, name, &config)?;
        let account = self.accounts.get(&call.tenant).ok_or(errors::NO_ACCOUNT)?;
        let meta = recover::encode(&account.name, created, &config);
        let change = self.change(call, id, What::UpdateStream(Box::new(config)), name, "");
        if is_memory {
            self.changed(change, reach);
            return Ok(None);
        }
        let records = vec![Record::Stream {
            stream: id,
            meta: Some(meta),
        }];
        self.propose_change(group, records, change)
    }

    pub(super) fn stream_purge(&mut self, call: &Call, name: &str, reach: &dyn Reach) -> Outcome {
        let purge = purge_request(call.body(), self.facts.strict)?;
        let host = self
            .find_stream(call.tenant, name)
            .ok_or(errors::STREAM_NOT_FOUND)?;
        if host.stream.config.sealed {
            return Err(errors::STREAM_SEALED);
        }
        if host.stream.config.deny_purge {
            return Err(errors::STREAM_PURGE_FAILED.with("err", "stream purge not permitted"));
        }
        let (id, group) = (host.id(), host.stream.group());
        let is_memory = host.stream.is_memory();
        let seqs = host.stream.purged(&purge);
        let floor = host.stream.purged_below(&purge);
        if seqs.is_empty() && floor.is_none() {
            return Ok(Some(purged(0)));
        }
        let records = purge_records(host, id, &purge, &seqs, floor);
        let change = self.change(call, id, What::Purge(seqs, floor), name, "");
        if is_memory {
            self.changed(change, reach);
            return Ok(None);
        }
        self.propose_change(group, records, change)
    }
}

/// The answer to a purge.
pub(super) fn purged(count: u64) -> Vec<u8> {
    let kind = go_json::to_string(&"io.nats.jetstream.api.v1.stream_purge_response");
    format!("{{\"type\":{kind},\"success\":true,\"purged\":{count}}}").into_bytes()
}

fn purge_request(body: &[u8], is_strict: bool) -> Result<Purge, ApiError> {
    let mut purge = Purge::default();
    let of = "JSApiStreamPurgeRequest";
    request(flexible_object(body), of, is_strict, |name, field| {
        match name {
            "seq" => purge.below = Some(field.uint64()?).filter(|seq| *seq > 0),
            "filter" => purge.filter = Some(field.string()?.into()).filter(is_set),
            "keep" => purge.keep = field.uint64()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if purge.below.is_some() && purge.keep > 0 {
        return Err(errors::BAD_REQUEST);
    }
    Ok(purge)
}

#[expect(clippy::borrowed_box, reason = "as Option::filter passes it")]
fn is_set(text: &Box<str>) -> bool {
    !text.is_empty()
}

/// A purge without filter moves the floor; one with a filter drops ranges.
fn purge_records(
    host: &Host,
    id: StreamId,
    purge: &Purge,
    seqs: &[Seq],
    floor: Option<Seq>,
) -> Vec<Record> {
    let contents = &host.stream.contents;
    if let Some(first) = floor {
        return vec![Record::Floor {
            stream: id,
            first,
            last: first - 1,
        }];
    }
    if purge.filter.is_none() {
        let after = seqs.last().copied().unwrap_or(0) + 1;
        let first = contents
            .next(after, &[])
            .unwrap_or_else(|| contents.last() + 1);
        return vec![Record::Floor {
            stream: id,
            first,
            last: contents.last(),
        }];
    }
    let mut ranges: Vec<(Seq, Seq)> = Vec::new();
    for &seq in seqs {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == seq => *last = seq,
            Some(_) | None => ranges.push((seq, seq)),
        }
    }
    ranges
        .into_iter()
        .map(|(first, last)| Record::Drop {
            stream: id,
            first,
            last,
        })
        .collect()
}

/// Whether lower bounds for consumers would break those that exist.
fn violates_consumers(host: &Host, config: &StreamConfig) -> Result<(), ApiError> {
    let limits = config.consumer_limits;
    let breaks = |wanted: i64, bound: i64| bound > 0 && (wanted > bound || wanted <= 0);
    let names: Vec<&str> = host
        .consumers
        .values()
        .map(|attached| &attached.machine)
        .filter(|machine| {
            let consumer = machine.config();
            breaks(consumer.inactive_threshold, limits.inactive_threshold)
                || breaks(consumer.max_ack_pending, limits.max_ack_pending)
        })
        .map(crate::consumer::Consumer::name)
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    Err(validate::invalid(format!(
        "change to limits violates consumers: {names}"
    )))
}
