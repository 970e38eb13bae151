//! The copy: nothing twice, nothing left out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use async_nats::Client;

use super::promised::Sent;
use super::read::{self, Kept};
use super::{BOUND, COPY, Finding, Findings, Load};

impl Load {
    /// Waits until the copy has the last message that stays, and looks at all of it.
    pub(super) async fn check_copy(
        &mut self,
        client: &Client,
        kept: &BTreeMap<u64, Kept>,
        findings: &mut Findings,
    ) {
        let stays =
            |message: &Kept| Sent::of(&message.payload).is_some_and(|sent| sent.ttl().is_none());
        let staying = kept.iter().filter(|(_, message)| stays(message));
        let staying: BTreeMap<u64, &Kept> =
            staying.map(|(sequence, kept)| (*sequence, kept)).collect();
        let last = staying.keys().next_back().copied().unwrap_or(0);
        let started = Instant::now();
        let mut copy = read::all(client, COPY).await;
        while origins(&copy).max().unwrap_or(0) < last && started.elapsed() < BOUND {
            tokio::task::yield_now().await;
            copy = read::all(client, COPY).await;
        }
        let mut before = 0;
        for (sequence, message) in &copy {
            let origin = message.origin.unwrap_or(0);
            if origin <= before {
                let example = format!("{origin} at {sequence} is after {before}");
                findings.add(Finding::CopiedTwice, example);
            }
            before = origin;
            if let Some(original) = kept.get(&origin)
                && original.payload != message.payload
            {
                findings.add(
                    Finding::Changed,
                    format!("{sequence} in the copy, {origin} at home"),
                );
            }
        }
        let copied: BTreeSet<u64> = origins(&copy).collect();
        // A purge of the copy may have taken the first.
        let first = match copied.first() {
            Some(first) if self.promised.copy_purged => *first,
            Some(_) | None => 0,
        };
        for sequence in staying.keys().filter(|sequence| **sequence >= first) {
            if !copied.contains(sequence) {
                findings.add(
                    Finding::NotCopied,
                    format!("{sequence}; the copy ends at {before}"),
                );
            }
        }
    }
}

fn origins(copy: &BTreeMap<u64, Kept>) -> impl Iterator<Item = u64> {
    copy.values().filter_map(|message| message.origin)
}
