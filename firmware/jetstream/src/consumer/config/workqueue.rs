use frond_subject::overlaps;

use super::{AckPolicy, ConsumerConfig, DeliverPolicy, Retention, ServerLimits, StreamFacts};
use crate::errors::{
    ApiError, CONSUMER_WQ_CONSUMER_NOT_DELIVER_ALL, CONSUMER_WQ_CONSUMER_NOT_UNIQUE,
    CONSUMER_WQ_MULTIPLE_UNFILTERED, CONSUMER_WQ_REQUIRES_EXPLICIT_ACK, MAXIMUM_CONSUMERS_LIMIT,
};

/// Judges a prepared description against the stream's other consumers (without the one of its
/// own name); `is_new`: no consumer of that name exists.
///
/// # Errors
/// 10026, or 10098 to 10101 on a work-queue stream.
pub(crate) fn admit_new<'a>(
    wanted: &ConsumerConfig,
    stream: &StreamFacts,
    server: &ServerLimits,
    others: impl Iterator<Item = &'a ConsumerConfig>,
    is_new: bool,
) -> Result<(), ApiError> {
    let others: Vec<_> = others.filter(|other| is_counted(other)).collect();
    let most = [stream.max_consumers, server.account_max_consumers]
        .into_iter()
        .filter(|&bound| bound > 0)
        .min()
        .or_else(|| Some(server.default_max_consumers).filter(|&most| most > 0));
    let count = i64::try_from(others.len()).unwrap_or(i64::MAX);
    if is_new && is_counted(wanted) && most.is_some_and(|most| count >= most) {
        return Err(MAXIMUM_CONSUMERS_LIMIT);
    }
    if stream.retention != Retention::WorkQueue || !is_counted(wanted) {
        return Ok(());
    }
    if !matches!(
        wanted.ack_policy,
        AckPolicy::Explicit | AckPolicy::FlowControl
    ) {
        return Err(CONSUMER_WQ_REQUIRES_EXPLICIT_ACK);
    }
    if !others.is_empty() {
        if wanted.filters().is_empty() {
            return Err(CONSUMER_WQ_MULTIPLE_UNFILTERED);
        }
        if others.iter().any(|other| share_a_subject(wanted, other)) {
            return Err(CONSUMER_WQ_CONSUMER_NOT_UNIQUE);
        }
    }
    if wanted.deliver_policy != DeliverPolicy::All {
        return Err(CONSUMER_WQ_CONSUMER_NOT_DELIVER_ALL);
    }
    Ok(())
}

/// Consumers of mirrors and sources don't count.
const fn is_counted(config: &ConsumerConfig) -> bool {
    !config.direct && !config.sourcing
}

fn share_a_subject(a: &ConsumerConfig, b: &ConsumerConfig) -> bool {
    let (a, b) = (a.filters(), b.filters());
    let hits = |x: &str| b.is_empty() || b.iter().any(|y| overlaps(x, y));
    a.is_empty() || a.iter().any(|x| hits(x))
}
