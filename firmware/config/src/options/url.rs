use crate::report::Report;
use crate::secret::Secret;
use crate::value::Value;
use std::fmt;

/// The address of another server: `nats://user:password@host:7422`.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    /// As written, in lower case; `nats`, `nats-leaf` and the like.
    pub scheme: String,
    /// Name or address, without brackets.
    pub host: String,
    /// The default of its kind if the URL has none: 7422 of a hub.
    pub port: u16,
    /// The name before the `@`.
    pub user: Option<String>,
    /// The password before the `@`.
    pub password: Option<Secret>,
    /// Behind the port, as written: where the WebSocket of the hub is.
    pub path: String,
    /// Whether the port was written.
    explicit_port: bool,
}

/// Why a URL is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlError {
    NoScheme,
    NoHost,
    Port,
    Escape,
}

impl UrlError {
    /// What is said of `text`, which is no URL and may still hold a password.
    pub(crate) fn of(self, text: &str, kind: &str) -> String {
        let shown = match (self, text.contains('@')) {
            (Self::NoScheme | Self::NoHost | Self::Port, false) => text.trim(),
            (_, _) => "[REDACTED]",
        };
        format!("error parsing {kind} url [{shown:?}]")
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::NoScheme => "write nats://host:port",
            Self::NoHost => "it has no host; write nats://host:port",
            Self::Port => "a port is 1 to 65535",
            Self::Escape => "write a % in a password as %25",
        }
    }
}

impl RemoteUrl {
    /// Whether its scheme is one of TLS.
    pub fn wants_tls(&self) -> bool {
        matches!(self.scheme.as_str(), "tls" | "wss")
    }

    /// Whether its scheme is one of WebSocket.
    /// spec: nats-server v2.15.1 server/websocket.go `isWSURL`
    pub fn is_websocket(&self) -> bool {
        self.scheme.starts_with("ws")
    }

    pub(crate) const DEFAULT_PORT: u16 = 7422;

    /// Whether the port was written.
    pub(crate) fn has_port(&self) -> bool {
        self.explicit_port
    }

    /// Whether a text is a URL that leads nowhere, as Go reads it: a path, without a host. nats-server
    /// takes it and dials in vain; it is left out, with a warning.
    /// spec: nats-server v2.15.1 server/opts.go `parseURL`
    pub(crate) fn leads_nowhere(
        text: &str,
        kind: &str,
        value: &Value,
        report: &mut Report,
    ) -> bool {
        let text = text.trim();
        let nowhere = !text.contains([':', '%', '@', '?', '#']) && !text.starts_with("//");
        if nowhere {
            let said = format!("{kind} url [{text:?}] has no host, it is left out");
            report.warning(&value.at, said, "write nats://host:port");
        }
        nowhere
    }

    /// The URL of a `leafnode`, `route` or `gateway`, or why it is none.
    pub(crate) fn read(text: &str, kind: &str, value: &Value, report: &mut Report) -> Option<Self> {
        match Self::parse(text) {
            Ok(url) => Some(url),
            Err(why) => {
                report.error(&value.at, why.of(text, kind), why.remedy());
                None
            }
        }
    }

    /// nats-server dials whatever is no scheme of TLS or WebSocket as `nats`.
    pub(crate) fn tell_scheme(&self, value: &Value, report: &mut Report) {
        if !matches!(
            self.scheme.as_str(),
            "nats" | "nats-leaf" | "leaf" | "tls" | "ws" | "wss"
        ) {
            let text = format!(
                "{:?} in \"{self}\" is dialed as nats-leaf, port {}",
                self.scheme, self.port
            );
            report.note(&value.at, text);
        }
    }

    /// A hub's, whose port is 7422 if none is written.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(UrlError::NoScheme)?;
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(valid) {
            return Err(UrlError::NoScheme);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let path = rest.strip_prefix(authority).unwrap_or_default();
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let (userinfo, address) = match authority.rsplit_once('@') {
            Some((userinfo, address)) => (Some(userinfo), address),
            None => (None, authority),
        };
        let (user, password) = credentials(userinfo)?;
        let (host, port) = split_address(address)?;
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            port: port.unwrap_or(Self::DEFAULT_PORT),
            user,
            password,
            path: path.to_owned(),
            explicit_port: port.is_some(),
        })
    }
}

/// What stands before the `@`.
pub(crate) fn credentials(
    userinfo: Option<&str>,
) -> Result<(Option<String>, Option<Secret>), UrlError> {
    Ok(match userinfo.map(|u| u.split_once(':').ok_or(u)) {
        None => (None, None),
        Some(Err(user)) => (Some(unescape(user)?), None),
        Some(Ok((user, password))) => {
            let password = Secret::new(unescape(password)?);
            (Some(unescape(user)?), Some(password))
        }
    })
}

fn split_address(address: &str) -> Result<(&str, Option<u16>), UrlError> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or(UrlError::NoHost)?;
            match rest.strip_prefix(':') {
                None if rest.is_empty() => (host, None),
                None => return Err(UrlError::Port),
                Some(port) => (host, Some(port)),
            }
        }
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(UrlError::NoHost);
    }
    let port = match port.filter(|port| !port.is_empty()) {
        None => None,
        Some(port) => {
            let digits = port.bytes().all(|b| b.is_ascii_digit());
            let number = port.parse::<u16>().ok().filter(|&n| digits && n > 0);
            Some(number.ok_or(UrlError::Port)?)
        }
    };
    Ok((host, port))
}

/// Undoes percent encoding.
fn unescape(text: &str) -> Result<String, UrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            let c = char::from(rest.next().ok_or(UrlError::Escape)?);
            c.to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
                .ok_or(UrlError::Escape)
        };
        bytes.push(digit()? << 4 | digit()?);
    }
    String::from_utf8(bytes).map_err(|_| UrlError::Escape)
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            write!(
                f,
                "{user}{}@",
                if self.password.is_some() {
                    ":xxxxx"
                } else {
                    ""
                }
            )?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        if self.explicit_port {
            write!(f, ":{}", self.port)
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{RemoteUrl, UrlError};

    #[test]
    fn reads_the_parts() {
        let url = RemoteUrl::parse("nats-leaf://till%201:p%40ss@hub.example:1234/x").unwrap();
        assert_eq!(
            (url.scheme.as_str(), url.host.as_str(), url.port),
            ("nats-leaf", "hub.example", 1234)
        );
        assert_eq!(url.user.as_deref(), Some("till 1"));
        assert_eq!(url.password.as_ref().map(|p| p.expose()), Some("p@ss"));
        let url = RemoteUrl::parse("NATS://[::1]").unwrap();
        assert_eq!(
            (url.scheme.as_str(), url.host.as_str(), url.port),
            ("nats", "::1", 7422)
        );
        assert_eq!(url.to_string(), "nats://[::1]");
    }

    #[test]
    fn hides_the_password() {
        let url = RemoteUrl::parse("nats://u:secret@h:1").unwrap();
        assert_eq!(
            format!("{url} {url:?}"),
            "nats://u:xxxxx@h:1 nats://u:xxxxx@h:1"
        );
    }

    #[test]
    fn refuses_what_is_no_address() {
        let cases = [
            ("localhost:7422", UrlError::NoScheme),
            ("://h", UrlError::NoScheme),
            ("nats://", UrlError::NoHost),
            ("nats://[::1", UrlError::NoHost),
            ("nats://h:0", UrlError::Port),
            ("nats://h:99999", UrlError::Port),
            ("nats://h:+1", UrlError::Port),
            ("nats://u:%zz@h", UrlError::Escape),
            ("nats://u:%4", UrlError::Port),
        ];
        for (text, want) in cases {
            assert_eq!(RemoteUrl::parse(text).err(), Some(want), "{text}");
        }
    }
}
