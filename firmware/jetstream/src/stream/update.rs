//! What an update of a stream's configuration may change.

use super::config::{Discard, Retention, StreamConfig};
use super::validate::invalid;
use crate::errors::{self, ApiError};

/// Brings an accepted stream's new configuration in line with its old one.
///
/// # Errors
/// When something changes that can't.
///
/// spec: nats-server v2.15.1 server/stream.go `configUpdateCheck`
pub(crate) fn update(old: &StreamConfig, new: &mut StreamConfig) -> Result<(), ApiError> {
    let cannot = |what: &str| {
        Err(invalid(format!(
            "stream configuration update can not {what}"
        )))
    };
    if old.name != new.name {
        return Err(invalid("stream configuration name must match original"));
    }
    if old.storage != new.storage {
        return cannot("change storage type");
    }
    let is_queue = |c: &StreamConfig| c.retention == Retention::Workqueue;
    if is_queue(old) != is_queue(new) {
        return cannot("change retention policy to/from workqueue");
    }
    if old.sealed && !new.sealed {
        return cannot("unseal a sealed stream");
    }
    if old.deny_delete && !new.deny_delete {
        return cannot("cancel deny message deletes");
    }
    if old.deny_purge && !new.deny_purge {
        return cannot("cancel deny purge");
    }
    if new.mirror.is_some() && new.mirror != old.mirror {
        return Err(errors::STREAM_MIRROR_NOT_UPDATABLE);
    }
    if old.allow_msg_ttl && !new.allow_msg_ttl {
        return Err(invalid("message TTL status can not be disabled"));
    }
    if old.allow_msg_counter != new.allow_msg_counter {
        return cannot("change message counter setting");
    }
    if old.allow_msg_schedules && !new.allow_msg_schedules {
        return Err(invalid("message schedules can not be disabled"));
    }
    if old.persist_mode != new.persist_mode {
        return cannot("change persist mode");
    }
    if new.sealed {
        new.max_age = 0;
        new.discard = Discard::New;
        new.deny_delete = true;
        new.deny_purge = true;
        new.allow_rollup_hdrs = false;
    }
    Ok(())
}
