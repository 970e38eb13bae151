/// Where a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    /// It has to have TLS.
    pub(super) is_tls: bool,
}

const PORT: u16 = 4222;

impl<'a> Place<'a> {
    /// # Errors
    /// What is wrong with the URL.
    pub(super) fn of(url: &'a str) -> Result<Self, String> {
        let (is_tls, rest) = match url.split_once("://") {
            None | Some(("nats", _)) => (false, url.strip_prefix("nats://").unwrap_or(url)),
            Some(("tls", rest)) => (true, rest),
            Some(_) => return Err(format!("{url}: write nats://host:4222 or tls://host:4222")),
        };
        let rest = rest.trim_end_matches('/');
        if rest.contains('@') {
            return Err(
                "who you are does not belong into the URL: use --user, --nkey or --creds"
                    .to_owned(),
            );
        }
        let bare = |host: &'a str| host.trim_start_matches('[').trim_end_matches(']');
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let port = port
                    .parse()
                    .map_err(|_| format!("{url}: {port:?} is no port"))?;
                (bare(host), port)
            }
            Some(_) | None => (bare(rest), PORT),
        };
        Ok(Self { host, port, is_tls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_whether_tls_has_to_be() {
        let place = |host, port, is_tls| Ok(Place { host, port, is_tls });
        assert_eq!(Place::of("hub"), place("hub", 4222, false));
        assert_eq!(Place::of("nats://hub:1"), place("hub", 1, false));
        assert_eq!(Place::of("tls://hub/"), place("hub", 4222, true));
        assert_eq!(Place::of("tls://[::1]:9"), place("::1", 9, true));
        for wrong in ["ws://hub", "nats://u:p@hub", "hub:x"] {
            assert!(Place::of(wrong).is_err(), "{wrong}");
        }
    }
}
