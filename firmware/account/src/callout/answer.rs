use std::sync::Arc;

use super::{Delegated, Delegation};
use crate::decentral::{daytime, permissions};
use crate::jwt::{AuthResponseClaims, UserClaims, UserPermissionLimits, Validation};
use crate::xkey::Xkey;
use crate::{ConnectionType, Directory, Identity, Login, Proxied, User, Zone};

/// What the server remembers of a question.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its own public key.
    pub server: &'a str,
    /// The user key made for this question.
    pub user: &'a str,
    /// Whom it asked.
    pub delegation: &'a Delegation,
    /// Its own curve key, for a sealed answer.
    pub xkey: &'a Xkey,
    /// Unix time, nanoseconds.
    pub wall_ns: i64,
}

impl Directory {
    /// Who the peer is, as the service says.
    ///
    /// # Errors
    /// Why it is not to be let in, in nats-server's words.
    pub fn take_answer(&self, asked: &Asked<'_>, payload: &[u8]) -> Result<Identity, String> {
        let account = asked.delegation.account;
        let service = self.account(account).map_or("", |account| &account.name);
        let claims = claims(asked, service, payload).map_err(|why| title(&why))?;
        let may = &claims.nats.may;
        let required = asked.delegation.proxy_required || may.proxy_required;
        if required && asked.delegation.proxied != Proxied::Trusted {
            return Err(title("proxy connection required"));
        }
        let validation = claims.validate(asked.wall_ns / NANOS);
        if let Some(first) = first(&validation) {
            return Err(format!("Error validating user JWT: {first}"));
        }
        if claims.subject != asked.user {
            return Err(format!(
                "Expected authorized user of {:?} but got {:?} on account {service:?}",
                asked.user, claims.subject
            ));
        }
        self.place(asked, service, claims)
            .map_err(|why| title(&why))
    }

    /// Puts the user where its JWT says.
    fn place(
        &self,
        asked: &Asked<'_>,
        service: &str,
        claims: UserClaims,
    ) -> Result<Identity, String> {
        let may = &claims.nats.may;
        let until_ns = self
            .delegated_until(&claims, asked.wall_ns)
            .ok_or_else(|| {
                format!("authorized user on account {service:?} outside of valid connect times")
            })?;
        let only = ways(may).ok_or_else(|| {
            format!("authorized user on account {service:?} using invalid connection type")
        })?;
        check_issuer(asked, service, &claims)?;
        let placement = &claims.audience;
        let account = self.find(placement).ok_or_else(|| {
            format!(
                "no valid account {placement:?} for auth callout response on account \
                 {service:?}: account missing"
            )
        })?;
        let permissions = permissions::of(&may.permissions).map(Arc::new);
        let shown = match claims.name.as_str() {
            "" => &asked.delegation.user,
            name => name,
        };
        let login = Login::Delegated(Arc::new(Delegated {
            name: shown.to_owned(),
            name_tag: claims.name.clone(),
            tags: claims.nats.tags.clone(),
            until_ns,
        }));
        let user = User {
            login,
            account,
            permissions: self.limited(account, permissions),
            only,
            proxy_required: asked.delegation.proxy_required || may.proxy_required,
        };
        Ok(Identity {
            account,
            user: Some(Arc::new(user)),
        })
    }

    /// Until when the user may stay; `None`: it may not come now, or in a time zone nobody looked
    /// up.
    fn delegated_until(&self, claims: &UserClaims, wall_ns: i64) -> Option<Option<i64>> {
        let may = &claims.nats.may;
        let expires = (claims.expires != 0).then(|| claims.expires.saturating_mul(NANOS));
        if may.times.is_empty() {
            return Some(expires);
        }
        let utc = Zone::default();
        let zone = match may.times_location.as_str() {
            "" | "UTC" => &utc,
            name => self.zones.get(name)?,
        };
        let end = daytime::until(&may.times, zone, wall_ns)?;
        Some(Some(expires.map_or(end, |expires| expires.min(end))))
    }
}

/// The user JWT inside an answer that is meant for this question.
fn claims(asked: &Asked<'_>, service: &str, payload: &[u8]) -> Result<UserClaims, String> {
    if payload.is_empty() {
        return Err(format!(
            "auth callout violation: {:?} on account {service:?}",
            "no reason supplied"
        ));
    }
    let opened;
    let text = match &asked.delegation.xkey {
        Some(sender) if !payload.starts_with(JWT_START) => {
            opened = asked.xkey.open(payload, sender).map_err(|why| {
                format!("error decrypting auth callout response on account {service:?}: {why}")
            })?;
            opened.as_slice()
        }
        Some(_) | None => payload,
    };
    let text = core::str::from_utf8(text).map_err(|_| "expected 3 chunks".to_owned())?;
    let answer = AuthResponseClaims::decode(text).map_err(|why| why.to_string())?;
    if let Some(first) = first(&answer.validate(asked.wall_ns / NANOS)) {
        return Err(format!(
            "authorization response had validation errors: {first}"
        ));
    }
    if answer.subject != asked.user {
        let text = "auth callout violation: auth callout response is not for expected user";
        return Err(text.to_owned());
    }
    if answer.audience != asked.server {
        return Err("auth callout violation: auth callout response is not for server".to_owned());
    }
    if !answer.nats.error.is_empty() {
        let error = &answer.nats.error;
        return Err(format!("auth callout service returned an error: {error}"));
    }
    UserClaims::decode(&answer.nats.jwt).map_err(|why| why.to_string())
}

fn check_issuer(asked: &Asked<'_>, service: &str, claims: &UserClaims) -> Result<(), String> {
    if !claims.nats.issuer_account.is_empty() {
        return Err(format!(
            "error non operator mode account {service:?}: attempted to use issuer_account"
        ));
    }
    let (expected, got) = (&asked.delegation.subject, &claims.issuer);
    if got == expected {
        return Ok(());
    }
    Err(format!(
        "wrong issuer for auth callout response on account {service:?}, expected {expected:?} got \
         {got:?}"
    ))
}

/// How the user may connect: any way, or those that are known among the ones named.
fn ways(may: &UserPermissionLimits) -> Option<Option<Vec<ConnectionType>>> {
    let names = &may.allowed_connection_types;
    let known: Vec<_> = names
        .iter()
        .filter_map(|name| ConnectionType::parse(name))
        .collect();
    match (names.is_empty(), known.is_empty()) {
        (true, _) => Some(None),
        (false, false) => Some(Some(known)),
        (false, true) => None,
    }
}

fn first(validation: &Validation) -> Option<&str> {
    validation.issues.first().map(|issue| issue.text.as_str())
}

/// With a capital first letter, as the log has it.
fn title(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

const JWT_START: &[u8] = b"eyJ";
const NANOS: i64 = 1_000_000_000;
