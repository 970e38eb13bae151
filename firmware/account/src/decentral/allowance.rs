use std::sync::Arc;

use super::claimed::{ClaimedAccount, Signer};
use super::{Trust, template};
use crate::jwt::{UserClaims, UserPermissionLimits, UserScope};

/// What a user may do, and the scope that says so instead of its own JWT.
pub(crate) type Allowance = (UserPermissionLimits, Option<Arc<UserScope>>);

/// Why an account does not vouch for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unvouched {
    /// None of its keys signed.
    Stranger,
    /// The scope says what the user may do, and so does the user.
    SaysMore,
    /// What the scope says makes no sense for this user.
    Template,
}

impl ClaimedAccount {
    /// What a user may do, by its own JWT or by the scope of the key that signed it.
    pub(crate) fn allowance(
        &self,
        claims: &UserClaims,
        trust: &Trust,
    ) -> Result<Allowance, Unvouched> {
        let scope = match self.signer(&claims.issuer, trust) {
            Signer::Stranger => return Err(Unvouched::Stranger),
            Signer::Free => return Ok((claims.nats.may.clone(), None)),
            Signer::Scoped(scope) => scope,
        };
        if !claims.nats.may.is_empty() {
            return Err(Unvouched::SaysMore);
        }
        let facts = template::Facts {
            user: claims,
            account_name: &self.claims.name,
            account_tags: &self.claims.nats.tags,
        };
        let permissions = template::filled(&scope.template.permissions, &facts)
            .map_err(|template::BadTemplate| Unvouched::Template)?;
        let may = UserPermissionLimits {
            permissions,
            ..scope.template.clone()
        };
        Ok((may, Some(Arc::new(scope.clone()))))
    }
}
