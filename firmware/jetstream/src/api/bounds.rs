//! What the server, an account and other streams let a stream be.

use crate::errors::{self, ApiError};
use crate::host::Host;
use crate::io::Tenant;
use crate::jetstream::JetStream;
use crate::limits::DUPLICATE_WINDOW_NS;
use crate::stream::config::{Storage, StreamConfig, limit};
use crate::stream::validate;

impl JetStream {
    /// What a mirror or source takes over from an origin in the same account.
    pub(crate) fn inherit(
        &self,
        tenant: Tenant,
        config: &mut StreamConfig,
        pedantic: bool,
    ) -> Result<(), ApiError> {
        if let Some(max) = self.facts.duplicate_window_ns_max
            && config.duplicate_window > max
        {
            let max = crate::consumer::go_duration(max);
            let text = format!("duplicates window can not be larger then server limit of {max}");
            return Err(validate::invalid(text));
        }
        self.check_cycle(tenant, config)?;
        let own = limit(config.max_msg_size).unwrap_or(u64::MAX);
        let is_too_small =
            |origin: &Host| limit(origin.stream.config.max_msg_size).unwrap_or(0) > own;
        if let Some(mirror) = config.mirror.as_ref().filter(|m| m.external.is_none())
            && let Some(origin) = self.find_stream(tenant, &mirror.name)
        {
            if is_too_small(origin) {
                return Err(errors::MIRROR_MAX_MESSAGE_SIZE_TOO_BIG);
            }
            let allows = origin.stream.config.allow_direct;
            if pedantic && config.mirror_direct != allows {
                let text = "origin stream has direct get set, mirror has it disabled";
                return Err(errors::PEDANTIC.with("err", text));
            }
            config.mirror_direct = allows;
        }
        for source in config.sources.iter().filter(|s| s.external.is_none()) {
            if self
                .find_stream(tenant, &source.name)
                .is_some_and(is_too_small)
            {
                return Err(errors::SOURCE_MAX_MESSAGE_SIZE_TOO_BIG);
            }
        }
        Ok(())
    }

    /// Whether the account and the server have room for a stream, instead of `old` if given.
    pub(crate) fn check_room(
        &self,
        tenant: Tenant,
        old: Option<&StreamConfig>,
        config: &StreamConfig,
    ) -> Result<(), ApiError> {
        let Some(account) = self.accounts.get(&tenant) else {
            return Err(errors::NOT_ENABLED_FOR_ACCOUNT);
        };
        let limits = &account.limits;
        let count = i64::try_from(account.by_name.len()).unwrap_or(i64::MAX);
        if old.is_none() && limits.max_streams >= 0 && count >= limits.max_streams {
            return Err(errors::MAXIMUM_STREAMS_LIMIT);
        }
        self.check_size(tenant, config)?;
        if limits.max_consumers > 0 && config.max_consumers > limits.max_consumers {
            return Err(errors::MAXIMUM_CONSUMERS_LIMIT);
        }
        let (of_account, of_server, full) = match config.storage {
            Storage::File => (
                limits.max_storage,
                self.facts.storage_bytes_max,
                errors::STORAGE_RESOURCES_EXCEEDED,
            ),
            Storage::Memory => (
                limits.max_memory,
                self.facts.memory_bytes_max,
                errors::MEMORY_RESOURCES_EXCEEDED,
            ),
        };
        let freed = old.map_or(0, StreamConfig::reserved_bytes);
        let reserved = self.reserved(tenant, config.storage).saturating_sub(freed);
        let all = reserved.saturating_add(config.reserved_bytes());
        let is_over = |max: u64| config.reserved_bytes() > 0 && all > max;
        if limit(of_account).is_some_and(is_over) || of_server.is_some_and(is_over) {
            return Err(full);
        }
        Ok(())
    }

    /// Whether the account lets one stream be as large.
    pub(crate) fn check_size(&self, tenant: Tenant, config: &StreamConfig) -> Result<(), ApiError> {
        let Some(account) = self.accounts.get(&tenant) else {
            return Err(errors::NOT_ENABLED_FOR_ACCOUNT);
        };
        let limits = &account.limits;
        if limits.max_bytes_required && config.max_bytes <= 0 {
            return Err(errors::STREAM_MAX_BYTES_REQUIRED);
        }
        let most = match config.storage {
            Storage::File => limits.storage_max_stream_bytes,
            Storage::Memory => limits.memory_max_stream_bytes,
        };
        if limit(most).is_some_and(|max| config.reserved_bytes() > max) {
            return Err(errors::STREAM_MAX_STREAM_BYTES_EXCEEDED);
        }
        Ok(())
    }

    /// A stream that does not say how long it knows ids does so no longer than the server allows.
    ///
    /// spec: nats-server v2.15.1 server/stream.go `checkStreamCfg`
    pub(crate) fn bound_window(
        &self,
        config: &mut StreamConfig,
        pedantic: bool,
    ) -> Result<(), ApiError> {
        let takes_elsewhere = config.mirror.is_some() || !config.sources.is_empty();
        let bound = self.facts.duplicate_window_ns_max;
        let Some(most) = bound.filter(|most| (1..DUPLICATE_WINDOW_NS).contains(most)) else {
            return Ok(());
        };
        if config.duplicate_window != 0 || takes_elsewhere {
            return Ok(());
        }
        if pedantic {
            let text = "duplicate window limits are higher than current limits";
            return Err(errors::PEDANTIC.with("err", text));
        }
        if config.max_age == 0 || config.max_age >= most {
            config.duplicate_window = most;
        }
        Ok(())
    }
}
