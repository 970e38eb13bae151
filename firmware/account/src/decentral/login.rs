use std::sync::Arc;

use super::allowance::Unvouched;
use super::claimed::{ClaimedAccount, NANOS};
use super::daytime::{self, Zone};
use super::{Trust, permissions};
use crate::jwt::{Cidr, UserClaims, UserPermissionLimits, UserScope, is_revoked};
use crate::nkey::{Role, verify};
use crate::{
    AccountId, Caller, ConnectionType, Credentials, Directory, Identity, JwtRefusal, Login,
    Proxied, Question, User, Verdict,
};

/// What is kept of a user JWT while its holder is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtUser {
    /// The user's public key.
    pub subject: String,
    /// The key that signed.
    pub issuer: String,
    /// A name for people.
    pub name: String,
    /// Labels.
    pub tags: Vec<String>,
    /// When it was issued, unix seconds.
    pub issued_at: i64,
    /// Until when its holder may stay, unix nanoseconds; `None` is for ever.
    pub until_ns: Option<i64>,
    /// Whether the JWT alone is enough, so that nobody may see it.
    pub is_bearer: bool,
    /// Subscriptions; `None` is no limit of the user's own.
    pub subscriptions_max: Option<u64>,
    /// Bytes of one message; `None` is no limit of the user's own.
    pub payload_bytes_max: Option<u64>,
    /// Whether its permissions are the account's for those without.
    pub has_default_permissions: bool,
    /// What its signing key gives to all its users.
    pub scope: Option<Arc<UserScope>>,
    /// The JWT.
    pub text: Arc<str>,
}

/// Why a JWT does not let its holder in.
enum Held {
    /// It does not hold.
    Refused(JwtRefusal),
    /// Something has to be found out first.
    Ask(Question),
}

impl Directory {
    /// Judges a user JWT and the signature of the nonce.
    pub(crate) fn judge_jwt(
        &self,
        trust: &Trust,
        given: &Credentials,
        nonce: &str,
        caller: &Caller<'_>,
    ) -> Verdict {
        match self.jwt_login(trust, given, nonce, caller) {
            Ok(user) => Verdict::Accept(Identity {
                account: user.account,
                user: Some(Arc::new(user)),
            }),
            Err(Held::Refused(why)) => Verdict::RefuseFor(why),
            Err(Held::Ask(question)) => Verdict::Ask(question),
        }
    }

    fn jwt_login(
        &self,
        trust: &Trust,
        given: &Credentials,
        nonce: &str,
        caller: &Caller<'_>,
    ) -> Result<User, Held> {
        let (text, claims) = shown(given.jwt.as_deref(), trust)?;
        let needs_proxy = |may: &UserPermissionLimits| {
            may.proxy_required && self.proxied(given, nonce) != Proxied::Trusted
        };
        if needs_proxy(&claims.nats.may) {
            return Err(Held::Refused(JwtRefusal::ProxyRequired));
        }
        let wall_ns = caller.wall_ns;
        let validation = claims.validate(wall_ns / NANOS);
        if validation.is_blocking(true) {
            let why = validation.texts();
            return Err(debug(format!("User JWT no longer valid: {why}")));
        }
        let (id, account) = self.account_of(&claims, trust)?;
        let (may, scope) = account.allowance(&claims, trust)?;
        if needs_proxy(&may) {
            return Err(Held::Refused(JwtRefusal::ProxyRequired));
        }
        if account.is_expired(wall_ns) {
            return Err(debug("Account JWT has expired"));
        }
        if may.bearer_token && account.claims.nats.limits.disallow_bearer {
            return Err(debug("Account does not allow bearer tokens"));
        }
        let only = connection_types(&may.allowed_connection_types)?;
        check_way(only.as_deref(), caller)?;
        if !may.bearer_token {
            check_signature(given, &claims.subject, nonce)?;
        }
        let revocations = &account.claims.nats.revocations;
        if is_revoked(revocations, &claims.subject, claims.issued_at) {
            return Err(debug("User authentication revoked"));
        }
        if !comes_from(&may.src, caller) {
            let ip = caller.ip.map_or_else(String::new, |ip| ip.to_string());
            return Err(error(format!("Bad src Ip {ip}")));
        }
        let until_ns = self.until(&claims, &may, wall_ns)?;
        Ok(self.user_of(
            id,
            account,
            text,
            claims,
            may,
            Kept {
                scope,
                only,
                until_ns,
            },
        ))
    }

    /// The account that vouches for a user.
    fn account_of(
        &self,
        claims: &UserClaims,
        trust: &Trust,
    ) -> Result<(AccountId, &ClaimedAccount), Held> {
        let key = claims.account();
        if !trust.may_connect(key) {
            let why = format!("Account {key} not listed as operator pinned account");
            return Err(Held::Refused(JwtRefusal::Unpinned(why)));
        }
        let id = self.find(key);
        let known = id.and_then(|id| Some((id, self.claimed(id)?)));
        known.ok_or_else(|| {
            Held::Ask(Question::Account {
                key: key.to_owned(),
            })
        })
    }

    /// Until when it may stay, as its JWT and the times of the day say.
    fn until(
        &self,
        claims: &UserClaims,
        may: &UserPermissionLimits,
        wall_ns: i64,
    ) -> Result<Option<i64>, Held> {
        let expires = (claims.expires != 0).then(|| claims.expires.saturating_mul(NANOS));
        if may.times.is_empty() {
            return Ok(expires);
        }
        let utc = Zone::default();
        let zone = match may.times_location.as_str() {
            "" | "UTC" => &utc,
            name => self.zones.get(name).ok_or_else(|| {
                Held::Ask(Question::Zone {
                    name: name.to_owned(),
                })
            })?,
        };
        let end = daytime::until(&may.times, zone, wall_ns);
        let end = end.ok_or_else(|| error("Outside connect times"))?;
        Ok(Some(expires.map_or(end, |expires| expires.min(end))))
    }

    fn user_of(
        &self,
        id: AccountId,
        account: &ClaimedAccount,
        text: &str,
        claims: UserClaims,
        may: UserPermissionLimits,
        kept: Kept,
    ) -> User {
        let own = permissions::of(&may.permissions);
        let limit = |value: i64| u64::try_from(value).ok();
        let has_default_permissions = own.is_none();
        let defaults = || permissions::of(&account.claims.nats.default_permissions);
        let login = JwtUser {
            subject: claims.subject,
            issuer: claims.issuer,
            name: claims.name,
            tags: claims.nats.tags,
            issued_at: claims.issued_at,
            until_ns: kept.until_ns,
            is_bearer: may.bearer_token,
            subscriptions_max: limit(may.subs),
            payload_bytes_max: limit(may.payload),
            has_default_permissions,
            scope: kept.scope,
            text: text.into(),
        };
        User {
            login: Login::Jwt(Arc::new(login)),
            account: id,
            permissions: self.limited(id, own.or_else(defaults).map(Arc::new)),
            only: kept.only,
            proxy_required: may.proxy_required,
        }
    }

    /// A time zone that was asked for.
    pub fn put_zone(&mut self, name: &str, zone: Zone) {
        self.zones.insert(name.to_owned(), zone);
    }
}

/// What was worked out on the way.
struct Kept {
    scope: Option<Arc<UserScope>>,
    only: Option<Vec<ConnectionType>>,
    until_ns: Option<i64>,
}

/// The JWT that was given, or the one for those who give none.
fn shown<'a>(given: Option<&'a str>, trust: &'a Trust) -> Result<(&'a str, UserClaims), Held> {
    let good = |text: &'a str| Some((text, UserClaims::decode(text).ok()?));
    if let Some(shown) = given.and_then(good) {
        return Ok(shown);
    }
    let Some(sentinel) = trust.sentinel.as_deref() else {
        return Err(debug("Authentication requires a user JWT"));
    };
    match UserClaims::decode(sentinel) {
        Ok(claims) => Ok((sentinel, claims)),
        Err(why) => Err(debug(format!("User JWT not valid: {why}"))),
    }
}

fn debug(why: impl Into<String>) -> Held {
    Held::Refused(JwtRefusal::debug(why))
}

fn error(why: impl Into<String>) -> Held {
    Held::Refused(JwtRefusal::error(why))
}

impl From<Unvouched> for Held {
    fn from(why: Unvouched) -> Self {
        debug(match why {
            Unvouched::Stranger => "User JWT issuer is not known",
            Unvouched::SaysMore => {
                "User JWT is not valid: scoped users require no permissions or limits set"
            }
            Unvouched::Template => "User JWT generated invalid permissions",
        })
    }
}

fn check_way(only: Option<&[ConnectionType]>, caller: &Caller<'_>) -> Result<(), Held> {
    match only {
        Some(only) if !only.contains(&caller.connection_type()) => {
            Err(debug("Connection type not allowed"))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_signature(given: &Credentials, subject: &str, nonce: &str) -> Result<(), Held> {
    match given.sig.as_deref().unwrap_or_default() {
        "" => Err(debug("Signature missing")),
        sig if verify(Role::User, subject, nonce.as_bytes(), sig) => Ok(()),
        _ => Err(debug("Signature not verified")),
    }
}

/// Whether it comes from one of these networks.
fn comes_from(networks: &[String], caller: &Caller<'_>) -> bool {
    networks.is_empty()
        || caller.ip.is_some_and(|ip| {
            let networks: Option<Vec<_>> = networks.iter().map(|text| Cidr::parse(text)).collect();
            networks.is_some_and(|networks| networks.iter().any(|network| network.contains(ip)))
        })
}

/// Unknown ways are left out; when there are no others, nobody may come in.
fn connection_types(names: &[String]) -> Result<Option<Vec<ConnectionType>>, Held> {
    let known: Vec<_> = names
        .iter()
        .filter_map(|name| ConnectionType::parse(name))
        .collect();
    match (names.is_empty(), known.is_empty()) {
        (true, _) => Ok(None),
        (false, false) => Ok(Some(known)),
        (false, true) => Err(debug(format!("invalid connection types {names:?}"))),
    }
}

impl ConnectionType {
    /// By its word in a JWT, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let all = [
            ("STANDARD", Self::Standard),
            ("WEBSOCKET", Self::WebSocket),
            ("LEAFNODE", Self::Leafnode),
            ("LEAFNODE_WS", Self::LeafnodeWs),
            ("MQTT", Self::Mqtt),
            ("MQTT_WS", Self::MqttWs),
            ("IN_PROCESS", Self::InProcess),
        ];
        all.into_iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(name))
            .map(|(_, way)| way)
    }
}
