use std::sync::Arc;

use super::JwtUser;
use super::claimed::Signer;
use super::permissions;
use crate::jwt::is_revoked;
use crate::{Directory, Standing, User};

impl Directory {
    /// What became of a user that came by JWT, now that its account may be another.
    pub(crate) fn standing_jwt(&self, former: &User, login: &JwtUser) -> Standing {
        let (Some(trust), Some(account)) = (self.trust(), self.claimed(former.account)) else {
            return Standing::Gone;
        };
        let said = &account.claims.nats;
        if account.is_deleted {
            return Standing::Expired;
        }
        if login.is_bearer && said.limits.disallow_bearer {
            return Standing::Changed;
        }
        if is_revoked(&said.revocations, &login.subject, login.issued_at) {
            return Standing::Revoked;
        }
        let scope = match account.signer(&login.issuer, trust) {
            Signer::Stranger => return Standing::Unsigned,
            Signer::Free => None,
            Signer::Scoped(scope) => Some(scope),
        };
        if scope != login.scope.as_deref() {
            return Standing::Unsigned;
        }
        if !login.has_default_permissions {
            return Standing::Same(Arc::new(former.clone()));
        }
        Standing::Same(Arc::new(User {
            permissions: self.limited(
                former.account,
                permissions::of(&said.default_permissions).map(Arc::new),
            ),
            ..former.clone()
        }))
    }
}
