use crate::check::{self, Abilities};
use crate::error::{ConfigError, ConfigErrors};
use crate::options::accounts::Account;
use crate::options::appliance::Appliance;
use crate::options::auth::Authorization;
use crate::options::cluster::Cluster;
use crate::options::features::FeatureFlags;
use crate::options::fleet::Fleet;
use crate::options::forward::Forward;
use crate::options::gateway::Gateway;
use crate::options::jetstream::JetStream;
use crate::options::leafnodes::LeafNodes;
use crate::options::logging::Log;
use crate::options::mappings::Mapping;
use crate::options::ocsp::{Ocsp, OcspCache};
use crate::options::operator::OperatorMode;
use crate::options::ota::Ota;
use crate::options::proxies::Proxies;
use crate::options::server::{self, Limits, Listen, WriteTimeout};
use crate::options::tls::Tls;
use crate::options::websocket::WebSocket;
use crate::parser;
use crate::places::Places;
use crate::position::Position;
use crate::report::Report;
use crate::source::{Source, expand};
use crate::value::Map;
use std::collections::BTreeMap;
use std::time::Duration;

/// Every option that is built here, with nats-server's defaults for what a file leaves out.
///
/// Two are equal if their options are, wherever they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect. `0.0.0.0` by default.
    pub host: String,
    /// The client port; 0 is any free one. 4222 by default.
    pub port: u16,
    /// The address that INFO announces.
    pub client_advertise: Option<String>,
    /// The name, without spaces; `None` takes the server id.
    pub server_name: Option<String>,
    /// Tags, for placement and monitoring.
    pub server_tags: Vec<String>,
    /// Shown in monitoring.
    pub server_metadata: BTreeMap<String, String>,
    /// Where monitoring listens; `None` nowhere.
    pub monitor: Option<Listen>,
    /// Monitoring is HTTPS, with the certificate of `tls`.
    pub monitor_tls: bool,
    /// How clients are encrypted; `None`: not.
    pub tls: Option<Tls>,
    /// Stapling of own certificates; `None`: of those that must have a staple.
    pub ocsp: Option<Ocsp>,
    /// Where answers about peers are kept; `None`: as by default.
    pub ocsp_cache: Option<OcspCache>,
    /// In front of the monitoring paths; `/` by default.
    pub monitor_base_path: String,
    /// Logging.
    pub log: Log,
    /// File that the process id is written to.
    pub pid_file: Option<String>,
    /// Folder that the ports file is written to.
    pub ports_file_dir: Option<String>,
    /// What connections may use.
    pub limits: Limits,
    /// Between two pings. 2 min by default.
    pub ping_interval: Duration,
    /// Unanswered pings before a connection is closed. 2 by default.
    pub ping_max: u64,
    /// How long a write may take. 10 s by default.
    pub write_deadline: Duration,
    /// What happens when it takes longer.
    pub write_timeout: WriteTimeout,
    /// Over which lame duck mode closes the clients. 2 min by default.
    pub lame_duck_duration: Duration,
    /// Before lame duck mode closes the first client. 10 s by default.
    pub lame_duck_grace_period: Duration,
    /// Headers are off.
    pub no_header_support: bool,
    /// A fast producer is never held back.
    pub no_fast_producer_stall: bool,
    /// Matches are not cached.
    pub no_sublist_cache: bool,
    /// Plain connections are allowed beside TLS.
    pub allow_non_tls: bool,
    /// Every so many failed first connects, one is logged. 3600 by default.
    pub connect_error_reports: u64,
    /// Every so many failed reconnects, one is logged beside the first for each cause. 3600 by
    /// default: nats-server logs each, 60,000 a day of a line that is down.
    pub reconnect_error_reports: u64,
    /// Users of the global account.
    pub authorization: Authorization,
    /// The other accounts.
    pub accounts: Vec<Account>,
    /// What the global account renames.
    pub mappings: Vec<Mapping>,
    /// Who a client without credentials is.
    pub no_auth_user: Option<String>,
    /// The system account; `None` is `$SYS`.
    pub system_account: Option<String>,
    /// There is no system account.
    pub no_system_account: bool,
    /// Operators, and where accounts come from.
    pub operator_mode: OperatorMode,
    /// Proxies that may speak for their clients; `None` without the block.
    pub proxies: Option<Proxies>,
    /// How the configuration is changed from elsewhere; `None`: it is not.
    pub ota: Option<Ota>,
    /// What the box has besides a network; `None` without the block.
    pub appliance: Option<Appliance>,
    /// How the hub looks after its boxes; `None` without the block.
    pub fleet: Option<Fleet>,
    /// What is kept for the hub, and how it gets there.
    pub forwards: Vec<Forward>,
    /// JetStream.
    pub jetstream: JetStream,
    /// Leafnodes, both ends.
    pub leafnodes: LeafNodes,
    /// Routes to the other servers of this cluster.
    pub cluster: Cluster,
    /// The way to other clusters.
    pub gateway: Gateway,
    /// WebSocket clients.
    pub websocket: WebSocket,
    /// Account to the domain its JetStream requests go to.
    pub default_js_domain: BTreeMap<String, String>,
    /// Switches for behaviour to come.
    pub feature_flags: FeatureFlags,
    /// Where nats-server would serve its profiles, -1 on any port; 0 nowhere. Not served here.
    pub profile_port: i64,
    /// How often nats-server would sample what blocks it. Nothing is sampled here.
    pub profile_block_rate: i64,
    /// Clients may come through a proxy that says first who they are.
    pub proxy_protocol: bool,
    /// HTTP and HTTPS ports, when both were asked for: refused.
    pub(crate) monitor_both: Option<(u16, u16)>,
    pub(crate) places: Places,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: "0.0.0.0".to_owned(),
            port: 4222,
            client_advertise: None,
            server_name: None,
            server_tags: Vec::new(),
            server_metadata: BTreeMap::new(),
            monitor: None,
            monitor_tls: false,
            tls: None,
            ocsp: None,
            ocsp_cache: None,
            monitor_base_path: "/".to_owned(),
            log: Log::default(),
            pid_file: None,
            ports_file_dir: None,
            limits: Limits::default(),
            ping_interval: Duration::from_secs(120),
            ping_max: 2,
            write_deadline: Duration::from_secs(10),
            write_timeout: WriteTimeout::Default,
            lame_duck_duration: Duration::from_secs(120),
            lame_duck_grace_period: Duration::from_secs(10),
            no_header_support: false,
            no_fast_producer_stall: false,
            no_sublist_cache: false,
            allow_non_tls: false,
            connect_error_reports: 3600,
            reconnect_error_reports: 3600,
            authorization: Authorization::default(),
            accounts: Vec::new(),
            mappings: Vec::new(),
            no_auth_user: None,
            system_account: None,
            no_system_account: false,
            operator_mode: OperatorMode::default(),
            proxies: None,
            ota: None,
            appliance: None,
            fleet: None,
            forwards: Vec::new(),
            jetstream: JetStream::default(),
            leafnodes: LeafNodes::default(),
            cluster: Cluster::default(),
            gateway: Gateway::default(),
            websocket: WebSocket::default(),
            default_js_domain: BTreeMap::new(),
            feature_flags: FeatureFlags::default(),
            profile_port: 0,
            profile_block_rate: 0,
            proxy_protocol: false,
            monitor_both: None,
            places: Places::default(),
        }
    }
}

/// A configuration that was read, and what to say about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The options.
    pub config: Config,
    /// What nats-server warns about; it starts, but a mere check (`-t`) fails.
    pub warnings: Vec<ConfigError>,
    /// Options that are accepted and have another effect here, or none.
    pub notes: Vec<ConfigError>,
    /// The file as it was read, includes and variables resolved; Debug shows its keys only.
    pub map: Map,
}

/// Reads the file at `path`, without the checks across options: flags come in between.
/// [`Config::check`] does those.
///
/// # Errors
/// The first mistake in the language, or else every mistake in the options.
pub fn load(path: &str, source: &dyn Source) -> Result<Loaded, ConfigErrors> {
    read(parser::parse_file(path, source)?, path, source)
}

/// As [`load`], of a text that came from `path`.
///
/// # Errors
/// As [`load`].
pub fn load_text(text: &str, path: &str, source: &dyn Source) -> Result<Loaded, ConfigErrors> {
    read(parser::parse(text, path, source)?, path, source)
}

fn read(map: Map, path: &str, source: &dyn Source) -> Result<Loaded, ConfigErrors> {
    let mut config = Config::default();
    let mut report = Report::default();
    if map.is_empty() {
        let text = "config has no values or is empty";
        report.warning(&Position::start(path), text, "");
    }
    server::read(&map, &mut config, &mut report);
    if let Err(why) = config.operator_mode.load(source) {
        let start = Position::start(path);
        let at = config.places.of(OPERATOR).unwrap_or(&start);
        report.error(at, why, "");
    }
    for remote in &mut config.leafnodes.remotes {
        remote.credentials = remote.credentials.take().map(|path| expand(&path, source));
    }
    config.deny_forwarded();
    config.keep_apart();
    let Report {
        errors,
        warnings,
        notes,
    } = report;
    if errors.is_empty() {
        Ok(Loaded {
            config,
            warnings,
            notes,
            map,
        })
    } else {
        Err(ConfigErrors(errors))
    }
}

/// The option that holds operators, in all its spellings.
const OPERATOR: &[&str] = &[
    "operator",
    "operators",
    "roots",
    "root",
    "root_operators",
    "root_operator",
];

impl Config {
    /// What a start and a reload check across options, after flags have been laid over the file.
    ///
    /// # Errors
    /// Everything that does not fit together.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let errors = check::check(self);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(errors))
        }
    }

    /// Whether the program of this name can do what the options ask for, after flags have been
    /// laid over the file.
    ///
    /// # Errors
    /// The blocks that it cannot serve, and what can.
    pub fn check_abilities(&self, program: &str, may: Abilities) -> Result<(), ConfigErrors> {
        let errors = check::abilities(self, program, may);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(errors))
        }
    }

    /// What the cluster is called; `None`: nobody said, so a name is made up where one is needed.
    #[must_use]
    pub fn cluster_name(&self) -> Option<&str> {
        let name = self.cluster.name.as_deref();
        name.or(self.gateway.name.as_deref())
    }

    /// The name of the system account; `None`: there is none.
    #[must_use]
    pub fn system_account_name(&self) -> Option<&str> {
        match &self.system_account {
            Some(name) => Some(name),
            None => (!self.no_system_account).then_some(check::SYSTEM_ACCOUNT),
        }
    }

    /// Something wrong with what these options hold, at the first of them that was written.
    #[must_use]
    pub fn wrong(&self, keys: &[&str], text: impl Into<String>) -> ConfigError {
        match self.places.of(keys) {
            Some(at) => ConfigError::option(at, text, ""),
            None => ConfigError::placeless(text, ""),
        }
    }

    /// Errors about what accounts share, which take all accounts to be seen: they point at the
    /// block, as nats-server's do.
    #[must_use]
    pub fn at_accounts(&self, texts: Vec<String>) -> ConfigErrors {
        let at = self.places.of(&["accounts"]);
        let error = |text: String| match at {
            Some(at) => ConfigError::option(at, text, ""),
            None => ConfigError::placeless(text, ""),
        };
        ConfigErrors(texts.into_iter().map(error).collect())
    }

    /// What a start warns about, in nats-server's words.
    pub fn advice(&self) -> Vec<String> {
        check::advice(self)
    }
}
