//! Which certificates of a configuration are asked about.

use std::path::Path;
use std::sync::Arc;

use frond_config::{Config, OcspPeer, Tls};

use super::context::{Contexts, Inbound, Loaded};
use super::keys::{self, Pair};
use crate::ocsp::{End, Extra, PeerCheck, Staple};

/// What a `tls` block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Clients, by WebSocket too.
    Client,
    /// Leafnodes, to both sides.
    Leaf,
    /// Servers of the same cluster.
    Router,
    /// Servers of other clusters.
    Gateway,
    /// Monitoring, with the client port's block.
    Https,
    /// What nats-server asks nobody about.
    Other,
}

impl Role {
    /// spec: nats-server v2.15.1 server/client.go `kindStringMap`
    const fn kind(self) -> &'static str {
        match self {
            Self::Client | Self::Https | Self::Other => "Client",
            Self::Leaf => "Leafnode",
            Self::Router => "Router",
            Self::Gateway => "Gateway",
        }
    }

    /// Leafnodes show no staples: they have `ocsp_peer`.
    pub(super) const fn staples(self) -> bool {
        matches!(self, Self::Client | Self::Router | Self::Gateway)
    }
}

impl Contexts {
    /// Puts a staple to the first certificate, if that needs one.
    pub(super) fn staple(
        &self,
        config: &Config,
        role: Role,
        tls: &Tls,
        pairs: &mut [Pair],
    ) -> Result<Option<Arc<Staple>>, String> {
        let Some(first) = pairs.first_mut().filter(|_| role.staples()) else {
            return Ok(None);
        };
        let roots = || keys::root_certs(tls);
        let dir = config.jetstream.store_dir.as_deref().map(Path::new);
        let asked = (config.ocsp.as_ref(), dir);
        first.staple = Staple::of(role.kind(), tls, &first.key, &roots, asked)?;
        Ok(first.staple.clone())
    }

    /// What is asked of peers besides their chain.
    ///
    /// spec: nats-server v2.15.1 server/ocsp_peer.go `plugTLSOCSPPeer`
    pub(super) fn extra(
        &self,
        tls: &Tls,
        role: Role,
        shows_staple: bool,
        end: fn(&'static str) -> End,
    ) -> Result<Option<Extra>, String> {
        let asked = tls.ocsp_peer.as_ref().filter(|peer| peer.verify);
        let end = end(role.kind());
        let check = |rules: OcspPeer| -> Result<PeerCheck, String> {
            Ok(PeerCheck {
                end,
                rules,
                roots: keys::root_certs(tls)?,
                cache: Arc::clone(self.desk().cache()),
                responders: Arc::clone(self.desk().responders()),
                teller: self.desk().teller().clone(),
            })
        };
        match role {
            Role::Client | Role::Leaf | Role::Https => {
                let Some(rules) = asked else {
                    return Ok(None);
                };
                if matches!(end, End::Caller(_)) && !tls.verify {
                    let why = "OCSP peer verification for client connections requires TLS verify \
                               (mTLS) to be enabled";
                    return Err(why.to_owned());
                }
                check(rules.clone()).map(Extra::Ask).map(Some)
            }
            Role::Router | Role::Gateway if shows_staple => {
                check(OcspPeer::default()).map(Extra::Staple).map(Some)
            }
            Role::Router | Role::Gateway | Role::Other => Ok(None),
        }
    }
}

impl Loaded {
    /// Monitoring shows the client port's certificate as that does.
    pub(super) fn share_staple(&mut self) {
        let client = self.client.as_ref().filter(|it| it.staple.is_some());
        if let (Some(client), Some(https)) = (client, &self.https) {
            let mut config = (*https.config).clone();
            config.cert_resolver = Arc::clone(&client.config.cert_resolver);
            self.https = Some(std::rc::Rc::new(https.with(config)));
        }
    }

    /// All that are shown.
    pub(super) fn staples(&self) -> Vec<Arc<Staple>> {
        let shown = [&self.client, &self.websocket, &self.cluster, &self.gateway];
        let staple = |inbound: &std::rc::Rc<Inbound>| inbound.staple.clone();
        shown.into_iter().flatten().filter_map(staple).collect()
    }

    /// Has an answer for each of them before anybody is served; that waits for responders.
    ///
    /// # Errors
    /// In nats-server's words: there is none, or it is bad and that counts.
    pub(crate) fn begin_staples(&self) -> Result<(), String> {
        self.staples().iter().try_for_each(|staple| staple.begin())
    }
}
