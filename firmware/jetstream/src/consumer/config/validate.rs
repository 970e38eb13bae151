use std::num::{IntErrorKind, ParseIntError};

use frond_subject::{Tree, is_literal, is_subset, is_valid_filter};

use super::{AckPolicy, ConsumerConfig, DeliverPolicy, PriorityPolicy, Retention};
use super::{ServerLimits, StreamFacts};
use crate::consumer::limits;
use crate::errors::*;
use crate::limits::SUBJECTS_MAX;

type Verdict = Result<(), ApiError>;

// spec: nats-server v2.14.0 server/consumer.go checkConsumerCfg; the order decides which error is told.
impl ConsumerConfig {
    /// Checks every rule that needs no other consumer.
    pub(super) fn validate(&self, stream: &StreamFacts, server: &ServerLimits) -> Verdict {
        self.names()?;
        self.replicas(stream)?;
        self.waits()?;
        if self.is_push() {
            self.push_rules(stream)?;
        } else {
            self.pull_rules(stream, server)?;
        }
        self.bounds(stream, server)?;
        self.direct_rules()?;
        self.filter_rules()?;
        self.start_rules()?;
        self.last_rules()?;
        self.priority_rules()
    }

    fn names(&self) -> Verdict {
        for (name, what) in [(&self.name, "name"), (&self.durable_name, "durable name")] {
            if name.contains([' ', '\t', '\r', '\n', '\x0c', '.', '*', '>', '\\', '/']) {
                return invalid(&format!(
                    "consumer {what} can not contain '.', '*', '>', '\\', '/'"
                ));
            }
            if name.len() > limits::NAME_BYTES_MAX {
                return Err(CONSUMER_NAME_TOO_LONG.with("max", limits::NAME_BYTES_MAX));
            }
        }
        Ok(())
    }

    fn replicas(&self, stream: &StreamFacts) -> Verdict {
        let tied = stream.retention != Retention::Limits;
        refuse_if(
            self.num_replicas > stream.replicas,
            CONSUMER_REPLICAS_EXCEEDS_STREAM,
        )?;
        refuse_if(self.num_replicas < 0, REPLICAS_COUNT_CANNOT_BE_NEGATIVE)?;
        refuse_if(
            tied && self.num_replicas != 0 && self.num_replicas != stream.replicas,
            CONSUMER_REPLICAS_SHOULD_MATCH_STREAM,
        )
    }

    fn waits(&self) -> Verdict {
        refuse_if(
            self.backoff.iter().any(|&wait| wait < 0),
            CONSUMER_BACK_OFF_NEGATIVE,
        )?;
        refuse_if(self.ack_wait < 0, CONSUMER_ACK_WAIT_NEGATIVE)?;
        if self.ack_policy == AckPolicy::FlowControl {
            self.ack_by_flow_rules()?;
        }
        let steps = i64::try_from(self.backoff.len()).unwrap_or(i64::MAX);
        refuse_if(
            steps > 0 && self.max_deliver != -1 && steps > self.max_deliver,
            CONSUMER_MAX_DELIVER_BACKOFF,
        )?;
        if self.description.len() > limits::DESCRIPTION_BYTES_MAX {
            return Err(CONSUMER_DESCRIPTION_TOO_LONG.with("max", limits::DESCRIPTION_BYTES_MAX));
        }
        Ok(())
    }

    fn ack_by_flow_rules(&self) -> Verdict {
        refuse_if(!self.is_push(), CONSUMER_ACK_FC_REQUIRES_PUSH)?;
        refuse_if(!self.flow_control, CONSUMER_ACK_FC_REQUIRES_FC)?;
        if self.idle_heartbeat != 1_000_000_000 {
            return invalid("flow control ack policy heartbeat needs to be 1s");
        }
        refuse_if(
            self.max_ack_pending <= 0,
            CONSUMER_ACK_FC_REQUIRES_MAX_ACK_PENDING,
        )?;
        refuse_if(
            self.ack_wait != 0 || !self.backoff.is_empty(),
            CONSUMER_ACK_FC_REQUIRES_NO_ACK_WAIT,
        )?;
        refuse_if(
            self.max_deliver > 0,
            CONSUMER_ACK_FC_REQUIRES_NO_MAX_DELIVER,
        )
    }

    fn push_rules(&self, stream: &StreamFacts) -> Verdict {
        let subject = self.deliver_subject.as_str();
        let wild = subject.split('.').any(|token| token == "*" || token == ">");
        refuse_if(wild, CONSUMER_DELIVER_TO_WILDCARDS)?;
        refuse_if(!is_literal(subject), CONSUMER_INVALID_DELIVER_SUBJECT)?;
        let cycle = stream
            .subjects
            .iter()
            .any(|stored| is_subset(subject, stored));
        refuse_if(cycle, CONSUMER_DELIVER_CYCLE)?;
        refuse_if(self.max_waiting != 0, CONSUMER_PUSH_MAX_WAITING)?;
        refuse_if(
            self.max_ack_pending > 0 && !self.ack_policy.is_acked(),
            CONSUMER_MAX_PENDING_ACK_POLICY_REQUIRED,
        )?;
        refuse_if(
            (1..limits::HEARTBEAT_NS_MIN).contains(&self.idle_heartbeat),
            CONSUMER_SMALL_HEARTBEAT,
        )
    }

    fn pull_rules(&self, stream: &StreamFacts, server: &ServerLimits) -> Verdict {
        refuse_if(
            !self.ack_policy.is_acked() && stream.retention == Retention::WorkQueue,
            CONSUMER_PULL_REQUIRES_ACK,
        )?;
        refuse_if(self.rate_limit_bps > 0, CONSUMER_PULL_WITH_RATE_LIMIT)?;
        refuse_if(self.idle_heartbeat > 0, CONSUMER_HB_REQUIRES_PUSH)?;
        refuse_if(self.flow_control, CONSUMER_FC_REQUIRES_PUSH)?;
        refuse_if(
            (1..limits::EXPIRES_NS_MIN).contains(&self.max_expires),
            CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL,
        )?;
        let most = server.max_request_batch;
        refuse_if(
            most > 0 && self.max_batch > most,
            CONSUMER_MAX_REQUEST_BATCH_EXCEEDED.with("limit", most),
        )
    }

    fn bounds(&self, stream: &StreamFacts, server: &ServerLimits) -> Verdict {
        for bound in [
            server.max_ack_pending,
            server.account_max_ack_pending,
            stream.limits.max_ack_pending,
        ] {
            refuse_if(
                bound > 0 && self.max_ack_pending > bound,
                CONSUMER_MAX_PENDING_ACK_EXCESS.with("limit", bound),
            )?;
        }
        let bound = stream.limits.inactive_threshold;
        if bound > 0 && self.inactive_threshold > bound {
            let shown = crate::consumer::duration::go_duration(bound);
            return Err(CONSUMER_INACTIVE_THRESHOLD_EXCESS.with("limit", shown));
        }
        Ok(())
    }

    fn direct_rules(&self) -> Verdict {
        refuse_if(
            self.direct && !self.is_push(),
            CONSUMER_DIRECT_REQUIRES_PUSH,
        )?;
        refuse_if(
            self.direct && self.is_durable(),
            CONSUMER_DIRECT_REQUIRES_EPHEMERAL,
        )
    }

    fn filter_rules(&self) -> Verdict {
        refuse_if(
            !self.filter_subject.is_empty() && !self.filter_subjects.is_empty(),
            CONSUMER_DUPLICATE_FILTER_SUBJECTS,
        )?;
        let any_empty = self.filter_subjects.iter().any(String::is_empty);
        refuse_if(any_empty, CONSUMER_EMPTY_FILTER)?;
        let filters = self.filters();
        if filters.len() > SUBJECTS_MAX {
            return invalid("too many filter subjects");
        }
        let mut earlier = Tree::new();
        for filter in &filters {
            if !is_valid_filter(filter) {
                return invalid("invalid subject");
            }
            let mut inside_another = false;
            earlier.for_each_overlap(filter, &mut |other: &&str| {
                inside_another |= is_subset(filter, other) || is_subset(other, filter);
            });
            refuse_if(inside_another, CONSUMER_OVERLAPPING_SUBJECT_FILTERS)?;
            earlier.insert(filter, &**filter);
        }
        Ok(())
    }

    fn start_rules(&self) -> Verdict {
        let (seq, time) = (self.opt_start_seq != 0, self.opt_start_time.is_some());
        let plain = |policy: &str| {
            also_set(seq, policy, "start sequence")?;
            also_set(time, policy, "start time")
        };
        match self.deliver_policy {
            DeliverPolicy::All => plain("all"),
            DeliverPolicy::Last => plain("last"),
            DeliverPolicy::New => plain("new"),
            DeliverPolicy::LastPerSubject => {
                plain("last per subject")?;
                not_set(
                    !self.filters().is_empty(),
                    "last per subject",
                    "filter subject",
                )
            }
            DeliverPolicy::ByStartSequence => {
                not_set(seq, "by start sequence", "start sequence")?;
                also_set(time, "by start sequence", "start time")
            }
            DeliverPolicy::ByStartTime => {
                not_set(time, "by start time", "start time")?;
                also_set(seq, "by start time", "start start sequence")
            }
        }
    }

    fn last_rules(&self) -> Verdict {
        self.sampling()?;
        refuse_if(
            self.flow_control && self.idle_heartbeat == 0,
            CONSUMER_WITH_FLOW_CONTROL_NEEDS_HEARTBEATS,
        )?;
        refuse_if(
            self.is_durable() && !self.name.is_empty() && self.name != self.durable_name,
            CONSUMER_CREATE_DURABLE_AND_NAME_MISMATCH,
        )?;
        let bytes: usize = self.metadata.iter().map(|(k, v)| k.len() + v.len()).sum();
        refuse_if(
            bytes > limits::METADATA_BYTES_MAX,
            CONSUMER_METADATA_LENGTH
                .with("limit", format!("{}KB", limits::METADATA_BYTES_MAX / 1024)),
        )
    }

    fn sampling(&self) -> Verdict {
        let Some(text) = (!self.sample_freq.is_empty()).then(|| {
            self.sample_freq
                .strip_suffix('%')
                .unwrap_or(&self.sample_freq)
        }) else {
            return Ok(());
        };
        match text.parse::<i64>() {
            Ok(freq) if freq >= 0 => Ok(()),
            Ok(_) => Err(CONSUMER_INVALID_SAMPLING.with("err", "<nil>")),
            Err(error) => Err(CONSUMER_INVALID_SAMPLING.with(
                "err",
                format!("strconv.Atoi: parsing {text:?}: {}", go_fault(&error)),
            )),
        }
    }

    fn priority_rules(&self) -> Verdict {
        if self.priority_policy == PriorityPolicy::None {
            refuse_if(
                !self.priority_groups.is_empty(),
                CONSUMER_PRIORITY_GROUP_WITH_POLICY_NONE,
            )?;
            return refuse_if(
                self.priority_timeout > 0,
                CONSUMER_PINNED_TTL_WITHOUT_PRIORITY_POLICY_NONE,
            );
        }
        refuse_if(self.is_push(), CONSUMER_PUSH_WITH_PRIORITY_GROUP)?;
        refuse_if(
            self.priority_groups.is_empty(),
            CONSUMER_PRIORITY_POLICY_WITHOUT_GROUP,
        )?;
        for group in &self.priority_groups {
            refuse_if(group.is_empty(), CONSUMER_EMPTY_GROUP_NAME)?;
            refuse_if(!is_group_name(group), CONSUMER_INVALID_GROUP_NAME)?;
        }
        Ok(())
    }
}

/// Why a text is no number, in Go's words.
const fn go_fault(error: &ParseIntError) -> &'static str {
    if matches!(
        error.kind(),
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow
    ) {
        "value out of range"
    } else {
        "invalid syntax"
    }
}

/// Whether a priority group may have this name.
pub(crate) fn is_group_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/_=-".contains(&b);
    (1..=16).contains(&name.len()) && name.bytes().all(plain)
}

fn refuse_if(broken: bool, error: ApiError) -> Verdict {
    if broken { Err(error) } else { Ok(()) }
}

fn invalid(text: &str) -> Verdict {
    Err(STREAM_INVALID_CONFIG.with("err", text))
}

fn also_set(set: bool, policy: &str, start: &str) -> Verdict {
    let text =
        format!("consumer delivery policy is deliver {policy}, but optional {start} is also set");
    refuse_if(set, CONSUMER_INVALID_POLICY.with("err", text))
}

fn not_set(set: bool, policy: &str, what: &str) -> Verdict {
    let text =
        format!("consumer delivery policy is deliver {policy}, but optional {what} is not set");
    refuse_if(!set, CONSUMER_INVALID_POLICY.with("err", text))
}
