//! `STREAM.UPDATE` and `STREAM.PURGE`.

use frond_ledger::{Record, Seq, StreamId};
use frond_wire::go_json;

use super::json::{flexible_object, request};
use super::{Call, Outcome};
use crate::errors::{self, ApiError};
use crate::host::Host;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::limits::DROPS_TOGETHER_MAX;
use crate::pending::{Change, Purging, What};
use crate::stream::config::StreamConfig;
use crate::stream::decode::stream_config;
use crate::stream::removed::{Removed, drop_records};
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
        let mut seqs = host.stream.purged(&purge);
        let floor = host.stream.purged_below(&purge);
        if seqs.is_empty() && floor.is_none() {
            return Ok(Some(purged(0)));
        }
        let is_ranges = purge.filter.is_some() && !is_memory;
        let end = if is_ranges {
            part_end(&seqs)
        } else {
            seqs.len()
        };
        let rest = seqs.split_off(end);
        let records = purge_records(host, id, &purge, &seqs, floor);
        if let (Some(first), Some(host)) = (floor, self.hosts.get_mut(&id)) {
            // What comes while the disk is asked is behind it.
            host.stream.go_on_at(first);
        }
        let purging = Purging {
            asked: seqs,
            rest,
            done: 0,
            floor,
        };
        let change = self.change(call, id, What::Purge(purging), name, "");
        if is_memory {
            self.changed(change, reach);
            return Ok(None);
        }
        self.propose_change(group, records, change)
    }
}

impl JetStream {
    /// A part of a purge is kept; the next one goes to the disk, if there is one.
    pub(super) fn purged_part(
        &mut self,
        stream: StreamId,
        mut purging: Purging,
        reach: &dyn Reach,
    ) -> Result<Vec<u8>, Purging> {
        purging.done += self.messages_went(stream, &purging.asked, Removed::by_purge(), reach);
        if purging.rest.is_empty() {
            self.raise_floor(stream, purging.floor, reach);
            return Ok(purged(purging.done));
        }
        let after = purging.rest.split_off(part_end(&purging.rest));
        purging.asked = std::mem::replace(&mut purging.rest, after);
        Err(purging)
    }

    /// The next part of a purge goes to the disk.
    pub(super) fn purge_on(&mut self, change: Change, reach: &dyn Reach) {
        let What::Purge(purging) = &change.what else {
            return;
        };
        let records = drop_records(change.stream, purging.asked.iter().copied());
        let host = self.hosts.get(&change.stream);
        let Some(group) = host.map(|host| host.stream.group()) else {
            let gone = purged(purging.done);
            self.conclude(&change.call, "stream_purge_response", Ok(Some(gone)));
            return self.release(&change.lock, reach);
        };
        let call = change.call.clone();
        if let Err(error) = self.propose_change(group, records, change) {
            self.conclude(&call, "stream_purge_response", Err(error));
        }
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
            "filter" => purge.filter = Some(field.string()?.into()).filter(names_some),
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

/// All subjects are named by none.
///
/// spec: nats-server v2.15.1 server/filestore.go `PurgeEx`
#[expect(clippy::borrowed_box, reason = "as Option::filter passes it")]
fn names_some(filter: &Box<str>) -> bool {
    !filter.is_empty() && **filter != *">"
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
    drop_records(id, seqs.iter().copied())
}

/// Where a part of a purge ends that is one batch.
fn part_end(seqs: &[Seq]) -> usize {
    let starts = seqs
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| matches!(pair, [one, next] if one + 1 != *next));
    let mut starts = starts.map(|(at, _)| at + 1);
    starts.nth(DROPS_TOGETHER_MAX - 1).unwrap_or(seqs.len())
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
