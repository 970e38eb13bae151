use crate::options::tls::{Side, Tls};
use crate::options::url::RemoteUrl;
use crate::report::{Report, set};
use crate::secret::Secret;
use crate::unsupported::Block;
use crate::value::{Entry, Map, Value};
use std::time::Duration;

/// An HTTP proxy that a hub is dialed through: the `proxy` of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteProxy {
    /// Whether TLS is spoken with the proxy itself.
    pub https: bool,
    /// Name or address, without brackets.
    pub host: String,
    /// Its port: 80, or 443 with TLS, unless it is written.
    pub port: u16,
    /// Who we are there.
    pub login: Option<(String, Secret)>,
    /// How long the proxy may take to reach the hub; `None`: as long as a dial.
    pub timeout: Option<Duration>,
    /// Whom to trust there, and what to show.
    pub tls: Option<Tls>,
}

/// The block as it was written.
#[derive(Default)]
struct Parts {
    url: Option<String>,
    user: Option<String>,
    password: Option<Secret>,
    /// In nanoseconds.
    timeout: Option<i64>,
    tls: Option<Tls>,
}

impl RemoteProxy {
    /// `None` after an error.
    ///
    /// spec: nats-server v2.15.1 server/leafnode.go `validateLeafNodeProxyOptions`
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let Some(map) = value.as_map() else {
            let text = format!("Expected proxy to be a map, got {}", value.kind.go_name());
            report.error(&value.at, text, "write { url: \"http://host:port\" }");
            return None;
        };
        let mut parts = Parts::default();
        for entry in map {
            parts.read(entry, report);
        }
        match parts.finish() {
            Ok(proxy) => proxy,
            Err((text, remedy)) => {
                report.error(&value.at, text, remedy);
                None
            }
        }
    }
}

impl Parts {
    fn read(&mut self, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "url" => set(&mut self.url, report.text(value)),
            "username" => set(&mut self.user, report.text(value)),
            "password" => set(&mut self.password, report.secret(value)),
            "timeout" => self.timeout = read_timeout(value, report),
            "tls" => self.tls = read_tls(value, report),
            _ => report.other(Block::RemoteProxy, entry),
        }
    }

    fn finish(self) -> Result<Option<RemoteProxy>, (String, &'static str)> {
        let Some(url) = self.url else {
            let is_empty = self.user.is_none()
                && self.password.is_none()
                && self.timeout.is_none_or(|nanos| nanos == 0)
                && self.tls.is_none();
            let text = "proxy URL must be specified when other proxy options are set";
            return if is_empty {
                Ok(None)
            } else {
                Err((text.to_owned(), URL_REMEDY))
            };
        };
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            let text = format!("proxy URL scheme must be http or https, got: {scheme}");
            return Err((text, URL_REMEDY));
        }
        let place = RemoteUrl::parse(&url)
            .map_err(|_| ("proxy URL must specify a host".to_owned(), URL_REMEDY))?;
        let https = scheme == "https";
        let timeout = self.timeout.filter(|nanos| *nanos != 0);
        let timeout = timeout.map(|nanos| u64::try_from(nanos).map(Duration::from_nanos));
        let timeout = timeout
            .transpose()
            .map_err(|_| ("proxy timeout must be >= 0".to_owned(), ""))?;
        let login = match (self.user, self.password) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let text = "proxy username and password must both be specified or both be empty";
                return Err((text.to_owned(), ""));
            }
        };
        if self.tls.is_some() && !https {
            let text =
                format!("proxy TLS configuration requires an https proxy URL, got: {scheme}");
            return Err((text, "write https:// or remove the block"));
        }
        let default_port = if https { 443 } else { 80 };
        Ok(Some(RemoteProxy {
            https,
            port: if place.has_port() {
                place.port
            } else {
                default_port
            },
            host: place.host,
            login,
            timeout,
            tls: self.tls,
        }))
    }
}

/// A number is seconds, and warned of, as everywhere; what is negative is told with the rest.
fn read_timeout(value: &Value, report: &mut Report) -> Option<i64> {
    match value.as_str() {
        Some(_) => report.nanoseconds("proxy timeout", value),
        None => {
            let timeout = report.duration("proxy timeout", value)?;
            i64::try_from(timeout.as_nanos()).ok()
        }
    }
}

fn read_tls(value: &Value, report: &mut Report) -> Option<Tls> {
    let map = report.map(value, "Expected proxy tls to be a map/struct")?;
    let mut good = Map::default();
    for entry in map {
        let key = entry.key.to_lowercase();
        if TLS_KEYS.split(' ').any(|known| known == key) {
            good.insert(entry.clone());
        } else {
            let text = format!("{:?} is not supported for proxy TLS", entry.key);
            report.error(&entry.value.at, text, "remove it");
        }
    }
    let kept = Value {
        kind: crate::value::Kind::Map(good),
        ..value.clone()
    };
    Tls::read(&kept, Side::Client, report)
}

const URL_REMEDY: &str = "write url: \"http://host:port\"";
const TLS_KEYS: &str = "ca_file cert_file key_file certs certificates insecure timeout \
                        min_version minimum_version cipher_suites allow_insecure_cipher_suites \
                        curve_preferences";

#[cfg(test)]
mod tests {
    use crate::{Nothing, RemoteProxy, load_text};
    use std::time::Duration;

    fn read(url: &str, proxy: &str) -> Result<Option<RemoteProxy>, String> {
        let text = format!("leafnodes {{ remotes [ {{ url: \"{url}\", proxy: {proxy} }} ] }}");
        let loaded = load_text(&text, "x.conf", &Nothing);
        loaded
            .map(|mut loaded| loaded.config.leafnodes.remotes.remove(0).proxy)
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_proxy_has_the_port_of_its_scheme() {
        let text = "{ url: \"http://h\", username: u, password: p, timeout: \"3s\" }";
        let plain = read("ws://a:1", text).unwrap().unwrap();
        assert_eq!(
            (plain.https, plain.host.as_str(), plain.port),
            (false, "h", 80)
        );
        assert_eq!(plain.timeout, Some(Duration::from_secs(3)));
        assert_eq!(plain.login.unwrap().0, "u");
        let secure = read("nats://a", "{ url: \"https://[::1]\" }")
            .unwrap()
            .unwrap();
        assert_eq!(
            (secure.https, secure.host.as_str(), secure.port),
            (true, "::1", 443)
        );
        let other = read(
            "nats://a",
            "{ url: \"https://h:8443\", tls { insecure: true } }",
        );
        assert_eq!(other.unwrap().unwrap().port, 8443);
        assert_eq!(read("nats://a", "{}"), Ok(None));
    }

    /// The words of nats-server 2.15.1.
    #[test]
    fn bad_proxies_are_refused_in_the_same_words() {
        for (url, proxy, words) in [
            (
                "nats://a",
                "{url: \"ftp://x\"}",
                "proxy URL scheme must be http or https, got: ftp",
            ),
            (
                "nats://a",
                "{url: \"http://\"}",
                "proxy URL must specify a host",
            ),
            (
                "nats://a",
                "{url: \"http://h\", username: u}",
                "proxy username and password must both be specified or both be empty",
            ),
            (
                "nats://a",
                "{url: \"http://h\", foo: 1}",
                "unknown field \"foo\"",
            ),
            ("nats://a", "5", "Expected proxy to be a map, got int64"),
            (
                "nats://a",
                "{url: \"http://h\", timeout: \"-1s\"}",
                "proxy timeout must be >= 0",
            ),
            (
                "nats://a",
                "{url: \"http://h\", tls: {}}",
                "proxy TLS configuration requires an https proxy URL, got: http",
            ),
            (
                "nats://a",
                "{url: \"https://h\", tls: {verify: true}}",
                "\"verify\" is not supported for proxy TLS",
            ),
            (
                "nats://a",
                "{username: u}",
                "proxy URL must be specified when other proxy options are set",
            ),
            (
                "wss://127.0.0.1:1",
                "{url: \"http://u:p@h\"}",
                "proxy is configured but remote URL wss://127.0.0.1:1 requires TLS and no TLS \
                 configuration is provided. When using proxy with TLS endpoints, ensure TLS is \
                 properly configured for the leafnode remote",
            ),
        ] {
            let errors = read(url, proxy).unwrap_err();
            assert!(errors.contains(words), "{url} {proxy}: {errors}");
        }
    }
}
