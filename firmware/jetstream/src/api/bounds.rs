//! What the server, an account and other streams let a stream be.

use crate::allowance::AccountLimits;
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
        if let Some(republish) = &config.republish
            && self.is_closed(&republish.dest)
        {
            let text = "stream configuration for republish destination is closed to streams";
            return Err(validate::invalid(text));
        }
        let is_unkept = |subject: &String| {
            let mut unkept = self.facts.unkept.iter();
            unkept.any(|it| frond_subject::overlaps(it, subject))
        };
        if let Some(subject) = config.subjects.iter().find(|it| is_unkept(it)) {
            let text = format!("subject {subject:?} is not for streams to keep");
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

    /// Whether some of what a destination names is closed to streams and consumers. What a
    /// transform makes of a subject may be anything.
    pub(crate) fn is_closed(&self, destination: &str) -> bool {
        let is_made = |token: &str| {
            let number = token.strip_prefix('$').unwrap_or_default();
            token.contains("{{") || number.starts_with(|c: char| c.is_ascii_digit())
        };
        let mut filter = String::new();
        for token in destination.split('.') {
            if is_made(token) {
                filter.push('>');
                break;
            }
            filter.push_str(token);
            filter.push('.');
        }
        let filter = filter.strip_suffix('.').unwrap_or(&filter);
        let mut closed = self.facts.closed.iter();
        !destination.is_empty() && closed.any(|it| frond_subject::overlaps(it, filter))
    }

    /// Whether the account may have one more stream like this, or change one; nobody looked at it yet.
    ///
    /// spec: nats-server v2.15.1 server/jetstream_api.go `jsNonClusteredStreamLimitsCheck`
    pub(crate) fn check_count(
        &self,
        tenant: Tenant,
        old: Option<&StreamConfig>,
        config: &StreamConfig,
    ) -> Result<&AccountLimits, ApiError> {
        let Some(account) = self.accounts.get(&tenant) else {
            return Err(errors::NOT_ENABLED_FOR_ACCOUNT);
        };
        let limits = account.allowance.of(config.num_replicas);
        let limits = limits.ok_or(errors::NO_LIMITS)?;
        let is_there = account.by_name.contains_key(config.name.as_str());
        let others = (account.by_name.len() - usize::from(is_there)) as u64;
        if old.is_none() && limit(limits.max_streams).is_some_and(|max| others >= max) {
            return Err(errors::MAXIMUM_STREAMS_LIMIT);
        }
        if limits.max_consumers > 0 && config.max_consumers > limits.max_consumers {
            return Err(errors::MAXIMUM_CONSUMERS_LIMIT);
        }
        Ok(limits)
    }

    /// Whether the account and the server have room for a stream, instead of `old` if given.
    pub(crate) fn check_room(
        &self,
        tenant: Tenant,
        old: Option<&StreamConfig>,
        config: &StreamConfig,
    ) -> Result<(), ApiError> {
        let limits = self.check_count(tenant, old, config)?;
        let (of_server, full) = match config.storage {
            Storage::File => (
                self.facts.storage_bytes_max,
                errors::STORAGE_RESOURCES_EXCEEDED,
            ),
            Storage::Memory => (
                self.facts.memory_bytes_max,
                errors::MEMORY_RESOURCES_EXCEEDED,
            ),
        };
        let of_account = limits.bytes_max(config.storage);
        let [own, all] = self.reserved_beside(tenant, config);
        // Who says no size needs room for something.
        let unsaid = u64::from(old.is_none() && config.max_bytes < 0);
        let bytes = config.reserved_bytes().max(unsaid);
        let before = old.map_or(0, StreamConfig::reserved_bytes);
        let is_over = |taken: u64, bytes: u64, max: u64| taken.saturating_add(bytes) > max;
        if of_account.is_some_and(|max| is_over(own, bytes, max))
            || of_server.is_some_and(|max| is_over(all, bytes.max(before), max))
        {
            return Err(full);
        }
        Ok(())
    }

    /// Bytes that streams reserve beside the one of this name, where that is kept: those of its account,
    /// and all.
    fn reserved_beside(&self, tenant: Tenant, config: &StreamConfig) -> [u64; 2] {
        let mut reserved = [0, 0];
        for id in self.accounts.keys() {
            let own = *id == tenant;
            for host in self.hosts_of(*id) {
                let it = &host.stream.config;
                if it.storage != config.storage || own && it.name == config.name {
                    continue;
                }
                let [of_account, of_all] = &mut reserved;
                *of_all += it.reserved_bytes();
                *of_account += if own { it.reserved_bytes() } else { 0 };
            }
        }
        reserved
    }

    /// Whether the account lets one stream be as large.
    pub(crate) fn check_size(&self, tenant: Tenant, config: &StreamConfig) -> Result<(), ApiError> {
        let Some(account) = self.accounts.get(&tenant) else {
            return Err(errors::NOT_ENABLED_FOR_ACCOUNT);
        };
        let Some(limits) = account.allowance.of(config.num_replicas) else {
            return Ok(());
        };
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
