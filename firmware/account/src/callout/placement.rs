use std::sync::Arc;

use super::{Asked, Basis, Vouched, Withheld};
use crate::decentral::{ClaimedAccount, Trust, Unvouched, permissions};
use crate::jwt::UserClaims;
use crate::{AccountId, Directory, Permissions, Question};

/// Where a user is put, and what it may do there.
pub(super) struct Placement {
    pub(super) account: AccountId,
    pub(super) permissions: Option<Arc<Permissions>>,
    pub(super) proxy_required: bool,
    pub(super) basis: Basis,
}

impl Directory {
    /// Where the user's JWT puts it, if whoever signed it may do that.
    pub(super) fn placement(
        &self,
        asked: &Asked<'_>,
        service: &str,
        claims: &UserClaims,
    ) -> Result<Placement, Withheld> {
        match (self.trust(), self.claimed(asked.delegation.account)) {
            (Some(trust), Some(asker)) => self.vouched_placement(asked, trust, asker, claims),
            (_, _) => self.named_placement(asked, service, claims),
        }
    }

    /// The configuration names all accounts: the audience is one of them.
    fn named_placement(
        &self,
        asked: &Asked<'_>,
        service: &str,
        claims: &UserClaims,
    ) -> Result<Placement, Withheld> {
        check_issuer(asked, service, claims)?;
        let account = self
            .find(&claims.audience)
            .ok_or_else(|| unknown(&claims.audience, service, "account missing"))?;
        let may = &claims.nats.may;
        let own = permissions::of(&may.permissions);
        let defaults = || self.account(account)?.plan.default_permissions.clone();
        Ok(Placement {
            account,
            permissions: own.or_else(defaults).map(Arc::new),
            proxy_required: may.proxy_required,
            basis: Basis::Configured(self.callout_plan()),
        })
    }

    /// In operator mode it is the account of the issuer: the service's own, or one that it may
    /// put users into and whose key it has.
    fn vouched_placement(
        &self,
        asked: &Asked<'_>,
        trust: &Trust,
        asker: &ClaimedAccount,
        claims: &UserClaims,
    ) -> Result<Placement, Withheld> {
        let (service, key) = (&asker.claims.subject, claims.account());
        if key != service && !asker.claims.nats.authorization.may_place_in(key) {
            return Err(Withheld::titled(&format!(
                "account {:?} not permitted as valid account option for auth callout for account \
                 {service:?}",
                claims.issuer
            )));
        }
        let known = self.find(key).and_then(|id| Some((id, self.claimed(id)?)));
        let Some((account, target)) = known else {
            return Err(Withheld::Ask(Question::Account {
                key: key.to_owned(),
            }));
        };
        if target.is_expired(asked.wall_ns) {
            return Err(unknown(key, service, "account expired"));
        }
        let (may, scope) = target
            .allowance(claims, trust)
            .map_err(|why| unvouched(why, &claims.issuer))?;
        let own = permissions::of(&may.permissions);
        let has_default_permissions = own.is_none();
        let defaults = || permissions::of(&target.claims.nats.default_permissions);
        Ok(Placement {
            account,
            permissions: own.or_else(defaults).map(Arc::new),
            proxy_required: may.proxy_required,
            basis: Basis::Vouched(Vouched {
                issuer: claims.issuer.clone(),
                scope,
                has_default_permissions,
            }),
        })
    }
}

fn check_issuer(asked: &Asked<'_>, service: &str, claims: &UserClaims) -> Result<(), Withheld> {
    if !claims.nats.issuer_account.is_empty() {
        return Err(Withheld::titled(&format!(
            "error non operator mode account {service:?}: attempted to use issuer_account"
        )));
    }
    let (expected, got) = (&asked.delegation.subject, &claims.issuer);
    if got == expected {
        return Ok(());
    }
    Err(Withheld::titled(&format!(
        "wrong issuer for auth callout response on account {service:?}, expected {expected:?} got \
         {got:?}"
    )))
}

fn unknown(account: &str, service: &str, why: &str) -> Withheld {
    Withheld::titled(&format!(
        "no valid account {account:?} for auth callout response on account {service:?}: {why}"
    ))
}

fn unvouched(why: Unvouched, issuer: &str) -> Withheld {
    Withheld::titled(&match why {
        Unvouched::Stranger => format!("user JWT issuer {issuer:?} is not known"),
        Unvouched::SaysMore => {
            "user JWT is not valid: scoped users require no permissions or limits set".to_owned()
        }
        Unvouched::Template => "user JWT generated invalid permissions".to_owned(),
    })
}
