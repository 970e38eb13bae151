use std::sync::Arc;

use super::Trust;
use crate::jwt::{AccountClaims, OperatorLimits, Severity, UserScope, Validation};
use crate::{AccountId, Directory, DirectoryError};

/// An account that exists because an operator says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedAccount {
    /// What is said.
    pub claims: AccountClaims,
    /// The JWT.
    pub text: Arc<str>,
    /// When it was taken over, nanoseconds since 1970.
    pub updated_ns: i64,
    /// Whether the operator took it back.
    pub is_deleted: bool,
}

/// Whether a key may sign for an account, and what its users get.
pub(crate) enum Signer<'a> {
    /// It signs whatever the account may.
    Free,
    /// Its users all get this.
    Scoped(&'a UserScope),
    /// It is none of the account's.
    Stranger,
}

impl ClaimedAccount {
    /// From a JWT that a trusted operator signed and that holds now.
    ///
    /// # Errors
    /// Why it is not to be used, in nats-server's words.
    pub fn verify(text: &str, trust: &Trust, wall_ns: i64) -> Result<Self, String> {
        let claims = AccountClaims::decode(text).map_err(|error| error.to_string())?;
        let validation = claims.validate(wall_ns / NANOS);
        if !trust.issuers.contains(&claims.issuer) || validation.is_blocking(true) {
            return Err("account validation failed".to_owned());
        }
        Ok(Self {
            claims,
            text: text.into(),
            updated_ns: wall_ns,
            is_deleted: false,
        })
    }

    /// The system account while its JWT is not known: its own key vouches for its users.
    #[must_use]
    pub fn temporary(key: &str, operator: &str) -> Self {
        let mut claims = AccountClaims::about(key);
        operator.clone_into(&mut claims.issuer);
        claims.nats.limits = OperatorLimits::unlimited();
        Self {
            claims,
            text: "".into(),
            updated_ns: 0,
            is_deleted: false,
        }
    }

    /// Whether its JWT is still to come.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether its users may not connect any more.
    #[must_use]
    pub fn is_expired(&self, wall_ns: i64) -> bool {
        self.is_deleted || (self.claims.expires != 0 && self.claims.expires <= wall_ns / NANOS)
    }

    pub(crate) fn signer(&self, key: &str, trust: &Trust) -> Signer<'_> {
        let keys = &self.claims.nats.signing_keys;
        if let Some(scope) = keys.scope(key) {
            return Signer::Scoped(scope);
        }
        let itself = key == self.claims.subject && !trust.strict.contains(&self.claims.issuer);
        if itself || keys.contains(key) {
            Signer::Free
        } else {
            Signer::Stranger
        }
    }
}

impl Validation {
    /// All issues, one after the other.
    pub(crate) fn texts(&self) -> String {
        let texts: Vec<_> = self.issues.iter().map(|it| it.text.as_str()).collect();
        format!("[{}]", texts.join(" "))
    }

    /// The errors among the issues, one after the other.
    #[must_use]
    pub fn errors(&self) -> String {
        let errors = self
            .issues
            .iter()
            .filter(|issue| issue.severity == Severity::Error);
        let texts: Vec<_> = errors.map(|issue| issue.text.as_str()).collect();
        format!("[{}]", texts.join(" "))
    }
}

impl Directory {
    /// Takes over a new or changed account, for now without what it imports from accounts that
    /// are not here.
    ///
    /// # Errors
    /// When its exports, imports or mappings make no sense.
    pub fn put_claims(&mut self, account: ClaimedAccount) -> Result<AccountId, DirectoryError> {
        let plan = self.claimed_plan(&account);
        let id = self.put_account(&plan)?;
        self.claimed.insert(id, account);
        Ok(id)
    }

    /// The claims of the former directory, if the same is trusted.
    pub(crate) fn take_claims(&mut self, trust: Option<&Trust>, former: Option<&Self>) {
        let Some(trust) = trust else {
            return;
        };
        self.trust = Some(Arc::new(trust.clone()));
        let Some(former) = former else {
            return;
        };
        self.zones.clone_from(&former.zones);
        // Twice: an activation is checked against its exporter, which may come later.
        for account in former.claimed.values().chain(former.claimed.values()) {
            if trust.issuers.contains(&account.claims.issuer) {
                let _ = self.put_claims(account.clone());
            }
        }
    }

    /// What an operator says of an account.
    #[must_use]
    pub fn claimed(&self, id: AccountId) -> Option<&ClaimedAccount> {
        self.claimed.get(&id)
    }

    /// All accounts that came by JWT.
    pub fn claimed_accounts(&self) -> impl Iterator<Item = (AccountId, &ClaimedAccount)> {
        self.claimed.iter().map(|(id, account)| (*id, account))
    }

    /// Whom this server trusts; `None` without an operator.
    #[must_use]
    pub fn trust(&self) -> Option<&Trust> {
        self.trust.as_deref()
    }

    /// The operator took an account back: nobody is let in any more. Whether it was here.
    pub fn delete_claims(&mut self, id: AccountId) -> bool {
        match self.claimed.get_mut(&id) {
            Some(account) => {
                account.is_deleted = true;
                true
            }
            None => false,
        }
    }
}

pub(super) const NANOS: i64 = 1_000_000_000;
