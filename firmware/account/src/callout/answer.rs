use std::sync::Arc;

use super::{Delegated, Delegation};
use crate::decentral::{Signer, daytime};
use crate::jwt::{AuthResponseClaims, UserClaims, UserPermissionLimits, Validation};
use crate::xkey::Xkey;
use crate::{ConnectionType, Directory, Identity, Login, Proxied, Question, User, Zone};

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

/// Why an answer lets nobody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The peer is not to be let in; the reason in nats-server's words.
    Refused(String),
    /// This has to be found out first; then the service is asked once more.
    Ask(Question),
}

impl Withheld {
    /// Refused; the reason gets a capital first letter.
    pub(super) fn titled(text: &str) -> Self {
        Self::Refused(title(text))
    }
}

impl Directory {
    /// Who the peer is, as the service says.
    ///
    /// # Errors
    /// Why it is not to be let in, or not yet.
    pub fn take_answer(&self, asked: &Asked<'_>, payload: &[u8]) -> Result<Identity, Withheld> {
        let account = asked.delegation.account;
        let service = self.account(account).map_or("", |account| &account.name);
        let claims = self
            .answer_claims(asked, service, payload)
            .map_err(|why| Withheld::titled(&why))?;
        let may = &claims.nats.may;
        let required = asked.delegation.proxy_required || may.proxy_required;
        if required && asked.delegation.proxied != Proxied::Trusted {
            return Err(Withheld::titled("proxy connection required"));
        }
        let validation = claims.validate(asked.wall_ns / NANOS);
        if let Some(first) = first(&validation) {
            return Err(Withheld::Refused(format!(
                "Error validating user JWT: {first}"
            )));
        }
        if claims.subject != asked.user {
            return Err(Withheld::Refused(format!(
                "Expected authorized user of {:?} but got {:?} on account {service:?}",
                asked.user, claims.subject
            )));
        }
        self.place(asked, service, claims)
    }

    /// Puts the user where its JWT says.
    fn place(
        &self,
        asked: &Asked<'_>,
        service: &str,
        claims: UserClaims,
    ) -> Result<Identity, Withheld> {
        let may = &claims.nats.may;
        let until_ns = self.delegated_until(&claims, asked.wall_ns, service)?;
        let only = ways(may).ok_or_else(|| {
            Withheld::titled(&format!(
                "authorized user on account {service:?} using invalid connection type"
            ))
        })?;
        let placement = self.placement(asked, service, &claims)?;
        let shown = match claims.name.as_str() {
            "" => &asked.delegation.user,
            name => name,
        };
        let login = Login::Delegated(Arc::new(Delegated {
            name: shown.to_owned(),
            name_tag: claims.name.clone(),
            tags: claims.nats.tags.clone(),
            until_ns,
            basis: placement.basis,
        }));
        let account = placement.account;
        let user = User {
            login,
            account,
            permissions: self.limited(account, placement.permissions),
            only,
            proxy_required: asked.delegation.proxy_required || placement.proxy_required,
        };
        Ok(Identity {
            account,
            user: Some(Arc::new(user)),
        })
    }

    /// Until when the user may stay.
    fn delegated_until(
        &self,
        claims: &UserClaims,
        wall_ns: i64,
        service: &str,
    ) -> Result<Option<i64>, Withheld> {
        let may = &claims.nats.may;
        let expires = (claims.expires != 0).then(|| claims.expires.saturating_mul(NANOS));
        if may.times.is_empty() {
            return Ok(expires);
        }
        let utc = Zone::default();
        let zone = match may.times_location.as_str() {
            "" | "UTC" => &utc,
            name => self.zones.get(name).ok_or_else(|| {
                Withheld::Ask(Question::Zone {
                    name: name.to_owned(),
                })
            })?,
        };
        let end = daytime::until(&may.times, zone, wall_ns).ok_or_else(|| {
            Withheld::titled(&format!(
                "authorized user on account {service:?} outside of valid connect times"
            ))
        })?;
        Ok(Some(expires.map_or(end, |expires| expires.min(end))))
    }

    /// The user JWT inside an answer that is meant for this question.
    fn answer_claims(
        &self,
        asked: &Asked<'_>,
        service: &str,
        payload: &[u8],
    ) -> Result<UserClaims, String> {
        if payload.is_empty() {
            return Err(format!(
                "auth callout violation: {:?} on account {service:?}",
                "no reason supplied"
            ));
        }
        let opened;
        let (text, is_sealed) = match &asked.delegation.xkey {
            Some(sender) if !payload.starts_with(JWT_START) => {
                opened = asked.xkey.open(payload, sender).map_err(|why| {
                    format!("error decrypting auth callout response on account {service:?}: {why}")
                })?;
                (opened.as_slice(), true)
            }
            Some(_) | None => (payload, false),
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
            return Err(
                "auth callout violation: auth callout response is not for server".to_owned(),
            );
        }
        if !is_sealed {
            self.check_signer(asked, &answer)?;
        }
        if !answer.nats.error.is_empty() {
            let error = &answer.nats.error;
            return Err(format!("auth callout service returned an error: {error}"));
        }
        UserClaims::decode(&answer.nats.jwt).map_err(|why| why.to_string())
    }

    /// An answer that came open is signed by the issuer of the configuration or, in operator mode,
    /// by the account that was asked.
    ///
    /// spec: nats-server v2.15.1, by its answers
    fn check_signer(&self, asked: &Asked<'_>, answer: &AuthResponseClaims) -> Result<(), String> {
        let unknown = || Err("auth callout signing key is unknown".to_owned());
        let (Some(trust), Some(asker)) = (self.trust(), self.claimed(asked.delegation.account))
        else {
            let is_issuer = answer.issuer == asked.delegation.subject;
            return if is_issuer { Ok(()) } else { unknown() };
        };
        let (own, said) = (&asker.claims.subject, &answer.nats.issuer_account);
        let is_ours = answer.issuer == *own
            || !matches!(asker.signer(&answer.issuer, trust), Signer::Stranger);
        if is_ours && (said.is_empty() || said == own) {
            return Ok(());
        }
        unknown()
    }
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
