use core::fmt;

use frond_config::{RemoteUrl, Secret};

/// Where a gateway is dialed, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl Target {
    /// A configured one.
    #[must_use]
    pub fn configured(url: &RemoteUrl) -> Self {
        Self {
            host: url.host.clone(),
            port: url.port,
            user: url.user.clone(),
            password: url.password.clone(),
        }
    }

    /// One that another server told of: `host:port`.
    pub(crate) fn told(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse().ok().filter(|port| *port > 0)?;
        let is_short = !host.is_empty() && host.len() <= HOST_BYTES_MAX;
        is_short.then(|| Self {
            host: host.to_owned(),
            port,
            user: None,
            password: None,
        })
    }

    /// Whether it leads to the same place, as far as the words tell.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.port == other.port && self.host.eq_ignore_ascii_case(&other.host)
    }
}

/// Without who we are there.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The longest name there is.
const HOST_BYTES_MAX: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_tell_is_read() {
        for (text, read) in [
            ("127.0.0.1:7222", Some("127.0.0.1:7222")),
            ("[::1]:7222", Some("[::1]:7222")),
            ("a.b", None),
            ("a:0", None),
            (":7222", None),
        ] {
            let target = Target::told(text).map(|target| target.to_string());
            assert_eq!(target.as_deref(), read, "{text}");
        }
    }
}
