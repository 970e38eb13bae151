//! Which user a certificate means.
//! spec: nats-server v2.15.1 server/auth.go `checkClientTLSCertSubject`, internal/ldap/dn.go

use std::sync::Arc;

use crate::{DnPart, PeerCert, User};

/// The first user that the names of a certificate mean: e-mail addresses, then DNS names, then
/// URIs, then the distinguished name, as it is written or in another order. `named` finds a user by
/// its literal name, `all` are all of them.
pub(crate) fn user_of<'u>(
    cert: &PeerCert,
    named: impl Fn(&str) -> Option<&'u Arc<User>>,
    all: impl Iterator<Item = (&'u str, &'u Arc<User>)>,
) -> Option<&'u Arc<User>> {
    if cert.emails.is_empty() && cert.uris.is_empty() && cert.subject.is_empty() {
        return None;
    }
    let names = cert.emails.iter().chain(&cert.dns_names).chain(&cert.uris);
    if let Some(user) = names.into_iter().find_map(|name| named(name)) {
        return Some(user);
    }
    // As Go's LDAP form has it: last part first.
    let dn: Vec<DnPart> = cert.dn.iter().rev().cloned().collect();
    let mut users: Vec<(Vec<DnPart>, &str, &Arc<User>)> = all
        .filter_map(|(name, user)| Some((parse(name)?, name, user)))
        .collect();
    users.sort_unstable_by_key(|(_, name, _)| *name);
    let exact = users
        .iter()
        .find(|(parts, ..)| parts.len() == dn.len() && parts.iter().zip(&dn).all(same));
    let reordered = || {
        users.iter().find(|(parts, ..)| {
            parts.len() == dn.len()
                && parts
                    .iter()
                    .all(|part| dn.iter().any(|other| same((part, other))))
        })
    };
    match exact.or_else(reordered) {
        Some((_, _, user)) => Some(user),
        None => named(&cert.subject),
    }
}

/// The same types with the same values, in any order; types in any case.
fn same((a, b): (&DnPart, &DnPart)) -> bool {
    let has = |part: &DnPart, (kind, value): &(String, String)| {
        part.iter()
            .any(|(k, v)| k.eq_ignore_ascii_case(kind) && v == value)
    };
    a.len() == b.len() && a.iter().all(|pair| has(b, pair))
}

/// A distinguished name in the form of RFC 2253; `None` when it is none.
fn parse(text: &str) -> Option<Vec<DnPart>> {
    let mut parts: Vec<DnPart> = vec![Vec::new()];
    let (mut kind, mut value) = (String::new(), None::<String>);
    let mut chars = text.chars();
    loop {
        let c = chars.next();
        match (c, &mut value) {
            (Some('='), None) => value = Some(String::new()),
            (Some(c), None) => kind.push(c),
            (Some('\\'), Some(value)) => value.push(escaped(&mut chars)?),
            (None | Some(',' | '+' | ';'), Some(given)) => {
                let pair = (kind.trim().to_owned(), given.trim_start().to_owned());
                if pair.0.is_empty() {
                    return None;
                }
                parts.last_mut()?.push(pair);
                (kind, value) = (String::new(), None);
                match c {
                    None => return Some(parts),
                    Some('+') => {}
                    Some(_) => parts.push(Vec::new()),
                }
            }
            (Some(c), Some(value)) => value.push(c),
            (None, None) => return None,
        }
    }
}

/// What stands after a backslash: the character itself, or two hex digits.
fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let first = chars.next()?;
    match first.to_digit(16) {
        Some(high) => {
            let low = chars.next()?.to_digit(16)?;
            char::from_u32(high << 4 | low)
        }
        None => Some(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccountId, Login, Secret};

    fn dn(pairs: &[(&str, &str)]) -> Vec<DnPart> {
        let one = |(kind, value): &(&str, &str)| vec![((*kind).to_owned(), (*value).to_owned())];
        pairs.iter().map(one).collect()
    }

    fn found(cert: &PeerCert, names: &[&str]) -> Option<String> {
        let users: Vec<(&str, Arc<User>)> = names
            .iter()
            .map(|name| {
                let user = User {
                    proxy_required: false,
                    login: Login::Password {
                        user: (*name).to_owned(),
                        secret: Secret::new(""),
                    },
                    account: AccountId(0),
                    permissions: None,
                    only: None,
                };
                (*name, Arc::new(user))
            })
            .collect();
        let named = |name: &str| users.iter().find(|(n, _)| *n == name).map(|(_, u)| u);
        let all = users.iter().map(|(name, user)| (*name, user));
        user_of(cert, named, all).map(|user| user.login.name().to_owned())
    }

    #[test]
    fn alternative_names_go_before_the_distinguished_name() {
        let cert = PeerCert {
            subject: "CN=c,O=o".into(),
            dn: dn(&[("O", "o"), ("CN", "c")]),
            emails: vec!["a@x".into()],
            dns_names: vec!["d.x".into()],
            uris: vec!["u:x".into()],
            ..PeerCert::default()
        };
        let all = ["CN=c,O=o", "u:x", "d.x", "a@x"];
        for count in (1..=all.len()).rev() {
            assert_eq!(found(&cert, &all[..count]).as_deref(), Some(all[count - 1]));
        }
        assert_eq!(found(&cert, &["c"]), None);
    }

    #[test]
    fn a_distinguished_name_may_be_written_in_any_order() {
        let cert = PeerCert {
            subject: "CN=c\\, d,O=o,C=US".into(),
            dn: dn(&[("C", "US"), ("O", "o"), ("CN", "c, d")]),
            ..PeerCert::default()
        };
        for name in [
            "CN=c\\, d,O=o,C=US",
            "C=US, o=o,CN=c\\, d",
            "C=US,O=o,CN=c\\2c d",
        ] {
            assert_eq!(found(&cert, &[name]).as_deref(), Some(name), "{name}");
        }
        for name in ["CN=c\\, d,O=o", "CN=c\\, d,O=o,C=DE", "CN", ""] {
            assert_eq!(found(&cert, &[name]), None, "{name}");
        }
        let both = ["C=US,O=o,CN=c\\, d", "CN=c\\, d,O=o,C=US"];
        assert_eq!(found(&cert, &both).as_deref(), Some(both[1]));
    }
}
