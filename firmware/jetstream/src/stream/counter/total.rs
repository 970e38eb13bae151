use std::collections::{BTreeMap, HashMap};

use frond_ledger::{Body, Seq};
use frond_wire::Headers;
use serde::Deserialize;

use super::decimal::Decimal;
use crate::limits::COUNTERS_KNOWN_MAX;

/// The header that tells them.
pub(super) const ORIGINS: &str = "Nats-Counter-Sources";

/// What each subject of each origin added up to when it was last heard of.
pub(crate) type Origins = BTreeMap<String, BTreeMap<String, String>>;

/// What a counter's last message says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) value: Decimal,
    pub(crate) origins: Origins,
}

/// The payload of a counter's message.
#[derive(Deserialize)]
struct Payload {
    #[serde(default)]
    val: String,
}

/// Why a counter's total cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The message that tells it says something else.
    Broken,
    /// The message that tells it has to be read first.
    Unread(Seq),
}

/// The totals that were needed last, each with the sequence that told it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    known: HashMap<Box<str>, (Seq, Option<Total>)>,
}

impl Total {
    /// What a message tells; `None` when it is no counter's.
    pub(crate) fn of(header: &[u8], payload: &[u8]) -> Option<Self> {
        let origins = origins_in(&Headers::new(header))?;
        let value = value_of(payload)?;
        Some(Self { value, origins })
    }
}

/// What a message says of the origins; `None` when it makes no sense.
pub(super) fn origins_in(headers: &Headers<'_>) -> Option<Origins> {
    match headers.get(ORIGINS) {
        Some(text) if !text.is_empty() => serde_json::from_str(text).ok(),
        Some(_) | None => Some(Origins::default()),
    }
}

/// The number in a counter's message; `None` when it is no counter's.
pub(crate) fn value_of(payload: &[u8]) -> Option<Decimal> {
    let payload: Payload = serde_json::from_slice(payload).ok()?;
    Some(Decimal::parse(&payload.val).unwrap_or_default())
}

impl Totals {
    /// What the message `seq`, the last of `subject`, tells, if that is known.
    pub(crate) fn find(&self, subject: &str, seq: Seq) -> Result<&Total, Unknown> {
        match self.known.get(subject) {
            Some((told, total)) if *told == seq => total.as_ref().ok_or(Unknown::Broken),
            Some(_) | None => Err(Unknown::Unread(seq)),
        }
    }

    /// A message that was read back tells something.
    pub(crate) fn learn(&mut self, seq: Seq, body: &Body) {
        let total = Total::of(body.header(), body.payload());
        self.insert(body.subject(), seq, total);
    }

    /// A message that cannot be read tells nothing.
    pub(crate) fn lose(&mut self, subject: &str, seq: Seq) {
        self.insert(subject, seq, None);
    }

    /// A message on its way tells this.
    pub(crate) fn tell(&mut self, subject: &str, seq: Seq, total: Option<Total>) {
        self.insert(subject, seq, total);
    }

    fn insert(&mut self, subject: &str, seq: Seq, total: Option<Total>) {
        if self.known.len() >= COUNTERS_KNOWN_MAX && !self.known.contains_key(subject) {
            self.known.clear();
        }
        self.known.insert(subject.into(), (seq, total));
    }
}
