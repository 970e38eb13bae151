use super::{Action, ConsumerConfig};
use crate::errors::{
    ApiError, CONSUMER_ALREADY_EXISTS, CONSUMER_CREATE, CONSUMER_DOES_NOT_EXIST,
    CONSUMER_MAX_DELIVER_BACKOFF, CONSUMER_NAME_EXIST,
};

/// Judges a prepared description against the consumer that exists under its name, if any.
/// `bound`: somebody listens on the existing deliver subject.
///
/// # Errors
/// 10148, 10149, 10013 or 10012 with the reason.
pub(crate) fn admit_change(
    existing: Option<&ConsumerConfig>,
    wanted: &ConsumerConfig,
    action: Action,
    bound: bool,
) -> Result<(), ApiError> {
    let Some(existing) = existing else {
        return match action {
            Action::Update => Err(CONSUMER_DOES_NOT_EXIST),
            Action::Create | Action::CreateOrUpdate => Ok(()),
        };
    };
    match action {
        Action::Create if !same(existing, wanted) => Err(CONSUMER_ALREADY_EXISTS),
        Action::Create => Ok(()),
        Action::Update | Action::CreateOrUpdate => changeable(existing, wanted, bound),
    }
}

/// Whether two prepared descriptions mean the same; what servers note about versions does not count.
pub(crate) fn same(a: &ConsumerConfig, b: &ConsumerConfig) -> bool {
    let plain = |config: &ConsumerConfig| {
        let mut config = config.clone();
        config.metadata.retain(|key, _| !key.starts_with("_nats."));
        config.pause_until = None;
        config
    };
    plain(a) == plain(b)
}

// spec: nats-server v2.14.0 server/consumer.go checkNewConsumerConfig
fn changeable(old: &ConsumerConfig, new: &ConsumerConfig, bound: bool) -> Result<(), ApiError> {
    if same(old, new) {
        return Ok(());
    }
    let fixed = [
        (old.deliver_policy == new.deliver_policy, "deliver policy"),
        (old.mem_storage == new.mem_storage, "storage type"),
        (old.direct == new.direct, "direct"),
        (old.sourcing == new.sourcing, "sourcing"),
        (old.opt_start_seq == new.opt_start_seq, "start sequence"),
        (old.starts_at() == new.starts_at(), "start time"),
        (old.ack_policy == new.ack_policy, "ack policy"),
        (old.replay_policy == new.replay_policy, "replay policy"),
        (old.idle_heartbeat == new.idle_heartbeat, "heart beats"),
        (old.flow_control == new.flow_control, "flow control"),
    ];
    if let Some((_, what)) = fixed.into_iter().find(|(kept, _)| !kept) {
        return refuse(&format!("{what} can not be updated"));
    }
    if old.deliver_subject != new.deliver_subject {
        if !old.is_push() {
            return refuse("can not update pull consumer to push based");
        }
        if !new.is_push() {
            return refuse("can not update push consumer to pull based");
        }
        if bound {
            return Err(CONSUMER_NAME_EXIST);
        }
    }
    if old.max_waiting != new.max_waiting {
        return refuse("max waiting can not be updated");
    }
    let steps = i64::try_from(new.backoff.len()).unwrap_or(i64::MAX);
    if steps > 0 && new.max_deliver != -1 && steps > new.max_deliver {
        return Err(CONSUMER_MAX_DELIVER_BACKOFF);
    }
    Ok(())
}

fn refuse(text: &str) -> Result<(), ApiError> {
    Err(CONSUMER_CREATE.with("err", text))
}
