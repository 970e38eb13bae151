use std::path::{Path, PathBuf};

use frond_config::{Cluster, Config, ConfigError, ConfigErrors, Listen, Secret, Source, Tls};

use sha2::{Digest as _, Sha256};

use crate::cli::{Cli, ClusterFlags};
use crate::steward::Text;

/// What a start works from: the file, with the flags laid over it.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The options in force.
    pub(crate) config: Config,
    /// Where the file is, when there is one.
    pub(crate) path: Option<PathBuf>,
    /// `sha256:` and the digest of what the file says, as nats-server's `config_digest`; empty
    /// without a file.
    pub(crate) digest: String,
    /// What the file said that nats-server warns about.
    pub(crate) warnings: Vec<ConfigError>,
    /// Options that have another effect here, or none.
    pub(crate) notes: Vec<ConfigError>,
}

/// Why the options are of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptionsError {
    /// The file's own mistakes.
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    /// A flag's.
    #[error("{0}")]
    Flag(String),
}

/// The port monitoring gets when nothing at all was said.
const MONITOR_PORT: u16 = 8222;

/// The name of this machine, if a server may have it.
pub(crate) fn machine_name() -> Option<String> {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_str().ok()?;
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then(|| name.to_owned())
}

impl Options {
    /// Reads the file named by the flags, lays the flags over it, and checks the whole as a start
    /// does. `bare` is a start without any argument: this machine only, JetStream on.
    ///
    /// # Errors
    /// Every mistake found, with file, line and column.
    pub(crate) fn read(cli: &Cli, bare: bool, text: &Text) -> Result<Self, OptionsError> {
        let mut options = match &cli.config {
            Some(path) => Self::from_file(path)?.with(path, text)?,
            None if bare => Self::embedded(),
            None => Self::of(Config::default()),
        };
        options.overlay(cli)?;
        options.config.check()?;
        frond_node::check_accounts(&options.config)?;
        Ok(options)
    }

    fn of(config: Config) -> Self {
        Self {
            config,
            path: None,
            digest: String::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn from_file(path: &Path) -> Result<Self, OptionsError> {
        let loaded = frond_config::load(&path.to_string_lossy(), &System)?;
        Ok(Self {
            digest: digest(&loaded.map),
            config: loaded.config,
            path: Some(path.to_owned()),
            warnings: loaded.warnings,
            notes: loaded.notes,
        })
    }

    /// As if `text` stood in the file at `path`. How it is changed stays with the file.
    fn with(self, path: &Path, text: &Text) -> Result<Self, OptionsError> {
        let Text::Other { name, text, files } = text else {
            return Ok(self);
        };
        let beside = path.with_file_name(name);
        let source = Brought {
            beside: &beside,
            files,
        };
        let loaded = frond_config::load_text(text, &beside.to_string_lossy(), &source)?;
        let mut config = loaded.config;
        if config.ota.is_some() {
            let wrong = config.wrong(&["ota"], "the ota block stays with the box: remove it");
            return Err(ConfigErrors(vec![wrong]).into());
        }
        config.ota = self.config.ota;
        Ok(Self {
            digest: digest(&loaded.map),
            config,
            path: self.path,
            warnings: loaded.warnings,
            notes: loaded.notes,
        })
    }

    fn embedded() -> Self {
        let mut config = Config::default();
        "127.0.0.1".clone_into(&mut config.host);
        config.server_name = machine_name();
        config.monitor = Some(Listen {
            host: "127.0.0.1".to_owned(),
            port: MONITOR_PORT,
        });
        config.jetstream.enabled = true;
        Self::of(config)
    }

    /// Flags beat the file; what was not given leaves it alone.
    fn overlay(&mut self, cli: &Cli) -> Result<(), OptionsError> {
        let config = &mut self.config;
        if let Some(host) = &cli.addr {
            config.host.clone_from(host);
        }
        if let Some(port) = given(cli.port) {
            config.port = port_of("port", port)?;
        }
        if let Some(port) = given(cli.http_port) {
            config.monitor = Some(Listen {
                host: config.host.clone(),
                port: port_of("http_port", port)?,
            });
        }
        if let Some(port) = given(cli.https_port) {
            config.monitor = Some(Listen {
                host: config.host.clone(),
                port: port_of("https_port", port)?,
            });
            config.monitor_tls = true;
        }
        put(&mut config.profile_port, cli.profile);
        set(&mut config.server_name, cli.name.clone());
        set(&mut config.client_advertise, cli.client_advertise.clone());
        set(&mut config.pid_file, cli.pid.as_deref().map(text));
        set(
            &mut config.ports_file_dir,
            cli.ports_file_dir.as_deref().map(text),
        );
        set(&mut config.log.file, cli.log.as_deref().map(text));
        set(
            &mut config.jetstream.store_dir,
            cli.store_dir.as_deref().map(text),
        );
        set(&mut config.authorization.user, cli.user.clone());
        set(
            &mut config.authorization.password,
            cli.pass.clone().map(Secret::new),
        );
        set(
            &mut config.authorization.token,
            cli.auth.clone().map(Secret::new),
        );
        let both = cli.debug_trace.or(cli.debug_trace_verbose);
        put(&mut config.log.debug, cli.debug.or(both));
        put(
            &mut config.log.trace,
            cli.trace.or(cli.trace_verbose).or(both),
        );
        let verbose = cli.trace_verbose.or(cli.debug_trace_verbose);
        put(&mut config.log.trace_verbose, verbose);
        set(&mut config.log.max_traced_msg_len, cli.max_traced_msg_len);
        put(&mut config.log.time, cli.logtime);
        put(&mut config.log.time_utc, cli.logtime_utc);
        put(&mut config.log.syslog, cli.syslog);
        set(&mut config.log.remote_syslog, cli.remote_syslog.clone());
        set(&mut config.log.size_limit, cli.log_size_limit);
        put(&mut config.jetstream.enabled, cli.jetstream);
        overlay_cluster(&mut config.cluster, &cli.cluster)?;
        overlay_tls(config, cli)
    }
}

/// spec: nats-server v2.15.1 server/opts.go `ConfigureOptions`
fn overlay_cluster(cluster: &mut Cluster, flags: &ClusterFlags) -> Result<(), OptionsError> {
    set(&mut cluster.name, flags.cluster_name.clone());
    set(&mut cluster.advertise, flags.cluster_advertise.clone());
    put(&mut cluster.no_advertise, flags.no_advertise);
    let retries = flags.connect_retries;
    let retries = retries.map(|retries| u64::try_from(retries).unwrap_or(0));
    put(&mut cluster.connect_retries, retries);
    if let Some(url) = &flags.cluster {
        cluster.listen_at(url).map_err(OptionsError::Flag)?;
    }
    if let Some(routes) = &flags.routes {
        cluster.dial(routes).map_err(OptionsError::Flag)?;
    }
    Ok(())
}

/// spec: nats-server v2.15.1 server/opts.go `ConfigureOptions`, `configureTLS`
fn overlay_tls(config: &mut Config, cli: &Cli) -> Result<(), OptionsError> {
    let files = [&cli.tlscert, &cli.tlskey, &cli.tlscacert];
    if cli.tls == Some(false) {
        config.tls = None;
        return Ok(());
    }
    let wanted = cli.tls == Some(true) || cli.tlsverify == Some(true);
    if !wanted && files.iter().all(|file| file.is_none()) {
        return Ok(());
    }
    let missing = |text: &str| OptionsError::Flag(text.to_owned());
    let cert = cli.tlscert.as_deref();
    let cert = cert.ok_or_else(|| missing("TLS Server certificate must be present and valid"))?;
    let key = cli.tlskey.as_deref();
    let key = key.ok_or_else(|| missing("TLS Server private key must be present and valid"))?;
    let ca = cli.tlscacert.as_deref().map(text);
    let verify = cli.tlsverify == Some(true);
    config.tls = Some(Tls::from_flags(
        &text(cert),
        &text(key),
        ca.as_deref(),
        verify,
    ));
    Ok(())
}

/// spec: nats-server v2.15.1 conf/parse.go `configDigest`
fn digest(map: &frond_config::Map) -> String {
    let hash = Sha256::digest(map.to_json());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn set<T>(place: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *place = given;
    }
}

fn put<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

/// A port of 0 is as good as none.
///
/// spec: nats-server v2.15.1 server/opts.go `MergeOptions`
fn given(port: Option<i32>) -> Option<i32> {
    port.filter(|port| *port != 0)
}

/// -1 is any free port.
fn port_of(flag: &str, port: i32) -> Result<u16, OptionsError> {
    match port {
        -1 => Ok(0),
        _ => u16::try_from(port).map_err(|_| {
            OptionsError::Flag(format!("flag -{flag}: {port} is no port (-1 to 65535)"))
        }),
    }
}

/// Files that came with a configuration, and else those of the box.
struct Brought<'a> {
    beside: &'a Path,
    files: &'a [(String, String)],
}

impl Source for Brought<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        let is_it = |name: &str| self.beside.with_file_name(name) == Path::new(path);
        match self.files.iter().find(|(name, _)| is_it(name)) {
            Some((_, text)) => Ok(text.clone()),
            None => System.read(path),
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        System.env(name)
    }
}

/// Files and environment of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System;

impl Source for System {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("open {path}: {}", plain(&error)))
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// The system's words as Go prints them: lower case, without the number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or(&words);
    words.to_lowercase()
}

/// Where data goes when nobody said: a place that survives a restart.
pub(crate) fn default_store_dir() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    state.map_or_else(
        || std::path::absolute("frond-data").unwrap_or_else(|_| "frond-data".into()),
        |state| state.join("frond"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_or_any() {
        assert_eq!(port_of("port", -1).ok(), Some(0));
        assert_eq!(port_of("port", 4222).ok(), Some(4222));
        for bad in [-5, -2, 65_536, 70_000] {
            assert!(port_of("port", bad).is_err(), "{bad}");
        }
        assert_eq!((given(Some(0)), given(Some(-1))), (None, Some(-1)));
    }
}
