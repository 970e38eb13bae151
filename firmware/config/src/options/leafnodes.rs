use crate::nkey;
use crate::options::auth::timeout;
use crate::options::compression::Compression;
use crate::options::remote::{self, Remote};
use crate::options::semver;
use crate::options::server::{Listen, WriteTimeout, write_timeout};
use crate::options::tls::{Side, Tls};
use crate::position::Position;
use crate::report::{Port, Report, set};
use crate::secret::Secret;
use crate::unsupported::Block;
use crate::value::{Entry, Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// The `leafnodes` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafNodes {
    /// Where leaves are accepted; `None` nowhere.
    pub listen: Option<Listen>,
    /// The address announced to leaves.
    pub advertise: Option<String>,
    /// Announce no address.
    pub no_advertise: bool,
    /// Who may connect.
    pub authorization: LeafAuthorization,
    /// Oldest version of a leaf, such as `2.8.0`.
    pub min_version: Option<String>,
    /// Hubs to dial.
    pub remotes: Vec<Remote>,
    /// Between two dials. 1 s by default.
    pub reconnect_interval: Duration,
    /// How long a dial may take. 1 s by default.
    pub dial_timeout: Duration,
    /// How long a write may take; `None` takes that of the server.
    pub write_deadline: Option<Duration>,
    /// What happens when it takes longer.
    pub write_timeout: WriteTimeout,
    /// Interest of one leaf is not passed on to others.
    pub isolate_interest: bool,
    /// How connections of accepted leaves are compressed.
    pub compression: Compression,
    /// How accepted leaves are encrypted; `None`: not.
    pub tls: Option<Tls>,
}

impl Default for LeafNodes {
    fn default() -> Self {
        Self {
            listen: None,
            advertise: None,
            no_advertise: false,
            authorization: LeafAuthorization::default(),
            min_version: None,
            remotes: Vec::new(),
            reconnect_interval: Duration::from_secs(1),
            dial_timeout: Duration::from_secs(1),
            write_deadline: None,
            write_timeout: WriteTimeout::Default,
            isolate_interest: false,
            compression: Compression::default_for_leafnodes(),
            tls: None,
        }
    }
}

/// The `authorization` of `leafnodes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafAuthorization {
    /// The name of the single user.
    pub user: Option<String>,
    /// The password of the single user.
    pub password: Option<Secret>,
    /// The public user nkey, `U...`.
    pub nkey: Option<String>,
    /// The account that the single user binds to; `None` is `$G`.
    pub account: Option<String>,
    /// Several users.
    pub users: Vec<LeafUser>,
    /// How long a leaf may take to authenticate. 2 s by default.
    pub timeout: Duration,
    /// All of them may come only through a trusted proxy.
    pub proxy_required: bool,
}

impl Default for LeafAuthorization {
    fn default() -> Self {
        Self {
            user: None,
            password: None,
            nkey: None,
            account: None,
            users: Vec::new(),
            timeout: Duration::from_secs(2),
            proxy_required: false,
        }
    }
}

/// One of several users that leaves connect as.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeafUser {
    /// The name.
    pub user: String,
    /// The password, plain or bcrypt.
    pub password: Secret,
    /// The account it binds to; `None` is `$G`.
    pub account: Option<String>,
    /// It may come only through a trusted proxy.
    pub proxy_required: bool,
}

impl LeafNodes {
    /// The block, and the places of its remotes.
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<(Self, Vec<Position>)> {
        let map = report.map(value, "Expected map to define a leafnode")?;
        let mut leaf = Self::default();
        let (mut host, mut port) = (String::new(), Port::Unset);
        let mut remotes = Vec::new();
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "listen" => {
                    if let Some(listen) = report.listen(value) {
                        (host, port) = listen;
                    }
                }
                "port" => set(&mut port, report.port(value)),
                "host" | "net" => set(&mut host, report.string(value)),
                "authorization" => {
                    set(
                        &mut leaf.authorization,
                        LeafAuthorization::read(value, report),
                    );
                }
                "remotes" => set(&mut remotes, remote::read(value, report)),
                _ => leaf.read_behaviour(entry, report),
            }
        }
        leaf.listen = port.bind().map(|port| Listen::new(&host, "0.0.0.0", port));
        let places;
        (leaf.remotes, places) = remotes.into_iter().unzip();
        Some((leaf, places))
    }

    fn read_behaviour(&mut self, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        let positive = |d: Option<Duration>| d.filter(|d| !d.is_zero());
        match entry.key.to_lowercase().as_str() {
            "reconnect" | "reconnect_delay" | "reconnect_interval" => {
                let interval = report.duration("reconnect", value);
                set(&mut self.reconnect_interval, positive(interval));
            }
            "dial_timeout" => {
                let timeout = report.duration("dial_timeout", value);
                set(&mut self.dial_timeout, positive(timeout));
            }
            "leafnode_advertise" | "advertise" => set(&mut self.advertise, report.text(value)),
            "no_advertise" => set(&mut self.no_advertise, report.boolean(value)),
            "min_version" | "minimum_version" => {
                set(&mut self.min_version, read_min_version(value, report));
            }
            "compression" => {
                let on = Compression::default_for_leafnodes();
                set(&mut self.compression, Compression::read(entry, &on, report));
            }
            "isolate_leafnode_interest" | "isolate" => {
                set(&mut self.isolate_interest, report.boolean(value));
            }
            "write_deadline" => {
                self.write_deadline = positive(report.duration("write_deadline", value));
            }
            "write_timeout" => set(&mut self.write_timeout, write_timeout(value, report)),
            "tls" => self.tls = Tls::read(value, Side::Server, report),
            _ => report.other(Block::LeafNodes, entry),
        }
    }
}

impl LeafAuthorization {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "Expected leafnode authorization to be a map/struct")?;
        let mut auth = Self::default();
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "user" | "username" => set(&mut auth.user, report.text(value)),
                "pass" | "password" => set(&mut auth.password, report.secret(value)),
                "account" => set(&mut auth.account, report.text(value)),
                "nkey" => {
                    set(&mut auth.nkey, report.text(value));
                    if !auth.nkey.as_deref().is_none_or(nkey::is_public_user) {
                        let text = "Not a valid public nkey for leafnode authorization";
                        report.error(&value.at, text, "it has 56 characters and starts with U");
                    }
                }
                "timeout" => {
                    set(
                        &mut auth.timeout,
                        timeout(&entry.key, value, "leafnode ", report),
                    );
                }
                "users" => set(&mut auth.users, read_users(value, report)),
                "proxy_required" => set(&mut auth.proxy_required, report.boolean(value)),
                _ => report.other(Block::LeafAuthorization, entry),
            }
        }
        if !auth.users.is_empty() && auth.user.is_some() {
            let text = "can not have a single user/pass and a users array";
            report.error(&value.at, text, "move the single user into the array");
        }
        if !auth.users.is_empty() && auth.nkey.is_some() {
            report.error(
                &value.at,
                "can not have a single nkey and a users array",
                "",
            );
        }
        Some(auth)
    }
}

fn read_users(value: &Value, report: &mut Report) -> Option<Vec<LeafUser>> {
    let values = report.array(value, "Expected users field to be an array")?;
    let mut users: Vec<LeafUser> = Vec::new();
    let mut seen = BTreeSet::new();
    for value in values {
        let Some(map) = report.map(value, "Expected user entry to be a map/struct") else {
            continue;
        };
        let user = read_user(map, report);
        if !seen.insert(user.user.clone()) {
            let text = format!(
                "duplicate user {:?} detected in leafnode authorization",
                user.user
            );
            report.error(&value.at, text, "");
        }
        users.push(user);
    }
    Some(users)
}

fn read_user(map: &Map, report: &mut Report) -> LeafUser {
    let mut user = LeafUser::default();
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "user" | "username" => set(&mut user.user, report.string(value)),
            "pass" | "password" => {
                set(&mut user.password, report.string(value).map(Secret::new));
            }
            "account" => set(&mut user.account, report.text(value)),
            "proxy_required" => set(&mut user.proxy_required, report.boolean(value)),
            _ => report.other(Block::LeafUser, entry),
        }
    }
    user
}

/// spec: nats-server v2.15.1 server/leafnode.go checkLeafMinVersionConfig
fn read_min_version(value: &Value, report: &mut Report) -> Option<Option<String>> {
    let text = report.string(value)?;
    match semver::numbers(&text) {
        Some(version) if version >= (2, 8, 0) => Some(Some(text)),
        Some(_) => {
            let text = "the minimum version should be at least 2.8.0";
            report.error(&value.at, text, "");
            None
        }
        None => {
            let text = "invalid leafnode's minimum version: invalid semver";
            report.error(&value.at, text, "write \"2.8.0\"");
            None
        }
    }
}
