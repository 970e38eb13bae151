//! What the origins of a stream, its mirror or its sources, must keep to.
//!
//! spec: nats-server v2.15.1 server/stream.go `checkStreamCfg`

use frond_subject::{is_literal, is_subset, is_valid_filter, overlaps};

use super::config::{StreamConfig, StreamSource};
use super::validate::{fault_of, invalid, is_name};
use crate::errors::{self, ApiError};

/// What a mirror must be, and what it may not be as well.
pub(super) fn check_mirror(config: &StreamConfig, mirror: &StreamSource) -> Result<(), ApiError> {
    if config.first_seq > 0 {
        return Err(errors::MIRROR_WITH_FIRST_SEQ);
    }
    if !config.subjects.is_empty() {
        return Err(errors::MIRROR_WITH_SUBJECTS);
    }
    if !config.sources.is_empty() {
        return Err(errors::MIRROR_WITH_SOURCES);
    }
    let not_both = [
        (config.allow_msg_counter, errors::MIRROR_WITH_COUNTERS),
        (config.allow_atomic, errors::MIRROR_WITH_ATOMIC_PUBLISH),
        (config.allow_batched, errors::MIRROR_WITH_BATCH_PUBLISH),
        (
            config.allow_msg_schedules,
            errors::MIRROR_WITH_MSG_SCHEDULES,
        ),
    ];
    if let Some((_, error)) = not_both.into_iter().find(|(is_on, _)| *is_on) {
        return Err(error);
    }
    if mirror.external.is_none() && !is_name(&mirror.name) {
        return Err(errors::MIRROR_INVALID_STREAM_NAME);
    }
    if config.subject_delete_marker_ttl > 0 {
        return Err(invalid("subject delete markers forbidden on mirrors"));
    }
    let faults = FilterFaults {
        both: errors::MIRROR_MULTIPLE_FILTERS_NOT_ALLOWED,
        source: errors::MIRROR_INVALID_SUBJECT_FILTER,
        dest: errors::MIRROR_INVALID_TRANSFORM_DESTINATION,
        overlap: errors::MIRROR_OVERLAPPING_SUBJECT_FILTERS,
        durable: errors::MIRROR_DURABLE_CONSUMER_CFG_INVALID,
        filter: "for the mirror",
        are_alike: overlaps,
    };
    check_source(mirror, faults)
}

/// What each source must be, and what no two may have in common.
pub(super) fn check_sources(sources: &[StreamSource]) -> Result<(), ApiError> {
    for (index, source) in sources.iter().enumerate() {
        if !is_name(&source.name) {
            return Err(errors::SOURCE_INVALID_STREAM_NAME);
        }
        if sources
            .iter()
            .skip(index + 1)
            .any(|other| same_origin(source, other))
        {
            return Err(errors::SOURCE_DUPLICATE_DETECTED);
        }
        let faults = FilterFaults {
            both: errors::SOURCE_MULTIPLE_FILTERS_NOT_ALLOWED,
            source: errors::SOURCE_INVALID_SUBJECT_FILTER,
            dest: errors::SOURCE_INVALID_TRANSFORM_DESTINATION,
            overlap: errors::SOURCE_OVERLAPPING_SUBJECT_FILTERS,
            durable: errors::SOURCE_DURABLE_CONSUMER_CFG_INVALID,
            filter: "for the source:",
            are_alike: |a, b| is_subset(a, b) || is_subset(b, a),
        };
        check_source(source, faults)?;
        let mut others = sources.iter().skip(index + 1);
        if others.any(|other| same_consumer(source, other)) {
            return Err(errors::SOURCE_DURABLE_CONSUMER_DUPLICATE_DETECTED);
        }
    }
    Ok(())
}

/// Whether two sources would keep their position under one name.
fn same_origin(a: &StreamSource, b: &StreamSource) -> bool {
    consumer(a) == consumer(b)
        && a.filter_subject == b.filter_subject
        && a.subject_transforms == b.subject_transforms
}

/// Whether one consumer would have to feed both.
fn same_consumer(a: &StreamSource, b: &StreamSource) -> bool {
    a.consumer.is_some() && consumer(a) == consumer(b)
}

fn consumer(source: &StreamSource) -> (&str, Option<&str>, Option<&str>) {
    let api = source.external.as_ref().map(|external| &*external.api);
    let consumer = source.consumer.as_ref().map(|consumer| &*consumer.name);
    (&source.name, api, consumer)
}

struct FilterFaults {
    both: ApiError,
    source: ApiError,
    dest: ApiError,
    overlap: ApiError,
    durable: ApiError,
    /// What a filter is called that is no subject.
    filter: &'static str,
    /// Whether two transforms' sources are too near.
    are_alike: fn(&str, &str) -> bool,
}

fn check_source(source: &StreamSource, faults: FilterFaults) -> Result<(), ApiError> {
    if !source.filter_subject.is_empty() && !source.subject_transforms.is_empty() {
        return Err(faults.both);
    }
    if !source.filter_subject.is_empty() && !is_valid_filter(&source.filter_subject) {
        let (filter, whose) = (&source.filter_subject, faults.filter);
        let text = format!("subject filter '{filter}' {whose} invalid subject");
        return Err(errors::STREAM_CREATE.with("err", text));
    }
    for (index, transform) in source.subject_transforms.iter().enumerate() {
        if !transform.src.is_empty() && !is_valid_filter(&transform.src) {
            return Err(faults
                .source
                .with("err", format!("invalid subject {}", transform.src)));
        }
        if !transform.dest.is_empty()
            && let Some(fault) = fault_of(&transform.src, &transform.dest)
        {
            return Err(faults.dest.with("err", fault));
        }
        let rest = source.subject_transforms.iter().skip(index + 1);
        if rest
            .into_iter()
            .any(|other| (faults.are_alike)(&transform.src, &other.src))
        {
            return Err(faults.overlap);
        }
    }
    if let Some(durable) = &source.consumer {
        let is_plain = source.opt_start_seq == 0
            && source.opt_start_time.is_none()
            && source.filter_subject.is_empty();
        if !is_name(&durable.name) || !is_literal(&durable.deliver_subject) || !is_plain {
            return Err(faults.durable);
        }
    }
    let Some(external) = &source.external else {
        return Ok(());
    };
    if !external.deliver.is_empty() && !is_literal(&external.deliver) {
        return Err(errors::STREAM_INVALID_EXTERNAL_DELIVERY_SUBJ.with("prefix", &external.deliver));
    }
    if external.api.is_empty() {
        return Ok(());
    }
    if !is_literal(&external.api) {
        return Err(invalid(format!(
            "stream external api prefix {:?} must be a valid subject without wildcards",
            external.api
        )));
    }
    if external.api == "$JS.API" {
        return Err(errors::STREAM_EXTERNAL_API_OVERLAP
            .with("prefix", &external.api)
            .with("subject", "$JS.API"));
    }
    Ok(())
}
