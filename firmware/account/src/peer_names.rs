//! Whether a certificate is that of another server of the system.
//! spec: nats-server v2.15.1 server/auth.go `isRouterAuthorized`, `isGatewayAuthorized`

use crate::PeerCert;

/// What the certificate of another server has to name, besides being signed by whom one trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerNames {
    /// One of its names is this user's.
    pub user: Option<String>,
    /// One of its DNS names is one of these hosts.
    pub hosts: Vec<String>,
}

impl PeerNames {
    /// Whether this is such a certificate.
    #[must_use]
    pub fn fits(&self, cert: &PeerCert) -> bool {
        let names = cert.emails.iter().chain(&cert.dns_names).chain(&cert.uris);
        let mut names = names.chain([&cert.subject]);
        let user = self.user.as_ref().filter(|user| !user.is_empty());
        let is_host = |name: &String| self.hosts.iter().any(|host| covers(name, host));
        user.is_some_and(|user| names.any(|name| name == user))
            || cert.dns_names.iter().any(is_host)
    }
}

/// Whether a DNS name of a certificate means `host`: its first label may be `*`.
/// spec: nats-server v2.15.1 server/auth.go `dnsAltNameMatches`
fn covers(name: &str, host: &str) -> bool {
    let (mut names, mut hosts) = (name.split('.'), host.split('.'));
    let first = |(name, host): (&str, &str)| name == "*" || name.eq_ignore_ascii_case(host);
    names.next().zip(hosts.next()).is_some_and(first)
        && names.clone().count() == hosts.clone().count()
        && names
            .zip(hosts)
            .all(|(name, host)| name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cert(dns: &[&str]) -> PeerCert {
        PeerCert {
            subject: "CN=n1,O=o".into(),
            emails: vec!["n@x".into()],
            dns_names: dns.iter().map(|name| String::from(*name)).collect(),
            uris: vec!["u:n".into()],
            ..PeerCert::default()
        }
    }

    fn is_user(user: &str) -> bool {
        let names = PeerNames {
            user: Some(user.into()),
            ..PeerNames::default()
        };
        names.fits(&cert(&["n.x"]))
    }

    #[test]
    fn any_of_its_names_may_be_the_user() {
        for name in ["n@x", "n.x", "u:n", "CN=n1,O=o"] {
            assert!(is_user(name), "{name}");
        }
        for name in ["", "n1", "N@X", "CN=n1", "*.x"] {
            assert!(!is_user(name), "{name}");
        }
        assert!(!PeerNames::default().fits(&cert(&["n.x"])));
    }

    #[test]
    fn only_a_dns_name_may_be_a_host_and_a_star_is_its_first_label() {
        let fits = |name: &str, host: &str| {
            let names = PeerNames {
                hosts: vec!["other".into(), host.into()],
                ..PeerNames::default()
            };
            names.fits(&cert(&[name]))
        };
        for (name, host) in [("a.x", "A.x"), ("*.x", "a.X"), ("localhost", "localhost")] {
            assert!(fits(name, host), "{name} {host}");
        }
        for (name, host) in [
            ("*.x", "a.b.x"),
            ("*.x", "x"),
            ("a.*", "a.x"),
            ("a.x", "b.x"),
            ("a.x", "a.x.y"),
            ("b", "n@x"),
            ("b", "u:n"),
        ] {
            assert!(!fits(name, host), "{name} {host}");
        }
    }
}
