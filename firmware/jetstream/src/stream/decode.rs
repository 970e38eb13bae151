//! A stream's configuration out of JSON, field by field as nats-server's own type reads it.

use super::config::{
    Compression, ConsumerLimits, Discard, ExternalStream, PersistMode, Placement, Republish,
    Retention, SourceConsumer, Storage, StreamConfig, StreamSource, SubjectTransform,
};
use crate::api::json::{Field, fields, request};
use crate::errors::ApiError;

/// What `STREAM.CREATE` and `STREAM.UPDATE` carry.
#[derive(Debug, Default)]
pub(crate) struct StreamConfigRequest {
    pub(crate) config: StreamConfig,
    /// Refuse what would otherwise be adjusted.
    pub(crate) pedantic: bool,
}

/// Reads a request of `STREAM.CREATE` or `STREAM.UPDATE`, or a stored configuration.
///
/// # Errors
/// `invalid JSON: …`.
pub(crate) fn stream_config(body: &[u8], is_strict: bool) -> Result<StreamConfigRequest, ApiError> {
    let mut asked = StreamConfigRequest::default();
    request(body, "StreamConfigRequest", is_strict, |name, field| {
        if name == "pedantic" {
            asked.pedantic = field.bool()?;
            return Ok(true);
        }
        config_field(&mut asked.config, name, field)
    })?;
    Ok(asked)
}

/// Takes one member of a configuration; false when there is no such.
pub(crate) fn config_field(
    c: &mut StreamConfig,
    name: &str,
    field: Field<'_>,
) -> Result<bool, String> {
    Ok(main_field(c, name, field)? || other_field(c, name, field)?)
}

fn main_field(c: &mut StreamConfig, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "name" => c.name = field.string()?,
        "description" => c.description = field.string()?,
        "subjects" => c.subjects = field.strings()?,
        "retention" => c.retention = field.one_of(retention)?,
        "max_consumers" => c.max_consumers = field.int64("int")?,
        "max_msgs" => c.max_msgs = field.int64("int64")?,
        "max_bytes" => c.max_bytes = field.int64("int64")?,
        "max_age" => c.max_age = field.int64("time.Duration")?,
        "max_msgs_per_subject" => c.max_msgs_per_subject = field.int64("int64")?,
        "max_msg_size" => c.max_msg_size = field.int32()?,
        "discard" => c.discard = field.one_of(discard)?,
        "storage" => c.storage = field.one_of(storage)?,
        "num_replicas" => c.num_replicas = field.int64("int")?,
        "no_ack" => c.no_ack = field.bool()?,
        "duplicate_window" => c.duplicate_window = field.int64("time.Duration")?,
        "placement" => c.placement = placement(field)?,
        "mirror" => c.mirror = optional(field, "server.StreamSource", source_field)?,
        "sources" => c.sources = listed(field, "[]*server.StreamSource", source_field)?,
        "compression" => {
            c.compression = field
                .choice(compression)
                .ok_or_else(|| "unknown compression algorithm".to_owned())?;
        }
        "first_seq" => c.first_seq = field.uint64()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn other_field(c: &mut StreamConfig, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "subject_transform" => {
            c.subject_transform =
                optional(field, "server.SubjectTransformConfig", transform_field)?;
        }
        "republish" => c.republish = optional(field, "server.RePublish", republish_field)?,
        "allow_direct" => c.allow_direct = field.bool()?,
        "mirror_direct" => c.mirror_direct = field.bool()?,
        "discard_new_per_subject" => c.discard_new_per_subject = field.bool()?,
        "sealed" => c.sealed = field.bool()?,
        "deny_delete" => c.deny_delete = field.bool()?,
        "deny_purge" => c.deny_purge = field.bool()?,
        "allow_rollup_hdrs" => c.allow_rollup_hdrs = field.bool()?,
        "consumer_limits" => {
            c.consumer_limits =
                optional(field, "server.StreamConsumerLimits", limits_field)?.unwrap_or_default();
        }
        "allow_msg_ttl" => c.allow_msg_ttl = field.bool()?,
        "subject_delete_marker_ttl" => {
            c.subject_delete_marker_ttl = field.int64("time.Duration")?;
        }
        "allow_msg_counter" => c.allow_msg_counter = field.bool()?,
        "allow_atomic" => c.allow_atomic = field.bool()?,
        "allow_msg_schedules" => c.allow_msg_schedules = field.bool()?,
        "persist_mode" => c.persist_mode = field.one_of(persist_mode)?,
        "allow_batched" => c.allow_batched = field.bool()?,
        "metadata" => c.metadata = field.string_map()?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// A placement as it came.
#[derive(Default)]
struct Placed {
    placement: Placement,
    has_tags: bool,
}

/// One without a member is none; a list of no tags is a member.
fn placement(field: Field<'_>) -> Result<Option<Placement>, String> {
    let placed: Option<Placed> = optional(field, "server.Placement", placement_field)?;
    let placed = placed.filter(|it| it.has_tags || it.placement != Placement::default());
    Ok(placed.map(|placed| placed.placement))
}

fn placement_field(c: &mut Placed, name: &str, field: Field<'_>) -> Result<bool, String> {
    let Placed {
        placement: c,
        has_tags,
    } = c;
    match name {
        "cluster" => c.cluster = field.string()?,
        "tags" => {
            *has_tags = !field.is_null();
            c.tags = field.strings()?;
        }
        "preferred" => c.preferred = field.string()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn source_field(c: &mut StreamSource, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "name" => c.name = field.string()?,
        "opt_start_seq" => c.opt_start_seq = field.uint64()?,
        "opt_start_time" => c.opt_start_time = field.time()?,
        "filter_subject" => c.filter_subject = field.string()?,
        "subject_transforms" => {
            c.subject_transforms =
                listed(field, "[]server.SubjectTransformConfig", transform_field)?;
        }
        "external" => c.external = optional(field, "server.ExternalStream", external_field)?,
        "consumer" => c.consumer = optional(field, "server.StreamConsumerSource", durable_field)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn external_field(c: &mut ExternalStream, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "api" => c.api = field.string()?,
        "deliver" => c.deliver = field.string()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn durable_field(c: &mut SourceConsumer, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "name" => c.name = field.string()?,
        "deliver_subject" => c.deliver_subject = field.string()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn transform_field(c: &mut SubjectTransform, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "src" => c.src = field.string()?,
        "dest" => c.dest = field.string()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn republish_field(c: &mut Republish, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "src" => c.src = field.string()?,
        "dest" => c.dest = field.string()?,
        "headers_only" => c.headers_only = field.bool()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn limits_field(c: &mut ConsumerLimits, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "inactive_threshold" => c.inactive_threshold = field.int64("time.Duration")?,
        "max_ack_pending" => c.max_ack_pending = field.int64("int")?,
        _ => return Ok(false),
    }
    Ok(true)
}

type Take<T> = fn(&mut T, &str, Field<'_>) -> Result<bool, String>;

fn optional<T: Default>(
    field: Field<'_>,
    go_type: &str,
    take: Take<T>,
) -> Result<Option<T>, String> {
    if field.is_null() {
        return Ok(None);
    }
    let mut value = T::default();
    fields(field, go_type, |name, field| take(&mut value, name, field))?;
    Ok(Some(value))
}

fn listed<T: Default>(field: Field<'_>, go_type: &str, take: Take<T>) -> Result<Vec<T>, String> {
    let item_type = go_type.trim_start_matches("[]").trim_start_matches('*');
    let items = field.items(go_type)?.into_iter();
    items
        .map(|item| optional(item, item_type, take).map(Option::unwrap_or_default))
        .collect()
}

fn retention(text: &str) -> Option<Retention> {
    match text {
        "limits" => Some(Retention::Limits),
        "interest" => Some(Retention::Interest),
        "workqueue" => Some(Retention::Workqueue),
        _ => None,
    }
}

fn discard(text: &str) -> Option<Discard> {
    if text.eq_ignore_ascii_case("old") {
        Some(Discard::Old)
    } else if text.eq_ignore_ascii_case("new") {
        Some(Discard::New)
    } else {
        None
    }
}

fn storage(text: &str) -> Option<Storage> {
    match text {
        "file" => Some(Storage::File),
        "memory" => Some(Storage::Memory),
        _ => None,
    }
}

fn compression(text: &str) -> Option<Compression> {
    match text {
        "none" => Some(Compression::None),
        "s2" => Some(Compression::S2),
        _ => None,
    }
}

fn persist_mode(text: &str) -> Option<PersistMode> {
    match text {
        "" | "default" => Some(PersistMode::Default),
        "async" => Some(PersistMode::Async),
        _ => None,
    }
}
