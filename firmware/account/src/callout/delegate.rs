use std::sync::Arc;

use super::plan::without_asking;
use super::{Basis, Callout, CalloutPlan, Delegated, Vouched};
use crate::decentral::{Signer, permissions};
use crate::jwt::ExternalAuthorization;
use crate::{
    AccountId, Caller, Credentials, Directory, Identity, JwtUser, Login, PeerKind, Permissions,
    Proxied, Question, Standing, User, Verdict,
};

/// Whom to ask about a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Where the service listens.
    pub account: AccountId,
    /// Whom the request is about: the public key of the account that answers.
    pub subject: String,
    /// The curve key the request is sealed for.
    pub xkey: Option<String>,
    /// Whether the peer came through a trusted proxy.
    pub proxied: Proxied,
    /// Whether it had to.
    pub proxy_required: bool,
    /// What the peer calls itself, for the log; never a token.
    pub user: String,
    /// The JWT it came with, in operator mode.
    pub jwt: Option<Arc<JwtUser>>,
}

impl Directory {
    /// Permissions as a user of this account has them: nobody there may ask the service.
    pub(crate) fn limited(
        &self,
        account: AccountId,
        permissions: Option<Arc<Permissions>>,
    ) -> Option<Arc<Permissions>> {
        let asked_there = self.callout.as_ref().and_then(|callout| callout.account);
        let external = self.external(account);
        if asked_there == Some(account) || external.is_some() {
            without_asking(permissions)
        } else {
            permissions
        }
    }

    /// The service as the configuration names it.
    pub(super) fn callout_plan(&self) -> Arc<CalloutPlan> {
        let callout = self.callout.as_ref();
        callout.map_or_else(Arc::default, |callout| Arc::clone(&callout.plan))
    }

    /// What became of a user the service described.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `clientHasMovedToDifferentAccount`; here only a
    /// change of the service itself counts.
    pub(crate) fn standing_delegated(&self, former: &User, login: &Delegated) -> Standing {
        match &login.basis {
            Basis::Vouched(vouched) => self.standing_vouched(former, vouched),
            Basis::Configured(plan) if self.callout.as_ref().is_some_and(|c| c.plan == *plan) => {
                Standing::Same(Arc::new(former.clone()))
            }
            // It comes back, and is asked about then.
            Basis::Configured(_) => Standing::Gone,
        }
    }

    /// The keys of the account it was put into may be others.
    fn standing_vouched(&self, former: &User, vouched: &Vouched) -> Standing {
        let (Some(trust), Some(account)) = (self.trust(), self.claimed(former.account)) else {
            return Standing::Gone;
        };
        if account.is_deleted {
            return Standing::Expired;
        }
        let scope = match account.signer(&vouched.issuer, trust) {
            Signer::Stranger => return Standing::Unsigned,
            Signer::Free => None,
            Signer::Scoped(scope) => Some(scope),
        };
        if scope != vouched.scope.as_deref() {
            return Standing::Unsigned;
        }
        if !vouched.has_default_permissions {
            return Standing::Same(Arc::new(former.clone()));
        }
        let defaults = permissions::of(&account.claims.nats.default_permissions);
        Standing::Same(Arc::new(User {
            permissions: self.limited(former.account, defaults.map(Arc::new)),
            ..former.clone()
        }))
    }

    /// What becomes of a verdict when there is a service that may overrule it.
    pub(crate) fn delegated(
        &self,
        verdict: Verdict,
        given: &Credentials,
        nonce: &str,
        caller: &Caller<'_>,
    ) -> Verdict {
        if self.trust().is_some() {
            return self.delegated_by_claims(verdict, given, nonce, caller.kind);
        }
        let kind = caller.kind;
        let Some(callout) = self.callout.as_deref() else {
            return verdict;
        };
        let user = match verdict.expected() {
            Some(who) if self.maps_cert(caller) => who.name().to_owned(),
            Some(_) | None => self.claimed_user(given).to_owned(),
        };
        let user = user.as_str();
        // Nobody is asked where nobody has to say who it is.
        if self.logins_of(kind).is_empty() || self.has_own_leafs(kind) {
            return verdict;
        }
        if callout.is_auth_user(user) || self.is_spared(callout, &verdict, kind) {
            return verdict;
        }
        let Some(account) = callout.account else {
            return Verdict::Ask(Question::NoService {
                account: callout.plan.account.clone(),
            });
        };
        let token = given.auth_token.as_deref();
        Verdict::Ask(Question::Callout(Box::new(Delegation {
            account,
            subject: callout.plan.issuer.clone(),
            xkey: callout.plan.xkey.clone(),
            proxied: self.proxied(given, nonce),
            proxy_required: self.needs_proxy(given, kind),
            user: if token == Some(user) {
                "[REDACTED]"
            } else {
                user
            }
            .to_owned(),
            jwt: None,
        })))
    }

    /// An account may leave it to a service who its users are: its JWT names those that may come
    /// without being asked about.
    fn delegated_by_claims(
        &self,
        verdict: Verdict,
        given: &Credentials,
        nonce: &str,
        kind: PeerKind,
    ) -> Verdict {
        let Some((account, user, jwt)) = by_jwt(&verdict) else {
            return verdict;
        };
        let external = self.external(account);
        let Some(external) = external.filter(|e| !e.auth_users.contains(&jwt.subject)) else {
            return verdict;
        };
        let named = [&given.nkey, &given.user];
        let named = named.into_iter().find_map(|text| some(text.as_ref()));
        let token = some(given.auth_token.as_ref()).map(|_| "[REDACTED]");
        Verdict::Ask(Question::Callout(Box::new(Delegation {
            account,
            subject: self.account(account).map_or("", |a| &a.name).to_owned(),
            xkey: Some(external.xkey.clone()).filter(|key| !key.is_empty()),
            proxied: self.proxied(given, nonce),
            proxy_required: user.proxy_required || self.needs_proxy(given, kind),
            user: named.or(token).unwrap_or_default().to_owned(),
            jwt: Some(Arc::clone(jwt)),
        })))
    }

    /// The service an account's JWT names.
    fn external(&self, account: AccountId) -> Option<&ExternalAuthorization> {
        let said = &self.claimed(account)?.claims.nats.authorization;
        said.is_enabled().then_some(said)
    }

    /// Whether the service has no say: the user is in an account of its own that isn't covered.
    fn is_spared(&self, callout: &Callout, verdict: &Verdict, kind: PeerKind) -> bool {
        let Some(who) = verdict.expected() else {
            return false;
        };
        let account = self.account(who.account).map_or("", |a| &a.name);
        match kind {
            PeerKind::Client => who.account != self.default_account() && !callout.covers(account),
            PeerKind::Leafnode => false,
        }
    }

    /// Leafnodes with users of their own are not asked about.
    fn has_own_leafs(&self, kind: PeerKind) -> bool {
        kind == PeerKind::Leafnode && !self.leafs.is_empty()
    }

    /// Who it says to be.
    fn claimed_user<'a>(&'a self, given: &'a Credentials) -> &'a str {
        let texts = [&given.nkey, &given.user];
        let named = texts.into_iter().find_map(|text| some(text.as_ref()));
        let nobody = || {
            let silent =
                some(given.pass.as_ref()).is_none() && some(given.auth_token.as_ref()).is_none();
            let user = self.no_auth_user.as_ref().filter(|_| silent);
            user.map(|user| user.login.name())
        };
        named
            .or_else(nobody)
            .or_else(|| some(given.auth_token.as_ref()))
            .unwrap_or_default()
    }
}

/// Who came in by a JWT.
fn by_jwt(verdict: &Verdict) -> Option<(AccountId, &User, &Arc<JwtUser>)> {
    let Verdict::Accept(Identity {
        account,
        user: Some(user),
    }) = verdict
    else {
        return None;
    };
    match &user.login {
        Login::Jwt(jwt) => Some((*account, user, jwt)),
        Login::Password { .. } | Login::Token(_) | Login::Nkey(_) | Login::Delegated(_) => None,
    }
}

fn some(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}
