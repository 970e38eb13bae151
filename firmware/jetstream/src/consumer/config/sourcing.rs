use super::{AckPolicy, ConsumerConfig, Retention};

impl ConsumerConfig {
    /// What becomes of the description another server sends for its mirror or source, before
    /// [`ConsumerConfig::prepare`]. `existing`: the consumer of its (durable) name, if there is
    /// one; `suffix`: a generated name.
    ///
    /// A stream that keeps messages for its readers needs a reader that stays, acknowledged by
    /// flow control; elsewhere each attempt of the other server gets a consumer of its own.
    // spec: nats-server v2.15.1 server/jetstream_api.go jsConsumerCreateRequest; ADR-60
    pub(crate) fn adapt_to_sourcing(
        &mut self,
        retention: Retention,
        existing: impl FnOnce(&str) -> Option<Self>,
        suffix: &str,
    ) {
        if self.direct && self.sourcing && !self.name.is_empty() {
            match retention {
                Retention::Interest | Retention::WorkQueue => self.stay(),
                Retention::Limits => self.name = format!("{}-{suffix}", self.name),
            }
        }
        if self.sourcing
            && self.is_durable()
            && let Some(existing) = existing(&self.durable_name)
        {
            self.deliver_policy = existing.deliver_policy;
            self.opt_start_seq = existing.opt_start_seq;
            self.opt_start_time = existing.opt_start_time;
        }
    }

    fn stay(&mut self) {
        self.direct = false;
        self.durable_name.clone_from(&self.name);
        self.ack_policy = AckPolicy::FlowControl;
        self.ack_wait = 0;
        self.max_deliver = 0;
        self.inactive_threshold = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::config::{DeliverPolicy, ServerLimits, StreamFacts};

    /// As nats-server 2.15.1 asks for a source.
    const ASKED: &str = r#"{"name":"JS_SRC_abc","deliver_policy":"all","ack_policy":"none",
        "ack_wait":79200000000000,"max_deliver":1,"replay_policy":"instant","flow_control":true,
        "deliver_subject":"$JS.S.x","idle_heartbeat":1000000000,
        "inactive_threshold":10000000000,"num_replicas":0,"direct":true,"sourcing":true}"#;

    fn prepared(retention: Retention, existing: Option<ConsumerConfig>) -> ConsumerConfig {
        let facts = StreamFacts {
            replicas: 1,
            retention,
            ..StreamFacts::default()
        };
        let mut config: ConsumerConfig = serde_json::from_str(ASKED).unwrap();
        config.adapt_to_sourcing(retention, |_| existing, "12345678");
        config
            .prepare(&facts, &ServerLimits::default(), false)
            .unwrap()
    }

    #[test]
    fn each_attempt_has_its_own_consumer() {
        let config = prepared(Retention::Limits, None);
        assert_eq!(config.asset_name(), "JS_SRC_abc-12345678");
        assert!(config.direct && config.ack_policy == AckPolicy::None);
    }

    #[test]
    fn a_stream_that_waits_for_readers_gets_one_that_stays() {
        for retention in [Retention::Interest, Retention::WorkQueue] {
            let config = prepared(retention, None);
            assert_eq!(config.durable_name, "JS_SRC_abc");
            assert!(!config.direct && config.ack_policy == AckPolicy::FlowControl);
            assert_eq!(config.inactive_threshold, 0);
        }
        let existing = ConsumerConfig {
            deliver_policy: DeliverPolicy::New,
            ..ConsumerConfig::default()
        };
        let config = prepared(Retention::WorkQueue, Some(existing));
        assert_eq!(config.deliver_policy, DeliverPolicy::New);
    }
}
