use std::collections::{BTreeMap, HashSet};

use frond_broker::{GatewayAccount, InterestMode};
use frond_subject::matches;

use crate::limits::{NO_INTEREST_MAX, SAID_BYTES_MAX};

/// What a peer said of accounts, bounded in all: what is left out counts as not said, and the
/// peer gets messages that it could have done without.
#[derive(Debug, Default)]
pub(crate) struct Said {
    accounts: BTreeMap<Box<str>, Told>,
    bytes: usize,
}

/// What it said of one account.
#[derive(Debug, Default)]
struct Told {
    mode: InterestMode,
    /// Whether nobody there wants anything of it.
    is_refused: bool,
    /// Subjects that interest nobody there.
    no_interest: HashSet<Box<str>>,
}

impl Said {
    fn at(&mut self, account: &str) -> Option<&mut Told> {
        if !self.accounts.contains_key(account) {
            let bytes = WORD_BYTES + account.len();
            if self.bytes + bytes > SAID_BYTES_MAX {
                return None;
            }
            self.bytes += bytes;
            self.accounts.insert(account.into(), Told::default());
        }
        self.accounts.get_mut(account)
    }

    /// Somebody there wants messages, or nobody does, of the whole account.
    pub(crate) fn of_account(&mut self, account: &str, is_wanted: bool) {
        if let Some(told) = self.at(account) {
            told.is_refused = !is_wanted;
        }
    }

    /// Somebody there wants what `filter` matches.
    pub(crate) fn is_wanted(&mut self, account: &str, filter: &str) {
        let Some(told) = self.at(account) else {
            return;
        };
        let before = bytes_of(&told.no_interest);
        told.no_interest.retain(|known| !matches(filter, known));
        let after = bytes_of(&told.no_interest);
        self.bytes -= before - after;
    }

    /// Nobody there wants messages on `subject`.
    pub(crate) fn is_unwanted(&mut self, account: &str, subject: &str) {
        let bytes = WORD_BYTES + subject.len();
        if self.at(account).is_none() {
            return;
        }
        let has_room = self.bytes + bytes <= SAID_BYTES_MAX;
        let Some(told) = self.accounts.get_mut(account) else {
            return;
        };
        let is_optimistic = told.mode == InterestMode::Optimistic;
        let has_room = has_room && told.no_interest.len() < NO_INTEREST_MAX;
        if is_optimistic && has_room && told.no_interest.insert(subject.into()) {
            self.bytes += bytes;
        }
    }

    /// All interest in an account is about to be told, or was.
    pub(crate) fn has_mode(&mut self, account: &str, mode: InterestMode) {
        let Some(told) = self.at(account) else {
            return;
        };
        told.mode = mode;
        told.is_refused = false;
        if mode == InterestMode::InterestOnly {
            let bytes = bytes_of(&core::mem::take(&mut told.no_interest));
            self.bytes -= bytes;
        }
    }

    /// Whether a message goes there though nobody there asked for it.
    pub(crate) fn takes_unasked(&self, account: &str, subject: &str) -> bool {
        let Some(told) = self.accounts.get(account) else {
            return true;
        };
        match told.mode {
            InterestMode::InterestOnly => false,
            InterestMode::Optimistic | InterestMode::Transitioning => {
                !told.is_refused && !told.no_interest.contains(subject)
            }
        }
    }

    /// For monitoring.
    pub(crate) fn accounts(&self) -> Vec<GatewayAccount> {
        let accounts = self.accounts.iter();
        accounts
            .map(|(name, told)| GatewayAccount {
                name: name.to_string(),
                mode: told.mode,
                no_interest: told.no_interest.len(),
            })
            .collect()
    }
}

fn bytes_of(subjects: &HashSet<Box<str>>) -> usize {
    let words = subjects.iter();
    words.map(|subject| WORD_BYTES + subject.len()).sum()
}

/// What a name or a subject costs besides itself, about.
const WORD_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_says_takes_no_more_than_its_room() {
        let long = |n: usize| format!("{n}.{}", "x".repeat(4_000));
        let mut said = Said::default();
        for n in 0..20_000 {
            said.of_account(&long(n), false);
        }
        assert!(said.bytes <= SAID_BYTES_MAX && said.accounts.len() > 1_000);
        assert!(!said.takes_unasked(&long(0), "s") && said.takes_unasked(&long(19_999), "s"));

        let mut said = Said::default();
        for n in 0..20_000 {
            said.is_unwanted("A", &long(n));
        }
        assert!(said.bytes <= SAID_BYTES_MAX && !said.takes_unasked("A", &long(0)));
        assert!(said.takes_unasked("A", &long(19_999)));
        said.is_wanted("A", ">");
        assert_eq!(said.bytes, WORD_BYTES + 1);
        said.is_unwanted("A", "s");
        said.has_mode("A", InterestMode::InterestOnly);
        assert_eq!(said.bytes, WORD_BYTES + 1);
    }
}
