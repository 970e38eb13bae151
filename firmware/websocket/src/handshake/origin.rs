//! Which web pages may open a connection.
//! spec: nats-server v2.15.1 server/websocket.go `checkOrigin`, `wsGetHostAndPort`.

use core::fmt;
use std::borrow::Cow;

/// Where a page came from: scheme, host in lower case, port (the scheme's own when none is named).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `http` or `https`, as Go's parser gives it (in lower case).
    pub scheme: String,
    /// In lower case; an IPv6 address without its brackets when a port follows it.
    pub host: String,
    /// As written.
    pub port: String,
}

/// Why something is no origin, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// It is no absolute URL.
    #[error("parse {url:?}: {why}")]
    Parse {
        /// What was given.
        url: String,
        /// In the words of Go's `net/url`.
        why: Cow<'static, str>,
    },
    /// Not a page's scheme.
    #[error("{0:?}: allowed origins must be absolute URLs with http or https scheme")]
    Scheme(String),
    /// There is no host in it.
    #[error("{0:?}: host is required")]
    Host(String),
    /// Host and port can't be told apart.
    #[error("address {address}: {why}")]
    Address {
        /// What was given.
        address: String,
        /// In the words of Go's `net`.
        why: &'static str,
    },
}

impl Origin {
    /// One that an operator allows.
    ///
    /// # Errors
    /// What is wrong, in nats-server's words behind `unable to parse allowed origin`.
    pub fn allowed(url: &str) -> Result<Self, OriginError> {
        let (scheme, authority) = split(url)?;
        if scheme != "http" && scheme != "https" {
            return Err(OriginError::Scheme(url.to_owned()));
        }
        if authority.is_empty() {
            return Err(OriginError::Host(url.to_owned()));
        }
        Self::of(scheme, authority)
    }

    /// One that a browser names.
    ///
    /// # Errors
    /// What is wrong, in Go's words.
    pub fn parse(url: &str) -> Result<Self, OriginError> {
        let (scheme, authority) = split(url)?;
        Self::of(scheme, authority)
    }

    /// The server's own, as the `Host` header names it.
    ///
    /// # Errors
    /// What is wrong, in Go's words.
    pub fn of_host(host: &str, tls: bool) -> Result<Self, OriginError> {
        Self::of(if tls { "https" } else { "http" }.to_owned(), host)
    }

    fn of(scheme: String, authority: &str) -> Result<Self, OriginError> {
        let (host, port) = match host_and_port(authority) {
            Ok((host, port)) => (host, port.to_owned()),
            Err(MISSING_PORT) => {
                let port = if scheme == "https" { "443" } else { "80" };
                (authority, port.to_owned())
            }
            Err(why) => {
                return Err(OriginError::Address {
                    address: authority.to_owned(),
                    why,
                });
            }
        };
        Ok(Self {
            scheme,
            host: host.to_lowercase(),
            port,
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.host, self.port)
    }
}

const MISSING_PORT: &str = "missing port in address";

/// Scheme in lower case, and the authority without user information.
fn split(url: &str) -> Result<(String, &str), OriginError> {
    let wrong = |why: &'static str| OriginError::Parse {
        url: url.to_owned(),
        why: why.into(),
    };
    if url.is_empty() {
        return Err(wrong("empty url"));
    }
    if url.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err(wrong("net/url: invalid control character in URL"));
    }
    let Some((scheme, rest)) = url.split_once(':') else {
        return match url.strip_prefix('/') {
            Some(path) => Ok((String::new(), path.strip_prefix('/').map_or("", authority))),
            None => Err(wrong("invalid URI for request")),
        };
    };
    let mut letters = scheme.bytes();
    match letters.next() {
        None => return Err(wrong("missing protocol scheme")),
        Some(first) if first.is_ascii_alphabetic() => {}
        Some(_) => return Err(wrong("invalid URI for request")),
    }
    if !letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')) {
        return Err(wrong("invalid URI for request"));
    }
    // Without a slash it is opaque: a scheme and no host.
    let authority = rest.strip_prefix("//").map_or("", authority);
    match wrong_host(authority) {
        None => Ok((scheme.to_lowercase(), authority)),
        Some(why) => Err(OriginError::Parse {
            url: url.to_owned(),
            why,
        }),
    }
}

fn authority(rest: &str) -> &str {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// What is wrong with a host and its port. spec: Go net/url `parseHost`.
fn wrong_host(authority: &str) -> Option<Cow<'static, str>> {
    let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
        let Some((host, port)) = inner.split_once(']') else {
            return Some("missing ']' in host".into());
        };
        (host, port)
    } else {
        authority.split_at(authority.find(':').unwrap_or(authority.len()))
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(digits) {
        return Some(format!("invalid port {port:?} after host").into());
    }
    let strange = |c: &char| {
        matches!(
            c,
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'
        )
    };
    let strange = host.chars().find(strange)?;
    Some(format!("invalid character \"{strange}\" in host name").into())
}

/// As Go's `net.SplitHostPort`.
fn host_and_port(address: &str) -> Result<(&str, &str), &'static str> {
    let Some((before, port)) = address.rsplit_once(':') else {
        return Err(MISSING_PORT);
    };
    if let Some(inner) = address.strip_prefix('[') {
        let Some((host, after)) = inner.split_once(']') else {
            return Err("missing ']' in address");
        };
        return match after.strip_prefix(':') {
            Some(port) if !port.contains(':') => Ok((host, port)),
            Some(_) => Err("too many colons in address"),
            None => Err(MISSING_PORT),
        };
    }
    if before.contains(':') {
        return Err("too many colons in address");
    }
    Ok((before, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_without_a_port_has_its_schemes() {
        let same = |a: &str, b: &str| {
            assert_eq!(
                Origin::parse(a).unwrap(),
                Origin::parse(b).unwrap(),
                "{a} {b}"
            );
        };
        same("http://Example.com", "http://example.com:80");
        same("HTTPS://example.com/", "https://example.com:443/path");
        same("http://user@example.com", "http://example.com");
        let tls = Origin::of_host("example.com", true).unwrap();
        assert_eq!(tls, Origin::parse("https://example.com").unwrap());
        assert_eq!(Origin::parse("http://[::1]:80").unwrap().host, "::1");
    }

    #[test]
    fn only_pages_are_allowed_origins() {
        for (url, text) in [
            ("", "parse \"\": empty url"),
            (
                "example.com",
                "parse \"example.com\": invalid URI for request",
            ),
            ("://x", "parse \"://x\": missing protocol scheme"),
            (
                "ftp://x",
                "\"ftp://x\": allowed origins must be absolute URLs with http or https scheme",
            ),
            ("http:///x", "\"http:///x\": host is required"),
            (
                "http://a:b:c",
                "parse \"http://a:b:c\": invalid port \":b:c\" after host",
            ),
            (
                "http://a:x",
                "parse \"http://a:x\": invalid port \":x\" after host",
            ),
            ("http://[::1", "parse \"http://[::1\": missing ']' in host"),
            (
                "http://a b",
                "parse \"http://a b\": invalid character \" \" in host name",
            ),
            ("http:a", "\"http:a\": host is required"),
            (
                "/a",
                "\"/a\": allowed origins must be absolute URLs with http or https scheme",
            ),
        ] {
            assert_eq!(Origin::allowed(url).unwrap_err().to_string(), text, "{url}");
        }
    }
}
