//! From the words of the configuration to what this crate works with.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use frond_account::UserFile;
use frond_broker::{Compression, Link, Packing};
use frond_config as config;

use crate::{Listener, Remote, RemoteCredentials, RemoteUrl, Secret, Solicit};

/// The soliciting end of a configured remote.
///
/// # Errors
/// None: it is one of those that may have some.
pub fn solicit(given: &config::Remote, all: &config::LeafNodes) -> Result<Box<dyn Link>, String> {
    Ok(Box::new(Solicit::new(Remote::configured(given, all))))
}

impl Remote {
    /// The remote that the configuration describes; what its credentials file holds comes with
    /// each dial.
    #[must_use]
    pub fn configured(given: &config::Remote, all: &config::LeafNodes) -> Self {
        let urls = given.urls.iter().map(url).collect();
        let mut remote = Self::new(given.account.clone(), urls);
        let file = given.credentials.as_ref();
        remote.credentials = file.map(|path| Err(format!("{path} was not read")));
        remote.nkey_seed = given
            .nkey
            .as_ref()
            .map(|seed| Secret(seed.expose().to_owned()));
        remote.deny_imports.clone_from(&given.deny_imports);
        remote.deny_exports.clone_from(&given.deny_exports);
        remote.hub = given.hub;
        remote.no_randomize = given.no_randomize;
        remote.ignore_discovered_servers = given.ignore_discovered_servers;
        remote.request_isolation = given.request_isolation;
        remote.isolate = given.isolate || all.isolate_interest;
        remote.disabled = given.disabled;
        remote.tls = given.tls.is_some();
        remote.tls_first = given
            .tls
            .as_ref()
            .is_some_and(|tls| tls.handshake_first != config::HandshakeFirst::No);
        // Inside of a WebSocket there is no later handshake.
        remote.tls_first |= given.is_websocket() && (remote.tls || given.wants_tls());
        remote.compression = compression(&given.compression);
        remote.first_info_timeout = given.first_info_timeout;
        remote.websocket = given.is_websocket();
        let proxy_timeout = given.proxy.as_ref().and_then(|proxy| proxy.timeout);
        let dial_timeout = given.dial_timeout.unwrap_or(all.dial_timeout);
        remote.dial_timeout = proxy_timeout.unwrap_or(dial_timeout);
        remote.reconnect_interval = all.reconnect_interval;
        remote
    }
}

impl Listener {
    /// The listener that the configuration describes, bound to `port`, for a leaf that reached it
    /// as `called`: one that listens on every address is known by that one.
    #[must_use]
    pub fn configured(all: &config::LeafNodes, port: u16, called: IpAddr) -> Self {
        let host = all.listen.as_ref().map_or("0.0.0.0", |listen| &listen.host);
        let bare = host.trim_matches(['[', ']']);
        let is_every = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
        let mut listener = Self::new(host, port);
        if is_every {
            listener.advertise = SocketAddr::new(called, port).to_string();
            listener.leafnode_urls = vec![listener.advertise.clone()];
        }
        if let Some(advertise) = &all.advertise {
            let names_port = advertise
                .rsplit_once(':')
                .is_some_and(|(_, digits)| digits.parse::<u16>().is_ok());
            listener.advertise = if names_port {
                advertise.clone()
            } else {
                format!("{advertise}:{port}")
            };
            listener.leafnode_urls = vec![listener.advertise.clone()];
        }
        if all.no_advertise {
            listener.leafnode_urls.clear();
        }
        listener.auth_timeout = all.authorization.timeout.max(Duration::from_millis(1));
        listener.min_version.clone_from(&all.min_version);
        listener.isolate = all.isolate_interest;
        listener.tls_required = all.tls.is_some();
        listener.compression = compression(&all.compression);
        listener.tls_verify = all.tls.as_ref().is_some_and(|tls| tls.verify);
        listener
    }
}

fn compression(given: &config::Compression) -> Compression {
    match given {
        config::Compression::NotSupported => Compression::NotSupported,
        config::Compression::Off => Compression::Off,
        config::Compression::Accept => Compression::Accept,
        config::Compression::Fast => Compression::Fixed(Packing::Fast),
        config::Compression::Better => Compression::Fixed(Packing::Better),
        config::Compression::Best => Compression::Fixed(Packing::Best),
        config::Compression::Auto(steps) => Compression::Auto(steps.clone()),
    }
}

fn url(given: &config::RemoteUrl) -> RemoteUrl {
    let mut url = RemoteUrl::new(given.host.clone(), given.port);
    url.tls = given.wants_tls();
    url.user.clone_from(&given.user);
    url.pass = given
        .password
        .as_ref()
        .map(|pass| Secret(pass.expose().to_owned()));
    url
}

/// What a credentials file says.
pub(crate) fn parse_credentials(text: &str) -> Option<RemoteCredentials> {
    let found = UserFile::parse(text)?;
    Some(RemoteCredentials {
        jwt: found.jwt,
        seed: Secret(found.seed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_every_address_is_known_by_the_one_that_was_called() {
        let called = IpAddr::from([10, 1, 2, 3]);
        let read = |text: &str| {
            let loaded = config::load_text(text, "x.conf", &config::Nothing).unwrap();
            Listener::configured(&loaded.config.leafnodes, 7422, called).leafnode_urls
        };
        assert_eq!(
            read("leafnodes { listen: \"0.0.0.0:7422\" }"),
            ["10.1.2.3:7422"]
        );
        assert_eq!(
            read("leafnodes { listen: \"127.0.0.1:7422\" }"),
            ["127.0.0.1:7422"]
        );
        let advertised = "leafnodes { listen: \"0.0.0.0:7422\", advertise: \"hub:1\" }";
        assert_eq!(read(advertised), ["hub:1"]);
        let silent = "leafnodes { listen: \"127.0.0.1:7422\", no_advertise: true }";
        assert!(read(silent).is_empty());
        assert_eq!(read(&advertised.replace(":1\"", "\"")), ["hub:7422"]);
    }
}
