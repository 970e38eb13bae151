//! Where a new consumer begins.

use std::collections::BTreeSet;

use frond_clock::Timestamp;
use frond_ledger::Seq;

use super::config::{ConsumerConfig, DeliverPolicy, StreamFacts};
use super::io::Messages;
use super::progress::Progress;

/// The progress of a consumer that has delivered nothing, and the list it delivers first.
// spec: nats-server v2.14.0 server/consumer.go selectStartingSeqNo
pub(crate) fn start(
    config: &ConsumerConfig,
    stream: &StreamFacts,
    messages: &dyn Messages,
) -> (Progress, BTreeSet<Seq>) {
    let filters = config.filters();
    let (first, last) = (messages.first(), messages.last());
    let listed =
        config.deliver_policy == DeliverPolicy::LastPerSubject && stream.max_msgs_per_subject != 1;
    if listed {
        let list: BTreeSet<Seq> = messages
            .last_by_subject(last, &filters)
            .into_iter()
            .collect();
        if let Some(&seq) = list.first() {
            return (Progress::starting_at(seq, Some(last)), list);
        }
    }
    let wanted = match config.deliver_policy {
        DeliverPolicy::All => first,
        DeliverPolicy::LastPerSubject if listed => last,
        DeliverPolicy::LastPerSubject => first,
        DeliverPolicy::Last if filters.is_empty() => last,
        DeliverPolicy::Last => messages.last_match(&filters).unwrap_or(first),
        DeliverPolicy::New => last + 1,
        DeliverPolicy::ByStartSequence => config.opt_start_seq,
        DeliverPolicy::ByStartTime => {
            let at = messages.at_time(config.starts_at().unwrap_or_default());
            messages.next(at, &filters).unwrap_or(at)
        }
    };
    // Only an explicit start may lie in the future: it waits there.
    let may_wait = config.opt_start_seq != 0 && (!config.direct || config.sourcing);
    let begin = if wanted > last && !may_wait {
        last + 1
    } else {
        wanted.max(first)
    };
    (Progress::starting_at(begin, None), BTreeSet::new())
}

/// Where a consumer begins whose progress is lost: at nothing later than when it was made.
pub(crate) fn start_again(
    config: &ConsumerConfig,
    stream: &StreamFacts,
    created: Timestamp,
    messages: &dyn Messages,
) -> (Progress, BTreeSet<Seq>) {
    match config.deliver_policy {
        DeliverPolicy::Last | DeliverPolicy::LastPerSubject | DeliverPolicy::New => {
            let next = messages.at_time(created);
            let before = u64::from(config.deliver_policy != DeliverPolicy::New);
            let begin = next.saturating_sub(before).max(messages.first());
            (Progress::starting_at(begin, None), BTreeSet::new())
        }
        DeliverPolicy::All | DeliverPolicy::ByStartSequence | DeliverPolicy::ByStartTime => {
            start(config, stream, messages)
        }
    }
}

/// What is left of the list of last messages when a consumer is restored.
pub(crate) fn rest_of_list(
    progress: &Progress,
    filters: &[Box<str>],
    messages: &dyn Messages,
) -> BTreeSet<Seq> {
    let Some(end) = progress.list_end else {
        return BTreeSet::new();
    };
    messages
        .last_by_subject(end, filters)
        .into_iter()
        .filter(|seq| *seq >= progress.next_stream)
        .collect()
}
