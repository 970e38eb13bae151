//! What a stream's features ask of each other, and of the servers that may host it.
//!
//! spec: nats-server v2.15.1 server/stream.go `checkStreamCfg`, server/jetstream_versioning.go

use super::config::{Discard, PersistMode, Retention, Storage, StreamConfig};
use super::validate::{invalid, strip_server_metadata};
use crate::errors::ApiError;

/// One second, in nanoseconds.
const SECOND_NS: i64 = 1_000_000_000;

/// Checks what is asked for together, and turns on what a feature needs.
pub(super) fn check(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    if config.deny_purge && config.allow_rollup_hdrs {
        return Err(invalid("roll-ups require the purge permission"));
    }
    counters(config)?;
    discard_new_per_subject(config)?;
    delete_markers(config, pedantic)?;
    schedules(config, pedantic)?;
    persist_mode(config)
}

/// The level a server must have to host this stream, kept beside it.
pub(super) fn required_level(config: &mut StreamConfig) {
    strip_server_metadata(config);
    let needs_2 = config.persist_mode == PersistMode::Async
        || config.allow_atomic
        || config.allow_msg_counter
        || config.allow_msg_schedules;
    let level = if config.allow_batched {
        "4"
    } else if needs_2 {
        "2"
    } else if config.allow_msg_ttl {
        "1"
    } else {
        "0"
    };
    let key = "_nats.req.level".to_owned();
    config.metadata.insert(key, level.to_owned());
}

fn counters(config: &StreamConfig) -> Result<(), ApiError> {
    if !config.allow_msg_counter {
        return Ok(());
    }
    let cannot = |what: &str| Err(invalid(format!("counter stream cannot use {what}")));
    if config.discard == Discard::New {
        return cannot("discard new");
    }
    if config.allow_msg_ttl {
        return cannot("message TTLs");
    }
    if config.allow_msg_schedules {
        return cannot("message schedules");
    }
    if config.retention != Retention::Limits {
        return Err(invalid("counter stream can only use limits retention"));
    }
    Ok(())
}

fn discard_new_per_subject(config: &StreamConfig) -> Result<(), ApiError> {
    if !config.discard_new_per_subject {
        return Ok(());
    }
    if config.discard != Discard::New {
        return Err(invalid(
            "discard new per subject requires discard new policy to be set",
        ));
    }
    if config.max_msgs_per_subject <= 0 {
        return Err(invalid(
            "discard new per subject requires max msgs per subject > 0",
        ));
    }
    Ok(())
}

fn delete_markers(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    let ttl = config.subject_delete_marker_ttl;
    if ttl < 0 {
        return Err(invalid("subject delete marker TTL must not be negative"));
    }
    if ttl == 0 {
        return Ok(());
    }
    if ttl < SECOND_NS {
        return Err(invalid(
            "subject delete marker TTL must be at least 1 second",
        ));
    }
    let cannot = |what: &str| {
        Err(invalid(format!(
            "subject delete marker cannot be set if {what} are disabled"
        )))
    };
    if !config.allow_msg_ttl && pedantic {
        return cannot("message TTLs");
    }
    if !config.allow_rollup_hdrs && pedantic {
        return cannot("roll-ups");
    }
    config.allow_msg_ttl = true;
    allow_rollups(config);
    Ok(())
}

fn schedules(config: &mut StreamConfig, pedantic: bool) -> Result<(), ApiError> {
    if !config.allow_msg_schedules {
        return Ok(());
    }
    if config.discard == Discard::New {
        return Err(invalid("message scheduling cannot use discard new"));
    }
    if !config.allow_rollup_hdrs && pedantic {
        return Err(invalid(
            "message scheduling cannot be set if roll-ups are disabled",
        ));
    }
    allow_rollups(config);
    Ok(())
}

fn allow_rollups(config: &mut StreamConfig) {
    if !config.allow_rollup_hdrs {
        (config.allow_rollup_hdrs, config.deny_purge) = (true, false);
    }
}

fn persist_mode(config: &StreamConfig) -> Result<(), ApiError> {
    if config.persist_mode != PersistMode::Async {
        return Ok(());
    }
    if config.storage != Storage::File {
        return Err(invalid(
            "async persist mode is only supported on file storage",
        ));
    }
    if config.allow_atomic {
        return Err(invalid(
            "async persist mode is not supported with atomic batch publish",
        ));
    }
    Ok(())
}
