//! The rollout as it is kept in a bucket: whoever drives it next goes on from there. Two that
//! drive at once are told apart by the sequence of what they replace.

use frond_fleet::{Input, Unwritten};
use frond_runtime::Caller;

use super::Host;
use crate::fleet::bucket;

#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The sequence of what is there.
    sequence: u64,
    /// The ticket of the put that is under way, and those of earlier ones that it takes the place of.
    under_way: Option<(u64, Vec<u64>)>,
    /// What is put after it.
    next: Option<(u64, Vec<u64>, Vec<u8>)>,
}

/// A rollout and its bundle.
type Before = Option<(Vec<u8>, Vec<u8>)>;

const CURRENT: &str = "current";

impl Kept {
    pub(super) fn load(caller: &mut Caller, rollouts: &str) -> Result<(Self, Before), String> {
        let current = bucket::get(caller, rollouts, CURRENT)?;
        let sequence = current.as_ref().map_or(0, |(sequence, _)| *sequence);
        let bundle = bucket::get(caller, rollouts, "bundle")?;
        let kept = Self {
            sequence,
            ..Self::default()
        };
        let before = current.zip(bundle);
        Ok((
            kept,
            before.map(|((_, rollout), (_, bundle))| (rollout, bundle)),
        ))
    }
}

impl Host {
    pub(super) fn keep(&mut self, ticket: u64, key: &str, value: &[u8]) -> Result<(), String> {
        let bucket = self.places.rollouts.clone();
        if key != CURRENT {
            return self.put(ticket, (&bucket, key), b"", value);
        }
        if self.kept.under_way.is_some() {
            // What was to be put before is of no use any more, and is done when this is.
            let before = self.kept.next.take();
            let before = before.map_or_else(Vec::new, |(ticket, mut before, _)| {
                before.push(ticket);
                before
            });
            self.kept.next = Some((ticket, before, value.to_vec()));
            return Ok(());
        }
        self.put_kept(ticket, Vec::new(), value)
    }

    fn put_kept(&mut self, ticket: u64, before: Vec<u64>, value: &[u8]) -> Result<(), String> {
        self.kept.under_way = Some((ticket, before));
        let header = bucket::replaces(self.kept.sequence);
        let bucket = self.places.rollouts.clone();
        self.put(ticket, (&bucket, CURRENT), &header, value)
    }

    /// A put is over: if it was the rollout's, the next one may be put.
    pub(super) fn next_kept(
        &mut self,
        ticket: u64,
        result: &Result<u64, Unwritten>,
    ) -> Result<(), String> {
        let is_it = |it: &mut (u64, Vec<u64>)| it.0 == ticket;
        let Some((_, before)) = self.kept.under_way.take_if(is_it) else {
            return Ok(());
        };
        match result {
            Ok(sequence) => self.kept.sequence = *sequence,
            Err(it) if it.why.contains(bucket::WRONG_SEQUENCE) => {
                return Err("another one drives this rollout".to_owned());
            }
            Err(_) => {}
        }
        if let Some((ticket, before, value)) = self.kept.next.take() {
            self.put_kept(ticket, before, &value)?;
        }
        for ticket in before {
            self.take(Input::Wrote(ticket, result.clone()))?;
        }
        Ok(())
    }
}
