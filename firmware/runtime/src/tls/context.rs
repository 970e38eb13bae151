use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use frond_config::{Config, HandshakeFirst, OcspCache, Remote, Tls};
use rustls::client::Resumption;
use rustls::server::NoClientAuth;
use rustls::{ClientConfig, ServerConfig};

use super::asking::Role;
use super::cert::Certificate;
use super::keys::{self, Pair};
use super::suites::{provider, versions};
use super::trust::{ClientTrust, Season, ServerTrust};
use crate::ocsp::{self, Desk, End, Extra, Staple};

/// What a listener needs to accept TLS.
#[derive(Debug)]
pub(crate) struct Inbound {
    pub(crate) config: Arc<ServerConfig>,
    /// As configured.
    pub(crate) rules: Tls,
    /// The certificates that are shown.
    pub(crate) certs: Vec<Certificate>,
    /// The answer that the first is shown with.
    pub(super) staple: Option<Arc<Staple>>,
    waits: bool,
    /// Handshakes begun in this second.
    begun: Cell<(u64, u64)>,
}

/// What a remote needs to dial with TLS.
#[derive(Debug)]
pub(crate) struct Outbound {
    pub(crate) config: Arc<ClientConfig>,
    /// As configured; the defaults for a remote without a block.
    pub(crate) rules: Tls,
    /// The certificate it shows.
    certs: Vec<Certificate>,
    waits: bool,
}

/// All TLS of this process as the files were when they were last read.
///
/// New handshakes take what is here; sessions keep what they began with.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    client: RefCell<Option<Rc<Inbound>>>,
    leaf: RefCell<Option<Rc<Inbound>>>,
    cluster: RefCell<Option<Rc<Inbound>>>,
    gateway: RefCell<Option<Rc<Inbound>>>,
    websocket: RefCell<Option<Rc<Inbound>>>,
    https: RefCell<Option<Rc<Inbound>>>,
    remotes: RefCell<Vec<(Remote, Rc<Outbound>)>>,
    /// For the HTTP proxies of remotes.
    proxies: RefCell<Vec<(Remote, Rc<Outbound>)>>,
    resolver: RefCell<Option<Rc<Outbound>>>,
    /// Both ends of a route are configured by the same block.
    route: RefCell<Option<Rc<Outbound>>>,
    /// By the cluster that is dialed; the last is for all others.
    gateways: RefCell<ToClusters>,
    season: Arc<Season>,
    desk: Desk,
}

/// By the cluster's name; without one it is for all others.
type ToClusters = Vec<(Option<String>, Rc<Outbound>)>;

/// What [`Contexts::replace`] takes: everything read, or nothing.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(super) client: Option<Rc<Inbound>>,
    leaf: Option<Rc<Inbound>>,
    pub(super) cluster: Option<Rc<Inbound>>,
    pub(super) gateway: Option<Rc<Inbound>>,
    pub(super) websocket: Option<Rc<Inbound>>,
    pub(super) https: Option<Rc<Inbound>>,
    remotes: Vec<(Remote, Rc<Outbound>)>,
    proxies: Vec<(Remote, Rc<Outbound>)>,
    resolver: Option<Rc<Outbound>>,
    route: Option<Rc<Outbound>>,
    gateways: ToClusters,
    ocsp_cache: Option<OcspCache>,
}

/// What is wrong with files, all of it at once.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn split<T: Default>(&mut self, read: Result<T, String>) -> T {
        read.unwrap_or_else(|why| {
            // The same block serves both ends of a route.
            if !self.0.contains(&why) {
                self.0.push(why);
            }
            T::default()
        })
    }

    fn none(self) -> Result<(), String> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.0.join("\n"))
        }
    }
}

impl Contexts {
    /// Reads every file the configuration names.
    ///
    /// # Errors
    /// In nats-server's words, with the place of the block.
    pub(crate) fn load(&self, config: &Config) -> Result<Loaded, String> {
        let inbound = |role: Role, tls: Option<&Tls>| {
            tls.map(|tls| {
                self.inbound(config, role, tls)
                    .map(Rc::new)
                    .map_err(|why| placed(tls, &why))
            })
            .transpose()
        };
        let wants = |remote: &&Remote| remote.tls.is_some() || remote.wants_tls();
        let outbound = |remote: &Remote| {
            let tls = remote.tls.clone().unwrap_or_default();
            let outbound = self.outbound(config, Role::Leaf, &tls);
            let outbound = outbound.map_err(|why| placed(&tls, &why))?;
            Ok((remote.clone(), Rc::new(outbound)))
        };
        let proxies = config.leafnodes.remotes.iter().filter_map(|remote| {
            let tls = remote.proxy.as_ref()?.tls.as_ref()?;
            let outbound = self.outbound(config, Role::Other, tls);
            let outbound = outbound.map_err(|why| placed(tls, &why));
            Some(outbound.map(|outbound| (remote.clone(), Rc::new(outbound))))
        });
        let remotes = config.leafnodes.remotes.iter().filter(wants).map(outbound);
        let resolver = config.operator_mode.resolver_tls.as_ref().map(|tls| {
            let outbound = self.outbound(config, Role::Other, &of_http(tls));
            outbound.map(Rc::new).map_err(|why| placed(tls, &why))
        });
        let mut https = config.tls.clone().filter(|_| config.monitor_tls);
        if let Some(tls) = &mut https {
            tls.verify &= ocsp::asks(config);
            tls.pinned_certs.clear();
        }
        let route = config.cluster.tls.as_ref().map(|tls| {
            let outbound = self.outbound(config, Role::Router, tls);
            outbound.map(Rc::new).map_err(|why| placed(tls, &why))
        });
        let mut faults = Faults::default();
        let mut loaded = Loaded {
            client: faults.split(inbound(Role::Client, config.tls.as_ref())),
            https: faults.split(inbound(Role::Https, https.as_ref())),
            cluster: faults.split(inbound(Role::Router, config.cluster.tls.as_ref())),
            route: faults.split(route.transpose()),
            gateway: faults.split(inbound(Role::Gateway, config.gateway.tls.as_ref())),
            gateways: faults.split(self.gateways_of(config)),
            leaf: faults.split(inbound(Role::Leaf, config.leafnodes.tls.as_ref())),
            remotes: faults.split(remotes.collect()),
            proxies: faults.split(proxies.collect()),
            websocket: faults.split(inbound(Role::Client, config.websocket.tls.as_ref())),
            resolver: faults.split(resolver.transpose()),
            ocsp_cache: ocsp::cache_rules(config),
        };
        loaded.share_staple();
        faults.none().map(|()| loaded)
    }

    /// From here on these.
    pub(crate) fn replace(&self, loaded: Loaded) {
        self.desk.replace(loaded.staples(), loaded.ocsp_cache);
        self.client.replace(loaded.client);
        self.leaf.replace(loaded.leaf);
        self.cluster.replace(loaded.cluster);
        self.gateway.replace(loaded.gateway);
        self.websocket.replace(loaded.websocket);
        self.https.replace(loaded.https);
        self.remotes.replace(loaded.remotes);
        self.proxies.replace(loaded.proxies);
        self.resolver.replace(loaded.resolver);
        self.route.replace(loaded.route);
        self.gateways.replace(loaded.gateways);
    }

    /// For the client port.
    pub(crate) fn client(&self) -> Option<Rc<Inbound>> {
        self.client.borrow().clone()
    }

    /// For the leafnode port.
    pub(crate) fn leaf(&self) -> Option<Rc<Inbound>> {
        self.leaf.borrow().clone()
    }

    /// For the cluster port.
    pub(crate) fn cluster(&self) -> Option<Rc<Inbound>> {
        self.cluster.borrow().clone()
    }

    /// For the gateway port.
    pub(crate) fn gateway(&self) -> Option<Rc<Inbound>> {
        self.gateway.borrow().clone()
    }

    /// For the WebSocket port.
    pub(crate) fn websocket(&self) -> Option<Rc<Inbound>> {
        self.websocket.borrow().clone()
    }

    /// For dialing routes.
    ///
    /// # Errors
    /// When they are not encrypted.
    pub(crate) fn route_outbound(&self) -> Result<Rc<Outbound>, String> {
        let route = self.route.borrow();
        route
            .clone()
            .ok_or_else(|| "routes have no certificate".to_owned())
    }

    fn gateways_of(&self, config: &Config) -> Result<ToClusters, String> {
        let gateway = &config.gateway;
        let remotes = gateway.gateways.iter();
        let named = remotes.filter_map(|one| Some((Some(one.name.clone()), one.tls.as_ref()?)));
        let all = named.chain(gateway.tls.as_ref().map(|tls| (None, tls)));
        all.map(|(name, tls)| {
            let outbound = self.outbound(config, Role::Gateway, tls);
            let outbound = outbound.map_err(|why| placed(tls, &why))?;
            Ok((name, Rc::new(outbound)))
        })
        .collect()
    }

    /// For dialing another cluster.
    ///
    /// # Errors
    /// When it is not encrypted.
    pub(crate) fn gateway_outbound(&self, cluster: &str) -> Result<Rc<Outbound>, String> {
        let known = self.gateways.borrow();
        let mut known = known.iter();
        let found = known.find(|(name, _)| name.as_deref().is_none_or(|name| name == cluster));
        let outbound = found.map(|(_, outbound)| Rc::clone(outbound));
        outbound.ok_or_else(|| "gateways have no certificate".to_owned())
    }

    /// For monitoring: the client port's certificate, and nobody is asked for one.
    pub(crate) fn https(&self) -> Option<Rc<Inbound>> {
        self.https.borrow().clone()
    }

    /// For a remote; one without a block that meets a hub with TLS trusts whom the system does.
    ///
    /// # Errors
    /// When the system trusts nobody.
    pub(crate) fn remote(&self, remote: &Remote) -> Result<Rc<Outbound>, String> {
        self.known_or_default(&self.remotes.borrow(), remote)
    }

    /// For the HTTP proxy of a remote; without a block it has to be one the system trusts.
    ///
    /// # Errors
    /// When the system trusts nobody.
    pub(crate) fn proxy(&self, remote: &Remote) -> Result<Rc<Outbound>, String> {
        self.known_or_default(&self.proxies.borrow(), remote)
    }

    fn known_or_default(
        &self,
        known: &[(Remote, Rc<Outbound>)],
        remote: &Remote,
    ) -> Result<Rc<Outbound>, String> {
        match known.iter().find(|(other, _)| other.is_same(remote)) {
            Some((_, outbound)) => Ok(Rc::clone(outbound)),
            None => Ok(Rc::new(self.outbound_of(&Tls::default(), None)?)),
        }
    }

    /// For the URL that account JWTs come from; without a block whom the system trusts.
    ///
    /// # Errors
    /// When the system trusts nobody.
    pub(crate) fn resolver(&self) -> Result<Rc<Outbound>, String> {
        if let Some(known) = &*self.resolver.borrow() {
            return Ok(Rc::clone(known));
        }
        let made = Rc::new(self.outbound_of(&of_http(&Tls::default()), None)?);
        self.resolver.replace(Some(Rc::clone(&made)));
        Ok(made)
    }

    /// What asks about certificates.
    pub(crate) const fn desk(&self) -> &Desk {
        &self.desk
    }

    /// By what time certificates are judged.
    pub(crate) const fn season(&self) -> &Arc<Season> {
        &self.season
    }

    /// Every certificate that is shown, with where.
    pub(crate) fn shown(&self) -> Vec<(&'static str, Certificate)> {
        let of = |place, inbound: &Option<Rc<Inbound>>| {
            let certs = inbound.iter().flat_map(|inbound| inbound.certs.clone());
            certs.map(|cert| (place, cert)).collect::<Vec<_>>()
        };
        let mut shown = of("the client port", &self.client.borrow());
        shown.extend(of("the leafnode port", &self.leaf.borrow()));
        shown.extend(of("the cluster port", &self.cluster.borrow()));
        shown.extend(of("the gateway port", &self.gateway.borrow()));
        shown.extend(of("the WebSocket port", &self.websocket.borrow()));
        for (_, outbound) in self.remotes.borrow().iter() {
            let certs = outbound.certs.iter().cloned();
            shown.extend(certs.map(|cert| ("a leafnode remote", cert)));
        }
        shown
    }

    fn inbound(&self, config: &Config, role: Role, tls: &Tls) -> Result<Inbound, String> {
        let provider = Arc::new(provider(tls)?);
        let mut pairs = keys::pairs(tls, &provider)?;
        let staple = self.staple(config, role, tls, &mut pairs)?;
        let extra = self.extra(tls, role, staple.is_some(), End::Caller)?;
        let certs = pairs.iter().map(|pair: &Pair| pair.leaf.clone()).collect();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(tls))
            .map_err(|error| error.to_string())?;
        let waits = extra.is_some();
        // The roots are read even if nobody is asked for a certificate: a bad file is told.
        let builder = if tls.verify {
            let roots = keys::root_certs(tls)?;
            let season = Arc::clone(&self.season);
            let trust = ClientTrust::new(roots, keys::roots(tls)?, season, provider, extra)?;
            builder.with_client_cert_verifier(trust)
        } else {
            if tls.ca_file.is_some() {
                keys::roots(tls)?;
            }
            builder.with_client_cert_verifier(Arc::new(NoClientAuth))
        };
        let mut config = builder.with_cert_resolver(keys::choice(pairs));
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Inbound {
            config: Arc::new(config),
            rules: tls.clone(),
            certs,
            staple,
            waits,
            begun: Cell::new((0, 0)),
        })
    }

    fn outbound(&self, config: &Config, role: Role, tls: &Tls) -> Result<Outbound, String> {
        let shows_staple = role.staples() && keys::is_stapled(tls, config.ocsp.as_ref());
        let extra = self.extra(tls, role, shows_staple, End::Called)?;
        self.outbound_of(tls, extra)
    }

    fn outbound_of(&self, tls: &Tls, extra: Option<Extra>) -> Result<Outbound, String> {
        Outbound::new(tls, Arc::clone(&self.season), extra)
    }
}

impl Outbound {
    /// Whether a handshake waits for what responders say of the peer.
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// By these rules, judged by that time.
    ///
    /// # Errors
    /// What is wrong with its files.
    pub(super) fn new(
        tls: &Tls,
        season: Arc<Season>,
        extra: Option<Extra>,
    ) -> Result<Self, String> {
        let provider = Arc::new(provider(tls)?);
        let pairs = keys::pairs(tls, &provider)?;
        let certs = pairs.iter().map(|pair: &Pair| pair.leaf.clone()).collect();
        let waits = extra.is_some();
        let trust = if tls.insecure {
            ServerTrust::nothing(season, Arc::clone(&provider), extra)
        } else {
            let (roots, store) = (keys::root_certs(tls)?, keys::roots(tls)?);
            ServerTrust::new(roots, store, season, Arc::clone(&provider), extra)?
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions(tls))
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(trust);
        let mut config = match pairs.into_iter().next() {
            Some(pair) => {
                let key = Arc::new(rustls::sign::SingleCertAndKey::from(pair.key));
                builder.with_client_cert_resolver(key)
            }
            None => builder.with_no_client_auth(),
        };
        config.resumption = Resumption::disabled();
        Ok(Self {
            config: Arc::new(config),
            rules: tls.clone(),
            certs,
            waits,
        })
    }
}

impl Inbound {
    /// The same with another session configuration.
    pub(super) fn with(&self, config: ServerConfig) -> Self {
        Self {
            config: Arc::new(config),
            rules: self.rules.clone(),
            certs: self.certs.clone(),
            staple: None,
            waits: self.waits,
            begun: self.begun.clone(),
        }
    }

    /// When INFO comes.
    pub(crate) const fn first(&self) -> HandshakeFirst {
        self.rules.handshake_first
    }

    /// How long a handshake may take.
    pub(crate) const fn timeout(&self) -> Duration {
        self.rules.timeout
    }

    /// Whether a handshake waits for what responders say of the peer.
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// Whether one more handshake may begin in this second of the monotonic clock.
    pub(crate) fn may_begin(&self, second: u64) -> bool {
        let Some(max) = self.rules.connection_rate_limit else {
            return true;
        };
        let (of, count) = self.begun.get();
        let count = if of == second { count } else { 0 };
        self.begun.set((second, count + 1));
        count < max
    }

    /// When the first of its certificates ends, nanoseconds since 1970.
    pub(crate) fn not_after_ns(&self) -> Option<i64> {
        self.certs.iter().map(|cert| cert.not_after_ns).min()
    }
}

/// A GET has a limit of its own for everything, and compares no pins.
///
/// spec: nats-server v2.15.1 server/server.go `configureResolver`
fn of_http(tls: &Tls) -> Tls {
    let mut tls = tls.clone();
    tls.timeout = crate::fetch::TIMEOUT;
    tls.pinned_certs.clear();
    tls
}

fn placed(tls: &Tls, why: &str) -> String {
    match tls.position() {
        Some(at) => format!("{at}: {why}"),
        None => why.to_owned(),
    }
}
