use frond_account::{AccountId, SubjectRules, nkey};
use frond_broker::{LinkPeer, ServerFacts, Upcalls};
use frond_wire::{LeafConnect, ServerInfo, SubjectPermission};

use crate::border::deny_jetstream;
use crate::gate::{Gate, Role};
use crate::remote::{Remote, RemoteUrl};

/// What the hub's first `INFO` said, kept until the hub answers our `CONNECT`.
#[derive(Clone, Debug)]
pub(crate) struct Hello {
    pub(crate) name: String,
    pub(crate) server_id: String,
    pub(crate) cluster: String,
    pub(crate) domain: String,
    pub(crate) headers: bool,
    pub(crate) payload_bytes_max: Option<usize>,
    /// The hub answers our `CONNECT` with a second `INFO`.
    pub(crate) answers_connect: bool,
    nonce: String,
}

impl Hello {
    /// Whether this is the greeting of a leafnode listener; if not, why.
    ///
    /// spec: nats-server v2.15.1 `processLeafnodeInfo` in server/leafnode.go
    pub(crate) fn read(info: &ServerInfo) -> Result<Self, &'static str> {
        // A listener that doesn't advertise itself tells no urls.
        let is_for_leafs = info.info_on_connect || !info.leafnode_urls.is_empty();
        if info.client_id == 0 || !is_for_leafs || !info.gateway.is_empty() {
            return Err(WRONG_PORT);
        }
        if info.cluster.contains(' ') {
            return Err(CLUSTER_WITH_SPACES);
        }
        let name = if info.server_name.is_empty() {
            &info.server_id
        } else {
            &info.server_name
        };
        Ok(Self {
            name: name.clone(),
            server_id: info.server_id.clone(),
            cluster: info.cluster.clone(),
            domain: info.domain.clone(),
            headers: info.headers,
            payload_bytes_max: usize::try_from(info.max_payload)
                .ok()
                .filter(|max| *max > 0),
            answers_connect: info.info_on_connect,
            nonce: info.nonce.clone(),
        })
    }

    /// Our `CONNECT`.
    ///
    /// # Errors
    /// When the seed of this remote can't sign; in words.
    pub(crate) fn connect(
        &self,
        remote: &Remote,
        url: Option<&RemoteUrl>,
        own: &OwnEnd<'_>,
    ) -> Result<LeafConnect, String> {
        let mut connect = LeafConnect {
            version: own.facts.version.clone(),
            server_id: own.facts.id.clone(),
            domain: own.facts.domain.clone().unwrap_or_default(),
            name: own.facts.name.clone(),
            is_hub: remote.hub,
            cluster: own.facts.cluster.clone(),
            headers: self.headers,
            jetstream: own.jetstream,
            deny_pub: remote.deny_imports.clone(),
            isolate: remote.request_isolation,
            compress_mode: own.compression.to_owned(),
            remote_account: remote.account.clone(),
            protocol: PROTOCOL,
            ..LeafConnect::default()
        };
        self.sign(remote, &mut connect)?;
        if let Some(user) = url.and_then(|url| url.user.clone()) {
            match url.and_then(|url| url.pass.clone()) {
                Some(pass) => connect.pass = pass.0,
                None => connect.auth_token.clone_from(&user),
            }
            connect.user = user;
        }
        Ok(connect)
    }

    pub(crate) fn peer(&self, remote: &Remote, answer: Option<&ServerInfo>) -> LinkPeer {
        LinkPeer {
            name: self.name.clone(),
            server_id: self.server_id.clone(),
            cluster: self.cluster.clone(),
            remote_account: answer.map_or_else(String::new, |info| info.remote_account.clone()),
            is_hub: !remote.hub,
        }
    }

    /// What may cross: what the hub told, and what this remote denies by itself.
    pub(crate) fn gate(
        &self,
        remote: &Remote,
        answer: Option<&ServerInfo>,
        up: &dyn Upcalls,
        account: AccountId,
    ) -> Gate {
        let role = if remote.hub { Role::Hub } else { Role::Spoke };
        let mut gate = Gate::open(role);
        let rules = |told: Option<&SubjectPermission>| told.map(rules).unwrap_or_default();
        gate.limit(
            rules(answer.and_then(|info| info.export.as_ref())),
            rules(answer.and_then(|info| info.import.as_ref())),
        );
        gate.deny_sending(remote.deny_exports.iter().map(String::as_str));
        gate.deny_receiving(remote.deny_imports.iter().map(String::as_str));
        deny_jetstream(&mut gate, up, account, &self.domain);
        gate
    }

    /// A credentials file goes before a bare nkey.
    fn sign(&self, remote: &Remote, connect: &mut LeafConnect) -> Result<(), String> {
        if let Some(credentials) = &remote.credentials {
            let credentials = credentials.as_ref().map_err(String::clone)?;
            connect.sig = nkey::sign(&credentials.seed.0, self.nonce.as_bytes())
                .map_err(|_| "Credentials file has malformed seed")?;
            connect.jwt.clone_from(&credentials.jwt);
        } else if let Some(seed) = &remote.nkey_seed {
            connect.sig = nkey::sign(&seed.0, self.nonce.as_bytes())
                .map_err(|error| format!("the nkey seed of this remote: {error}"))?;
            connect.nkey = nkey::public_key(&seed.0)
                .map_err(|error| format!("the nkey seed of this remote: {error}"))?;
        }
        Ok(())
    }
}

/// What the hub is told of this end.
pub(crate) struct OwnEnd<'a> {
    pub(crate) facts: &'a ServerFacts,
    /// The account has JetStream.
    pub(crate) jetstream: bool,
    /// How the connection is compressed.
    pub(crate) compression: &'static str,
}

/// What a local account and its peer are called where a name must be free of blanks.
pub(crate) const CLUSTER_WITH_SPACES: &str = "cluster name cannot contain spaces";

/// The listener is one for clients, routes or gateways.
pub(crate) const WRONG_PORT: &str = "attempted to connect to wrong port";

/// The bound account, for the second half of the handshake.
#[derive(Clone, Debug)]
pub(crate) struct Greeted {
    pub(crate) hello: Hello,
    pub(crate) account: AccountId,
}

/// Level of the leafnode protocol that is spoken here.
const PROTOCOL: i64 = 3;

fn rules(told: &SubjectPermission) -> SubjectRules {
    let boxed = |list: &[String]| list.iter().map(|s| s.as_str().into()).collect();
    SubjectRules {
        allow: boxed(&told.allow),
        deny: boxed(&told.deny),
    }
}
