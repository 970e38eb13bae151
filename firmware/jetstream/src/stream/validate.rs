//! What a stream's configuration must keep to; the first rule broken is the answer.
//!
//! spec: nats-server v2.15.1 server/stream.go `checkStreamCfg`

use frond_subject::{Transform, TransformError, Tree, is_subset, is_valid_filter, overlaps};

use super::config::StreamConfig;
use super::features;
use super::origins::{check_mirror, check_sources};
use crate::errors::{self, ApiError};
use crate::limits::{
    DESCRIPTION_BYTES_MAX, DUPLICATE_WINDOW_NS, METADATA_BYTES_MAX, NAME_BYTES_MAX, REPLICAS_MAX,
    SEQ_MAX, SUBJECTS_MAX, WINDOW_NS_MIN,
};

/// Fills in the defaults and checks every rule that needs no other stream.
///
/// # Errors
/// The first rule broken.
pub(crate) fn normalise(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    name(&config.name)?;
    sizes_of_texts(config)?;
    replicas(config)?;
    negative_limits(config, pedantic)?;
    first_sequence(config)?;
    windows(config, pedantic)?;
    features::check(config, pedantic)?;
    if let Some(mirror) = config.mirror.take() {
        let checked = check_mirror(config, &mirror);
        config.mirror = Some(mirror);
        checked?;
    }
    if config.allow_msg_schedules && !config.sources.is_empty() {
        return Err(errors::SOURCE_WITH_MSG_SCHEDULES);
    }
    check_sources(&config.sources)?;
    subjects(config)?;
    transform(config)?;
    republish(config, pedantic)?;
    placement(config)?;
    features::required_level(config);
    Ok(())
}

/// `10052` with a text.
pub(crate) fn invalid(text: impl std::fmt::Display) -> ApiError {
    errors::STREAM_INVALID_CONFIG.with("err", text)
}

/// Whether `name` can name a stream.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains([' ', '\t', '\r', '\n', '\x0c', '.', '*', '>', '\\', '/'])
}

/// Keeps the metadata that the server writes itself out of what the client sent.
pub(crate) fn strip_server_metadata(config: &mut StreamConfig) {
    for key in ["_nats.ver", "_nats.level", "_nats.req.level"] {
        config.metadata.remove(key);
    }
}

/// Whether a stream may have this name.
pub(crate) fn name(name: &str) -> Result<(), ApiError> {
    if !is_name(name) {
        return Err(invalid(
            "stream name is required and can not contain '.', '*', '>', '\\', '/'",
        ));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(invalid(format!(
            "stream name is too long, maximum allowed is {NAME_BYTES_MAX}"
        )));
    }
    Ok(())
}

fn sizes_of_texts(config: &StreamConfig) -> Result<(), ApiError> {
    if config.description.len() > DESCRIPTION_BYTES_MAX {
        return Err(invalid(format!(
            "stream description is too long, maximum allowed is {DESCRIPTION_BYTES_MAX}"
        )));
    }
    let metadata: usize = config
        .metadata
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if metadata > METADATA_BYTES_MAX {
        return Err(invalid(format!(
            "stream metadata exceeds maximum size of {METADATA_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}

fn replicas(config: &mut StreamConfig) -> Result<(), ApiError> {
    match config.num_replicas {
        0 => config.num_replicas = 1,
        asked if asked < 0 => return Err(errors::REPLICAS_COUNT_CANNOT_BE_NEGATIVE),
        asked if asked > REPLICAS_MAX => {
            return Err(invalid(format!("maximum replicas is {REPLICAS_MAX}")));
        }
        _ => {}
    }
    Ok(())
}

/// One server has no others to keep copies on; that is told after all that is wrong otherwise.
pub(crate) fn copies(config: &StreamConfig) -> Result<(), ApiError> {
    match config.num_replicas {
        ..=1 => Ok(()),
        _ => Err(errors::STREAM_REPLICAS_NOT_SUPPORTED),
    }
}

fn placement(config: &StreamConfig) -> Result<(), ApiError> {
    match &config.placement {
        Some(placement) if !placement.preferred.is_empty() => {
            Err(invalid("preferred server not permitted in placement"))
        }
        Some(_) | None => Ok(()),
    }
}

fn negative_limits(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    let limits = [
        ("max_msgs", &mut config.max_msgs),
        ("max_msgs_per_subject", &mut config.max_msgs_per_subject),
        ("max_bytes", &mut config.max_bytes),
        ("max_msg_size", &mut config.max_msg_size),
        ("max_consumers", &mut config.max_consumers),
    ];
    for (name, limit) in limits {
        if *limit < -1 && pedantic {
            return Err(errors::PEDANTIC.with("err", format!("{name} must be set to -1")));
        }
        if *limit <= 0 {
            *limit = -1;
        }
    }
    Ok(())
}

/// What is counted from it must not overflow; nats-server has no such bound.
fn first_sequence(config: &StreamConfig) -> Result<(), ApiError> {
    match config.first_seq > SEQ_MAX {
        true => Err(invalid(format!(
            "first sequence can not be larger than {SEQ_MAX}"
        ))),
        false => Ok(()),
    }
}

fn windows(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    if config.max_age < 0 {
        return Err(invalid("max age can not be negative"));
    }
    if config.max_age != 0 && config.max_age < WINDOW_NS_MIN {
        return Err(invalid("max age needs to be >= 100ms"));
    }
    let takes_elsewhere = config.mirror.is_some() || !config.sources.is_empty();
    if config.duplicate_window == 0 && !takes_elsewhere {
        if pedantic && config.max_age != 0 && config.max_age < DUPLICATE_WINDOW_NS {
            let text = "duplicate window cannot be bigger than max age";
            return Err(errors::PEDANTIC.with("err", text));
        }
        config.duplicate_window = match config.max_age {
            0 => DUPLICATE_WINDOW_NS,
            age => age.min(DUPLICATE_WINDOW_NS),
        };
    }
    let window = config.duplicate_window;
    if window < 0 {
        return Err(invalid("duplicates window can not be negative"));
    }
    if config.max_age > 0 && window > config.max_age {
        return Err(invalid("duplicates window can not be larger then max age"));
    }
    if window > 0 && window < WINDOW_NS_MIN {
        return Err(invalid("duplicates window needs to be >= 100ms"));
    }
    Ok(())
}

fn subjects(config: &mut StreamConfig) -> Result<(), ApiError> {
    let takes_elsewhere = config.mirror.is_some() || !config.sources.is_empty();
    if config.subjects.is_empty() && !takes_elsewhere {
        config.subjects.push(config.name.clone());
    }
    if config.subjects.len() > SUBJECTS_MAX {
        return Err(invalid(format!(
            "too many subjects, maximum allowed is {SUBJECTS_MAX}"
        )));
    }
    // A request may name thousands: one look for each, not one for each pair.
    let mut earlier = Tree::new();
    for (index, subject) in config.subjects.iter().enumerate() {
        if !is_valid_filter(subject) {
            return Err(invalid("invalid subject"));
        }
        if !config.no_ack {
            reserved(subject)?;
        }
        let mut first = None;
        earlier.for_each_overlap(subject, &mut |other: &usize| {
            first = Some(first.map_or(*other, |first: usize| first.min(*other)));
        });
        if let Some(other) = first.and_then(|first| config.subjects.get(first)) {
            return Err(invalid(format!(
                "subject {other:?} overlaps with {subject:?}"
            )));
        }
        if !earlier.insert(subject, index) {
            return Err(invalid("invalid subject"));
        }
    }
    Ok(())
}

/// Subjects whose acks would feed themselves.
fn reserved(subject: &str) -> Result<(), ApiError> {
    if subject == ">" {
        return Err(invalid("capturing all subjects requires no-ack to be true"));
    }
    let is_api = ["$JS.>", "$JSC.>", "$NRG.>"]
        .iter()
        .any(|api| overlaps(subject, api));
    if is_api && !is_subset(subject, "$JS.EVENT.>") {
        return Err(invalid(
            "subjects that overlap with jetstream api require no-ack to be true",
        ));
    }
    if overlaps(subject, "$SYS.>") && !is_subset(subject, "$SYS.ACCOUNT.>") {
        return Err(invalid(
            "subjects that overlap with system api require no-ack to be true",
        ));
    }
    Ok(())
}

fn transform(config: &StreamConfig) -> Result<(), ApiError> {
    let Some(transform) = &config.subject_transform else {
        return Ok(());
    };
    if !transform.src.is_empty() && !is_valid_filter(&transform.src) {
        let fault = format!("invalid subject {}", transform.src);
        return Err(errors::STREAM_TRANSFORM_INVALID_SOURCE.with("err", fault));
    }
    match fault_of(&transform.src, &transform.dest) {
        _ if transform.dest.is_empty() => Ok(()),
        None => Ok(()),
        Some(fault) => Err(errors::STREAM_TRANSFORM_INVALID_DESTINATION.with("err", fault)),
    }
}

/// What is wrong with a transform.
///
/// spec: nats-server v2.15.1 server/sublist.go `ValidateMapping`
pub(super) fn fault_of(source: &str, destination: &str) -> Option<TransformError> {
    let is_empty = destination.split('.').any(str::is_empty);
    if is_empty || destination.contains(['\t', '\n', '\x0c', '\r', ' ']) {
        return Some(TransformError::InvalidDestination);
    }
    Transform::new(source, destination).err()
}

fn republish(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    let Some(republish) = &mut config.republish else {
        return Ok(());
    };
    if republish.src.is_empty() {
        if pedantic {
            let text = "republish source can not be empty";
            return Err(errors::PEDANTIC.with("err", text));
        }
        ">".clone_into(&mut republish.src);
    }
    if config
        .subjects
        .iter()
        .any(|subject| overlaps(subject, &republish.dest))
    {
        return Err(invalid(
            "stream configuration for republish destination forms a cycle",
        ));
    }
    // Without a destination nothing is published again.
    let is_none = republish.dest.is_empty();
    if !is_none && Transform::new(&republish.src, &republish.dest).is_err() {
        return Err(invalid(format!(
            "stream configuration for republish with transform from '{}' to '{}' not valid",
            republish.src, republish.dest
        )));
    }
    Ok(())
}
