//! The block from the command line.
//! spec: nats-server v2.15.1 server/opts.go `overrideCluster`, `RoutesFromStr`

use super::Cluster;
use crate::options::server::Listen;
use crate::options::url::{RemoteUrl, credentials};
use crate::report::split_host_port;

impl Cluster {
    /// Listens where a URL such as `nats://user:password@host:6222` says, and takes servers that
    /// show its user: `--cluster`. Empty, there are no routes.
    ///
    /// # Errors
    /// Why it is no such URL, without its password.
    pub fn listen_at(&mut self, url: &str) -> Result<(), String> {
        if url.is_empty() {
            self.listen = None;
            return Ok(());
        }
        let shown = if url.contains('@') { "[REDACTED]" } else { url };
        let rest = match url.split_once("://") {
            Some((_, rest)) => rest,
            None if url.starts_with(|c: char| c.is_ascii_digit()) && url.contains(':') => {
                return Err(format!(
                    "parse {shown:?}: first path segment in URL cannot contain colon"
                ));
            }
            None => return Err("missing port in address".to_owned()),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (userinfo, address) = match authority.rsplit_once('@') {
            Some((userinfo, address)) => (Some(userinfo), address),
            None => (None, authority),
        };
        let Some((host, port)) = split_host_port(address) else {
            return Err(format!("address {address}: missing port in address"));
        };
        let (user, password) = credentials(userinfo)
            .map_err(|_| format!("parse {shown:?}: invalid URL escape in userinfo"))?;
        if user.is_some() && password.is_none() {
            return Err("expected cluster password to be set".to_owned());
        }
        self.listen = match port {
            "0" => None,
            "-1" => Some(Listen::new(host, "0.0.0.0", 0)),
            port => {
                let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
                if !digits {
                    return Err(format!(
                        "parse {shown:?}: invalid port \":{port}\" after host"
                    ));
                }
                let number = port.parse().map_err(|_| format!("invalid port {port}"))?;
                Some(Listen::new(host, "0.0.0.0", number))
            }
        };
        (self.authorization.user, self.authorization.password) = (user, password);
        Ok(())
    }

    /// Dials these, separated by commas, instead of those of the file: `--routes`.
    ///
    /// # Errors
    /// The one that is no URL, without its password; or that this server has no routes.
    pub fn dial(&mut self, routes: &str) -> Result<(), String> {
        self.routes.clear();
        if routes.is_empty() {
            return Ok(());
        }
        if self.listen.is_none() {
            let text = "solicited routes require cluster capabilities, e.g. --cluster";
            return Err(text.to_owned());
        }
        for text in routes.split(',') {
            let mut url = RemoteUrl::parse(text).map_err(|why| why.of(text, "route"))?;
            if !url.has_port() {
                url.port = Self::PORT;
            }
            if !self.routes.contains(&url) {
                self.routes.push(url);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Cluster;

    fn listening(url: &str) -> Result<String, String> {
        let mut cluster = Cluster::default();
        cluster.listen_at(url)?;
        let auth = &cluster.authorization;
        let user = auth.user.clone().unwrap_or_default();
        let password = auth.password.as_ref().map_or("", |p| p.expose());
        Ok(match &cluster.listen {
            Some(at) => format!("{user}/{password}@{} {}", at.host, at.port),
            None => "nowhere".to_owned(),
        })
    }

    #[test]
    fn listens_where_the_flag_says() {
        for (url, want) in [
            ("", "nowhere"),
            ("nats://127.0.0.1:0", "nowhere"),
            ("nats://127.0.0.1:-1", "/@127.0.0.1 0"),
            ("nats://:6222", "/@0.0.0.0 6222"),
            ("nats://[::1]:6222/", "/@::1 6222"),
            ("nats://u:p%40@h:6222", "u/p@@h 6222"),
        ] {
            assert_eq!(listening(url).as_deref(), Ok(want), "{url}");
        }
    }

    #[test]
    fn refuses_in_nats_servers_words() {
        for (url, want) in [
            (
                "127.0.0.1:6222",
                "parse \"127.0.0.1:6222\": first path segment in URL cannot contain colon",
            ),
            ("localhost:6222", "missing port in address"),
            ("-1", "missing port in address"),
            (
                "nats://127.0.0.1",
                "address 127.0.0.1: missing port in address",
            ),
            (
                "nats://u@127.0.0.1:-1",
                "expected cluster password to be set",
            ),
            (
                "nats://h:abc",
                "parse \"nats://h:abc\": invalid port \":abc\" after host",
            ),
            ("nats://h:99999", "invalid port 99999"),
        ] {
            assert_eq!(listening(url), Err(want.to_owned()), "{url}");
        }
        let secret = listening("nats://u:secret@h:abc").unwrap_err();
        assert!(!secret.contains("secret"), "{secret}");
    }

    #[test]
    fn the_flag_forgets_who_the_file_lets_in() {
        let mut cluster = Cluster::default();
        cluster.listen_at("nats://u:p@h:1").unwrap();
        cluster.listen_at("nats://h:2").unwrap();
        assert_eq!(cluster.authorization.user, None);
        assert_eq!(cluster.authorization.password, None);
    }

    #[test]
    fn dials_what_the_flag_lists() {
        let mut cluster = Cluster::default();
        let refused = "solicited routes require cluster capabilities, e.g. --cluster";
        assert_eq!(cluster.dial("nats://a:1"), Err(refused.to_owned()));
        cluster.listen_at("nats://h:1").unwrap();
        cluster.dial("nats://a:1, nats://u:p@b,nats://a:1").unwrap();
        let shown: Vec<_> = cluster
            .routes
            .iter()
            .map(|url| (&*url.host, url.port))
            .collect();
        assert_eq!(shown, [("a", 1), ("b", 6222)]);
        let wrong = cluster.dial("nats://a:1,u:secret@b").unwrap_err();
        assert_eq!(wrong, "error parsing route url [\"[REDACTED]\"]");
        cluster.dial("").unwrap();
        assert!(cluster.routes.is_empty());
    }
}
