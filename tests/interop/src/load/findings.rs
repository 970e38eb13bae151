//! What was promised and is not so.

use std::collections::BTreeMap;
use std::fmt;

const EXAMPLES_MAX: usize = 12;

/// One kind of broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// An acknowledged message is not there.
    Lost,
    /// A message is not what was sent.
    Changed,
    /// Acknowledged messages are in another order.
    Reordered,
    /// A sequence was given to two messages.
    SequenceTwice,
    /// The last sequence is before one that was acknowledged.
    SequenceBack,
    /// A message id was taken twice.
    DedupeForgotten,
    /// A message came again whose acknowledgement was confirmed.
    AckForgotten,
    /// A consumer never got a message.
    NotDelivered,
    /// A stream or consumer that was acknowledged is not there.
    NotThere,
    /// A consumer whose deletion was acknowledged is there.
    Undeleted,
    /// A message whose purge was acknowledged is there.
    Unpurged,
    /// A message is there long after its time.
    NotExpired,
    /// The copy has a message twice or out of order.
    CopiedTwice,
    /// The copy does not have a message.
    NotCopied,
    /// It did not come back by itself, or says that it is not well.
    NotWell,
}

impl Finding {
    fn words(self) -> &'static str {
        match self {
            Self::Lost => "acked messages lost",
            Self::Changed => "messages changed",
            Self::Reordered => "acked messages reordered",
            Self::SequenceTwice => "sequences given twice",
            Self::SequenceBack => "streams whose sequences went back",
            Self::DedupeForgotten => "message ids forgotten",
            Self::AckForgotten => "confirmed consumer acks forgotten",
            Self::NotDelivered => "messages not delivered",
            Self::NotThere => "acked streams or consumers lost",
            Self::Undeleted => "deleted consumers back",
            Self::Unpurged => "purged messages back",
            Self::NotExpired => "messages not expired",
            Self::CopiedTwice => "messages copied twice",
            Self::NotCopied => "messages not copied",
            Self::NotWell => "starts that were not well",
        }
    }
}

/// How often each was found, with some examples.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    counts: BTreeMap<Finding, u64>,
    examples: Vec<String>,
}

impl Findings {
    /// Notes one.
    pub fn add(&mut self, finding: Finding, example: impl fmt::Display) {
        *self.counts.entry(finding).or_default() += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples
                .push(format!("{}: {example}", finding.words()));
        }
    }

    /// Whether all promises were kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How often this was found.
    #[must_use]
    pub fn count(&self, finding: Finding) -> u64 {
        self.counts.get(&finding).copied().unwrap_or(0)
    }

    /// Adds what others found; their examples are left out.
    pub fn merge(&mut self, other: &Self) {
        for (finding, count) in &other.counts {
            *self.counts.entry(*finding).or_default() += count;
        }
    }

    /// Some of them, a line each.
    #[must_use]
    pub fn examples(&self) -> String {
        self.examples.join("\n")
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("every promise kept");
        }
        let all = self.counts.iter();
        let all = all.map(|(finding, count)| format!("{count} {}", finding.words()));
        f.write_str(&all.collect::<Vec<_>>().join(", "))
    }
}
