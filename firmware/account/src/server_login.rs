//! Whether another server of the system may come in.
//! spec: nats-server v2.15.1 server/auth.go `isRouterAuthorized`, `isGatewayAuthorized`

use crate::secret::Check;
use crate::{PeerCert, PeerNames, Secret};

/// What another server has to show: one user that all of them are, or their certificate.
#[derive(Clone, Debug, Default)]
pub struct ServerLogin {
    /// Whom it has to be; `None`: nobody in particular.
    pub user: Option<String>,
    /// The password of that user; `None` is the empty one.
    pub secret: Option<Secret>,
    /// Whom its certificate has to name, instead of its saying a user.
    pub by_certificate: Option<PeerNames>,
}

/// Whether a server may come in.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// It may.
    Open,
    /// It may not.
    Closed,
    /// If its password has this bcrypt hash.
    If(Box<str>),
}

impl ServerLogin {
    /// Whether it has to say who it is.
    #[must_use]
    pub const fn requires_user(&self) -> bool {
        self.user.is_some()
    }

    /// Whether a server that says this and shows that may come in.
    #[must_use]
    pub fn judge(&self, user: &str, password: &str, cert: Option<&PeerCert>) -> Entry {
        let of = |may| if may { Entry::Open } else { Entry::Closed };
        if let Some(names) = &self.by_certificate {
            return of(cert.is_some_and(|cert| names.fits(cert)));
        }
        let Some(wanted) = &self.user else {
            return Entry::Open;
        };
        if wanted != user {
            return Entry::Closed;
        }
        let none = Secret::new("");
        match self.secret.as_ref().unwrap_or(&none).check(password) {
            Check::Right => Entry::Open,
            Check::Wrong => Entry::Closed,
            Check::Hash(hash) => Entry::If(hash.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(user: Option<&str>, password: Option<&str>) -> ServerLogin {
        ServerLogin {
            user: user.map(str::to_owned),
            secret: password.map(Secret::new),
            by_certificate: None,
        }
    }

    #[test]
    fn without_a_user_anybody_comes_in() {
        let open = login(None, Some("pw"));
        assert!(!open.requires_user());
        assert_eq!(open.judge("any", "thing", None), Entry::Open);
    }

    #[test]
    fn user_and_password_both_count() {
        let closed = login(Some("u"), Some("pw"));
        for (user, password, entry) in [
            ("u", "pw", Entry::Open),
            ("u", "pW", Entry::Closed),
            ("u", "", Entry::Closed),
            ("v", "pw", Entry::Closed),
            ("", "", Entry::Closed),
        ] {
            assert_eq!(
                closed.judge(user, password, None),
                entry,
                "{user} {password}"
            );
        }
        let without = login(Some("u"), None);
        assert_eq!(without.judge("u", "", None), Entry::Open);
        assert_eq!(without.judge("u", "pw", None), Entry::Closed);
    }

    #[test]
    fn a_hash_is_for_somebody_else_to_compare() {
        let hash = "$2a$04$abc";
        let hashed = login(Some("u"), Some(hash));
        assert_eq!(hashed.judge("u", hash, None), Entry::If(hash.into()));
        assert_eq!(hashed.judge("v", "pw", None), Entry::Closed);
    }

    #[test]
    fn where_certificates_count_words_do_not() {
        let mut named = login(Some("u"), Some("pw"));
        named.by_certificate = Some(PeerNames {
            user: Some("n.x".into()),
            hosts: Vec::new(),
        });
        let cert = |name: &str| PeerCert {
            dns_names: vec![name.into()],
            ..PeerCert::default()
        };
        assert_eq!(named.judge("u", "pw", None), Entry::Closed);
        assert_eq!(named.judge("u", "pw", Some(&cert("m.x"))), Entry::Closed);
        assert_eq!(named.judge("", "", Some(&cert("n.x"))), Entry::Open);
    }
}
