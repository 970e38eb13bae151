use super::{AckPolicy, ConsumerConfig, PriorityPolicy, ServerLimits, StreamFacts};
use crate::consumer::limits;
use crate::errors::{ApiError, PEDANTIC};

const SECOND: i64 = 1_000_000_000;

impl ConsumerConfig {
    /// As [`Self::settle`], for a consumer that is made: what this returns may be kept and shown.
    ///
    /// # Errors
    /// The first rule it breaks, in nats-server's order.
    pub(crate) fn prepare(
        self,
        stream: &StreamFacts,
        limits: &ServerLimits,
        pedantic: bool,
    ) -> Result<Self, ApiError> {
        let mut config = self.settle(stream, limits, pedantic)?;
        config.limit_idleness(None);
        Ok(config)
    }

    /// Fills in what was left out and checks every rule.
    ///
    /// # Errors
    /// The first rule it breaks, in nats-server's order.
    pub(crate) fn settle(
        mut self,
        stream: &StreamFacts,
        limits: &ServerLimits,
        pedantic: bool,
    ) -> Result<Self, ApiError> {
        // As nats-server does: what was asked for decides, not what becomes of it.
        self.set_required_level();
        self.unlimited(pedantic)?;
        self.fill(stream, limits, pedantic)?;
        self.validate(stream, limits)?;
        if self.is_durable() && self.name.is_empty() {
            self.name.clone_from(&self.durable_name);
        }
        Ok(self)
    }

    /// What is not durable does not stay without use. That is decided when it is made, or when
    /// its threshold is changed: one without a threshold is changed in other ways without any.
    // spec: nats-server v2.15.1 server/consumer.go updateConfig, updateInactiveThreshold
    pub(crate) fn limit_idleness(&mut self, old: Option<&Self>) {
        let stays = old.is_some_and(|old| {
            old.is_durable() || old.inactive_threshold == self.inactive_threshold
        });
        if !stays && !self.is_durable() && self.inactive_threshold <= 0 {
            self.inactive_threshold = limits::EPHEMERAL_INACTIVE_NS;
        }
    }

    /// Negative numbers mean "no limit" or nothing at all.
    fn unlimited(&mut self, pedantic: bool) -> Result<(), ApiError> {
        if self.max_deliver == 0 || self.max_deliver < -1 {
            refuse_if(
                pedantic && self.max_deliver < -1,
                "max_deliver must be set to -1",
            )?;
            self.max_deliver = -1;
        }
        raise(
            &mut self.max_waiting,
            0,
            pedantic,
            "max_waiting must not be negative",
        )?;
        raise(
            &mut self.max_ack_pending,
            -1,
            pedantic,
            "max_ack_pending must be set to -1",
        )?;
        raise(
            &mut self.max_batch,
            0,
            pedantic,
            "max_batch must not be negative",
        )?;
        raise(
            &mut self.max_expires,
            0,
            pedantic,
            "max_expires must not be negative",
        )?;
        raise(
            &mut self.max_bytes,
            0,
            pedantic,
            "max_bytes must not be negative",
        )?;
        raise(
            &mut self.idle_heartbeat,
            0,
            pedantic,
            "idle_heartbeat must not be negative",
        )?;
        raise(
            &mut self.inactive_threshold,
            0,
            pedantic,
            "inactive_threshold must not be negative",
        )?;
        raise(
            &mut self.priority_timeout,
            0,
            pedantic,
            "priority_timeout must not be negative",
        )
    }

    // spec: nats-server v2.14.0 server/consumer.go setConsumerConfigDefaults
    fn fill(
        &mut self,
        stream: &StreamFacts,
        server: &ServerLimits,
        pedantic: bool,
    ) -> Result<(), ApiError> {
        if !self.is_push() && self.max_waiting == 0 {
            self.max_waiting = limits::WAITING_DEFAULT;
        }
        if self.ack_wait == 0 && matches!(self.ack_policy, AckPolicy::Explicit | AckPolicy::All) {
            self.ack_wait = limits::ACK_WAIT_DEFAULT_NS;
        }
        if let Some(&first) = self.backoff.first() {
            refuse_if(
                pedantic && self.ack_wait != first,
                "first backoff value has to equal batch AckWait",
            )?;
            self.ack_wait = first;
        }
        if self.max_ack_pending == 0 {
            refuse_if(
                pedantic && stream.limits.max_ack_pending > 0,
                "max_ack_pending must be set if it's configured in stream limits",
            )?;
            self.max_ack_pending = stream.limits.max_ack_pending;
        }
        if self.inactive_threshold == 0 {
            refuse_if(
                pedantic && stream.limits.inactive_threshold > 0,
                "inactive_threshold must be set if it's configured in stream limits",
            )?;
            self.inactive_threshold = stream.limits.inactive_threshold;
        }
        if self.max_ack_pending == 0 && self.ack_policy.is_acked() {
            self.max_ack_pending = [server.max_ack_pending, server.account_max_ack_pending]
                .into_iter()
                .filter(|&bound| bound > 0)
                .fold(limits::ACK_PENDING_DEFAULT, i64::min);
        }
        if !self.is_push() && self.max_batch == 0 && server.max_request_batch > 0 {
            refuse_if(
                pedantic,
                "max_request_batch must be set if it's JetStream limits are set",
            )?;
            self.max_batch = server.max_request_batch;
        }
        if self.priority_policy == PriorityPolicy::PinnedClient && self.priority_timeout == 0 {
            self.priority_timeout = 120 * SECOND;
        }
        if self.ack_policy == AckPolicy::FlowControl && !pedantic {
            self.flow_control = true;
            self.idle_heartbeat = SECOND;
        }
        Ok(())
    }

    /// Notes which API level a server needs to serve it.
    // spec: nats-server v2.14.0 server/jetstream_versioning.go setStaticConsumerMetadata
    pub(crate) fn set_required_level(&mut self) {
        for key in ["_nats.ver", "_nats.level", "_nats.req.level"] {
            self.metadata.remove(key);
        }
        let prioritized = self.priority_policy != PriorityPolicy::None
            || self.priority_timeout != 0
            || !self.priority_groups.is_empty();
        let level = if self.ack_policy == AckPolicy::FlowControl {
            "4"
        } else if prioritized || self.pause_until.as_ref().is_some_and(|at| !at.is_zero()) {
            "1"
        } else {
            "0"
        };
        self.metadata.insert("_nats.req.level".into(), level.into());
    }
}

fn raise(value: &mut i64, floor: i64, pedantic: bool, text: &str) -> Result<(), ApiError> {
    if *value < floor {
        refuse_if(pedantic, text)?;
        *value = floor;
    }
    Ok(())
}

fn refuse_if(refused: bool, text: &str) -> Result<(), ApiError> {
    if refused {
        return Err(PEDANTIC.with("err", text));
    }
    Ok(())
}
