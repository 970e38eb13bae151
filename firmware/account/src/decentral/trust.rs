use std::collections::BTreeSet;

use crate::jwt::OperatorClaims;

/// Whose word counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Public operator keys that may sign accounts.
    pub issuers: BTreeSet<String>,
    /// Those among them whose accounts sign users with signing keys only.
    pub strict: BTreeSet<String>,
    /// The accounts that may connect; empty is any.
    pub pinned: BTreeSet<String>,
    /// The user JWT of those who show none.
    pub sentinel: Option<String>,
}

impl Trust {
    /// Trusts an operator and its signing keys.
    pub fn add(&mut self, operator: &OperatorClaims) {
        let keys = &operator.nats.signing_keys;
        if operator.nats.strict_signing_key_usage {
            self.strict.extend(keys.iter().cloned());
        } else {
            self.issuers.insert(operator.subject.clone());
        }
        self.issuers.extend(keys.iter().cloned());
    }

    pub(crate) fn may_connect(&self, account: &str) -> bool {
        self.pinned.is_empty() || self.pinned.contains(account)
    }
}
