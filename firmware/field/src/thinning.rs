use std::collections::BTreeMap;

use frond_board::Quality;
use frond_clock::Instant;
use frond_config::{Condition, Conditioning};
use frond_subject::Transform;

use crate::conditioner::{Conditioner, Said, Value};
use crate::limits::THINNED_SUBJECTS_MAX;
use crate::member;

/// Messages of others, thinned out on their way to the uplink: one rule of the configuration.
#[derive(Debug)]
pub(crate) struct Thinning {
    pub(crate) from: String,
    to: Transform,
    field: Option<String>,
    options: Conditioning,
    subjects: BTreeMap<String, Stream>,
    /// None of them has to be looked at before.
    next: Option<Instant>,
}

/// One subject under a rule.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) to: String,
    conditioner: Conditioner,
    pub(crate) seq: u64,
}

/// What becomes of a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Thinned {
    /// It goes on as it is: it has no number, or its subject is one too many.
    AsItIs(String),
    /// This goes on in its stead.
    Say {
        to: String,
        said: Said,
        seq: u64,
    },
    Nothing,
}

impl Thinning {
    pub(crate) fn new(options: &Condition) -> Option<Self> {
        Some(Self {
            from: options.from.clone(),
            to: Transform::new(&options.from, &options.to).ok()?,
            field: options.field.clone(),
            options: options.conditioning.clone(),
            subjects: BTreeMap::new(),
            next: None,
        })
    }

    pub(crate) fn latest(&self) -> Option<&str> {
        self.options.latest.as_deref()
    }

    pub(crate) fn take(&mut self, now: Instant, subject: &str, payload: &[u8]) -> Thinned {
        let number = self.number(payload);
        if !self.subjects.contains_key(subject) {
            let to = self.to.apply(subject, 0).unwrap_or_default();
            if to.is_empty() {
                return Thinned::Nothing;
            }
            if number.is_none() || self.subjects.len() >= THINNED_SUBJECTS_MAX {
                return Thinned::AsItIs(to);
            }
            let stream = Stream {
                to,
                conditioner: Conditioner::new(&self.options),
                seq: 0,
            };
            self.subjects.insert(subject.to_owned(), stream);
        }
        let Some(stream) = self.subjects.get_mut(subject) else {
            return Thinned::Nothing;
        };
        let Some(number) = number else {
            return Thinned::AsItIs(stream.to.clone());
        };
        let quality = Quality::Good;
        let said = stream.conditioner.take(now, Value { number, quality });
        self.next = self
            .next
            .into_iter()
            .chain(stream.conditioner.deadline())
            .min();
        said.map_or(Thinned::Nothing, |said| stream.say(said))
    }

    /// What has waited long enough.
    pub(crate) fn time(&mut self, now: Instant) -> Vec<Thinned> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let streams = self.subjects.values_mut();
        let said = streams.filter_map(|stream| {
            let said = stream.conditioner.time(now)?;
            Some(stream.say(said))
        });
        let said = said.collect();
        let streams = self.subjects.values();
        self.next = streams
            .filter_map(|stream| stream.conditioner.deadline())
            .min();
        said
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn number(&self, payload: &[u8]) -> Option<f64> {
        let number = match &self.field {
            None => std::str::from_utf8(payload).ok()?.trim().parse().ok()?,
            Some(field) => member::number(payload, field)?,
        };
        Some(number).filter(|number: &f64| number.is_finite())
    }
}

impl Stream {
    fn say(&mut self, said: Said) -> Thinned {
        self.seq += 1;
        Thinned::Say {
            to: self.to.clone(),
            said,
            seq: self.seq,
        }
    }
}
