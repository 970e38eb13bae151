//! spec: nats-server v2.15.1 server/auth.go `processClientOrLeafAuthentication`,
//! server/leafnode.go `isLeafNodeAuthorized`.

use std::sync::Arc;

use crate::cert_user;
use crate::directory::Logins;
use crate::nkey::{Role, verify};
use crate::secret::{Check, Secret};
use crate::{
    AccountId, Caller, Credentials, Directory, JwtRefusal, Login, PeerKind, Proxied, Question,
    Transport, User,
};

/// Who a connection turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its account.
    pub account: AccountId,
    /// Its user; `None` when nobody needs credentials here.
    pub user: Option<Arc<User>>,
}

/// The answer to credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Welcome.
    Accept(Identity),
    /// `-ERR 'Authorization Violation'`.
    Refuse,
    /// The same, and the log says why.
    RefuseFor(JwtRefusal),
    /// Not to be said before this is answered.
    Ask(Question),
}

impl Identity {
    /// The name for logs and monitoring, empty for everybody.
    #[must_use]
    pub fn name(&self) -> &str {
        self.user.as_ref().map_or("", |user| user.login.name())
    }

    /// Whether its user may connect this way.
    fn may_come(&self, caller: &Caller<'_>) -> bool {
        self.user.as_ref().is_none_or(|user| user.may_come(caller))
    }

    fn of(user: &Arc<User>) -> Self {
        Self {
            account: user.account,
            user: Some(Arc::clone(user)),
        }
    }

    const fn nobody(account: AccountId) -> Self {
        Self {
            account,
            user: None,
        }
    }
}

impl User {
    /// Whether it may connect this way.
    #[must_use]
    pub fn may_come(&self, caller: &Caller<'_>) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(&caller.connection_type()))
    }
}

impl Directory {
    /// Who the holder of these credentials is. `nonce` is what its `INFO` carried.
    #[must_use]
    pub fn authenticate(&self, given: &Credentials, nonce: &str, caller: &Caller<'_>) -> Verdict {
        if let Some(who) = self.within(given, caller) {
            return match who.filter(|who| who.may_come(caller)) {
                Some(who) => Verdict::Accept(who),
                None => Verdict::Refuse,
            };
        }
        let proxied = self.proxied(given, nonce);
        if proxied == Proxied::Untrusted {
            return Verdict::Refuse;
        }
        let verdict = self.judge(given, nonce, caller);
        let needs_proxy = |who: &Identity| {
            let own = who.user.as_ref().is_some_and(|user| user.proxy_required);
            own || self.needs_proxy(given, caller.kind)
        };
        let verdict = match verdict.expected() {
            Some(who) if !who.may_come(caller) || (proxied == Proxied::No && needs_proxy(who)) => {
                Verdict::Refuse
            }
            Some(_) | None => verdict,
        };
        self.delegated(verdict, given, nonce, caller)
    }

    /// A part of this very process is the user that it names, or at home in the account that it
    /// names: there is nobody to prove it to. `Some(None)`: there is no such account.
    fn within(&self, given: &Credentials, caller: &Caller<'_>) -> Option<Option<Identity>> {
        if caller.transport != Transport::InProcess {
            return None;
        }
        if let Some(account) = non_empty(&given.account) {
            return Some(self.find(account).map(Identity::nobody));
        }
        let name = non_empty(&given.user)?;
        let logins = self.logins_for(caller);
        let user = logins.names.get(name).or_else(|| logins.nkeys.get(name))?;
        Some(Some(Identity::of(user)))
    }

    fn judge(&self, given: &Credentials, nonce: &str, caller: &Caller<'_>) -> Verdict {
        if let Some(trust) = self.trust.as_deref() {
            return self.judge_jwt(trust, given, nonce, caller);
        }
        let logins = self.logins_for(caller);
        if logins.is_empty() {
            return Verdict::Accept(Identity::nobody(match caller.kind {
                PeerKind::Client => self.default_account(),
                PeerKind::Leafnode => self.leaf_default,
            }));
        }
        let maps = self.maps_cert(caller);
        let nobody = self.nobody_for(caller);
        if let Some(user) = nobody.filter(|_| !maps && says_nothing(given, logins)) {
            return Verdict::Accept(Identity::of(user));
        }
        if !maps && says_nothing(given, logins) && self.takes_nobody_from(caller) {
            return Verdict::Accept(Identity::nobody(self.default_account()));
        }
        // Only what somebody here has is looked at: a client may offer all it has.
        if let Some(key) = non_empty(&given.nkey).filter(|_| !logins.nkeys.is_empty()) {
            return by_nkey(logins, key, given.sig.as_deref(), nonce);
        }
        if maps && !logins.names.is_empty() {
            let pass = given.pass.as_deref().unwrap_or_default();
            return match by_cert(logins, caller) {
                // Users of the leafnodes' own block have a password beside.
                Some(user) if caller.kind == PeerKind::Leafnode && !self.leafs.is_empty() => {
                    by_secret(user, pass)
                }
                Some(user) => Verdict::Accept(Identity::of(user)),
                None => Verdict::Refuse,
            };
        }
        if let Some(name) = non_empty(&given.user).filter(|_| !logins.names.is_empty()) {
            let pass = given.pass.as_deref().unwrap_or_default();
            return match logins.names.get(name) {
                Some(user) => by_secret(user, pass),
                None => Verdict::Refuse,
            };
        }
        let token = given.auth_token.as_deref().unwrap_or_default();
        match logins.tokens.first() {
            Some(user) => by_secret(user, token),
            None => Verdict::Refuse,
        }
    }

    /// Whether a certificate says who this peer is.
    pub(crate) const fn maps_cert(&self, caller: &Caller<'_>) -> bool {
        match (caller.kind, caller.transport) {
            (PeerKind::Client, Transport::WebSocket) => self.cert_maps.websockets,
            (PeerKind::Client, Transport::Tcp | Transport::InProcess) => self.cert_maps.clients,
            (PeerKind::Leafnode, _) => self.cert_maps.leafs,
        }
    }

    /// What becomes of a client that says something else than `CONNECT` first.
    ///
    /// spec: nats-server v2.15.1 server/parser.go `parse`
    #[must_use]
    pub fn without_connect(&self, caller: &Caller<'_>) -> Verdict {
        if !self.auth_required_over(caller.transport) || self.takes_nobody_from(caller) {
            return Verdict::Accept(Identity::nobody(self.default_account()));
        }
        let nobody = self.nobody_for(caller).filter(|user| !user.proxy_required);
        match nobody.map(Identity::of) {
            Some(nobody) if nobody.may_come(caller) => {
                let nothing = Credentials::default();
                self.delegated(Verdict::Accept(nobody), &nothing, "", caller)
            }
            Some(_) | None => Verdict::Refuse,
        }
    }
}

/// Only users that may come this way count.
///
/// spec: nats-server v2.15.1 server/auth.go `isLeafNodeAuthorized`, `checkClientTLSCertSubject`
fn by_cert<'a>(logins: &'a Logins, caller: &Caller<'_>) -> Option<&'a Arc<User>> {
    let may_come = |user: &&Arc<User>| Identity::of(user).may_come(caller);
    let named = |name: &str| logins.names.get(name).filter(may_come);
    let all = logins
        .names
        .iter()
        .map(|(name, user)| (&**name, user))
        .filter(|(_, user)| may_come(user));
    let cert = caller.tls.and_then(|tls| tls.peer.as_ref());
    cert.and_then(|cert| cert_user::user_of(cert, named, all))
}

fn by_nkey(logins: &Logins, key: &str, sig: Option<&str>, nonce: &str) -> Verdict {
    match logins.nkeys.get(key) {
        Some(user) if verify(Role::User, key, nonce.as_bytes(), sig.unwrap_or_default()) => {
            Verdict::Accept(Identity::of(user))
        }
        Some(_) | None => Verdict::Refuse,
    }
}

fn by_secret(user: &Arc<User>, given: &str) -> Verdict {
    let secret: &Secret = match &user.login {
        Login::Password { secret, .. } | Login::Token(secret) => secret,
        Login::Nkey(_) | Login::Jwt(_) | Login::Delegated(_) => return Verdict::Refuse,
    };
    match secret.check(given) {
        Check::Right => Verdict::Accept(Identity::of(user)),
        Check::Wrong => Verdict::Refuse,
        Check::Hash(hash) => Verdict::Ask(Question::Bcrypt {
            hash: hash.to_owned(),
            password: given.to_owned(),
            then: Identity::of(user),
        }),
    }
}

/// A key says nothing where nobody has one.
fn says_nothing(given: &Credentials, logins: &Logins) -> bool {
    let key = Some(&given.nkey).filter(|_| !logins.nkeys.is_empty());
    [&given.user, &given.pass, &given.auth_token]
        .into_iter()
        .chain(key)
        .all(|part| non_empty(part).is_none())
}

fn non_empty(part: &Option<String>) -> Option<&str> {
    part.as_deref().filter(|text| !text.is_empty())
}
