//! The difference between two configurations, and whether a running server can take it.
//! spec: nats-server v2.15.1 server/reload.go diffOptions

mod applied;
mod kept;
mod peers;
mod remotes;

pub use peers::ClusterChange;

use crate::config::Config;
use crate::options::remote::Remote;
use std::fmt;

/// What a reload is to apply. Anything else that differs refuses the whole reload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// The options that differ, in the order to apply and log them.
    pub options: Vec<Change>,
    /// What happens to the dialled leafnodes.
    pub remotes: Vec<RemoteChange>,
    /// What the log says of that.
    remote_lines: Vec<String>,
    /// What happens to the routes; `None`: nothing.
    pub cluster: Option<ClusterChange>,
}

/// An option that a running server takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub option: Reloadable,
    /// The new value for the log; empty where it is long or secret.
    pub value: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.option.name();
        if self.option == Reloadable::TlsPins {
            return write!(f, "{} {name}", self.value);
        }
        if self.option == Reloadable::NoFastProducerStall {
            return f.write_str(&self.value);
        }
        if self.option == Reloadable::LeafCompression {
            return write!(f, "{name}: {}", self.value);
        }
        f.write_str(name)?;
        if self.value.is_empty() {
            Ok(())
        } else {
            write!(f, " = {}", self.value)
        }
    }
}

/// The options that a reload may change, in the order in which nats-server applies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reloadable {
    /// `client_advertise`
    ClientAdvertise,
    /// `trace`
    Trace,
    /// `debug`
    Debug,
    /// `trace_verbose`
    TraceVerbose,
    /// `trace_headers`
    TraceHeaders,
    /// `logtime`
    Logtime,
    /// `logtime_utc`
    LogtimeUtc,
    /// `max_connections`
    MaxConnections,
    /// Users of the global account, and their permissions.
    Users,
    /// Accounts with their users, permissions and limits.
    Accounts,
    /// `no_auth_user`, which may only go away.
    NoAuthUser,
    /// The single user of `authorization`.
    Username,
    /// Its password.
    Password,
    /// The token of `authorization`.
    Token,
    /// `ping_interval`
    PingInterval,
    /// `ping_max`
    PingMax,
    /// Its timeout.
    AuthTimeout,
    /// `tls.timeout`
    TlsTimeout,
    /// `ocsp`
    Ocsp,
    /// `ocsp_cache`
    OcspCache,
    /// The rest of `tls`, always: its files are read again.
    Tls,
    /// `tls.pinned_certs`
    TlsPins,
    /// `max_control_line`
    MaxControlLine,
    /// `max_payload`
    MaxPayload,
    /// `max_connections_memory`
    MaxConnectionsMemory,
    /// `no_fast_producer_stall`
    NoFastProducerStall,
    /// `cluster`; with TLS always: its files are read again.
    Cluster,
    /// `jetstream`, on or off.
    JetStream,
    /// `jetstream.max_mem`, which may only grow.
    MaxMemory,
    /// `jetstream.max_file`, which may only grow.
    MaxFile,
    /// `jetstream.limits`
    JetStreamLimits,
    /// `pid_file`
    PidFile,
    /// `ports_file_dir`
    PortsFileDir,
    /// `log_file`
    LogFile,
    /// `cluster.routes`
    Routes,
    /// `leafnodes.compression`: accepted leaves connect anew.
    LeafCompression,
    /// `write_deadline`
    WriteDeadline,
    /// `max_traced_msg_len`
    MaxTracedMsgLen,
    /// `connect_error_reports`
    ConnectErrorReports,
    /// `reconnect_error_reports`
    ReconnectErrorReports,
    /// `server_tags`
    Tags,
    /// `server_metadata`
    Metadata,
    /// `prof_block_rate`
    ProfBlockRate,
    /// `appliance`: the field side begins anew.
    Appliance,
    /// `fleet`: who looks after the boxes begins anew.
    Fleet,
    /// `forward`: blocks that differ begin anew; their streams stay.
    Forward,
}

impl Reloadable {
    /// How the log names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Trace => "trace",
            Self::TraceVerbose => "trace_verbose",
            Self::TraceHeaders => "trace_headers",
            Self::Logtime => "logtime",
            Self::LogtimeUtc => "logtime_utc",
            Self::LogFile => "log_file",
            Self::MaxTracedMsgLen => "max_traced_msg_len",
            Self::Username => "authorization username",
            Self::Password => "authorization password",
            Self::Token => "authorization token",
            Self::AuthTimeout => "authorization timeout",
            Self::TlsTimeout => "tls timeout",
            Self::Tls => "tls",
            Self::Ocsp => "OCSP",
            Self::OcspCache => "OCSP peer cache",
            Self::TlsPins => "pinned_certs",
            Self::Users => "authorization users",
            Self::Accounts => "accounts",
            Self::Tags => "tags",
            Self::Metadata => "metadata",
            Self::ProfBlockRate => "prof_block_rate",
            Self::MaxConnections => "max_connections",
            Self::MaxControlLine => "max_control_line",
            Self::MaxPayload => "max_payload",
            Self::MaxConnectionsMemory => "max_connections_memory",
            Self::PingInterval => "ping_interval",
            Self::PingMax => "ping_max",
            Self::WriteDeadline => "write_deadline",
            Self::ClientAdvertise => "client_advertise",
            Self::Cluster => "cluster",
            Self::Routes => "cluster routes",
            Self::LeafCompression => "LeafNode Compression value is",
            Self::PidFile => "pid_file",
            Self::PortsFileDir => "ports_file_dir",
            Self::ConnectErrorReports => "connect_error_reports",
            Self::ReconnectErrorReports => "reconnect_error_reports",
            Self::NoFastProducerStall => "no_fast_producer_stall",
            Self::JetStream => "JetStream",
            Self::MaxMemory => "JetStream max_mem_store",
            Self::MaxFile => "JetStream max_file_store",
            Self::NoAuthUser => "no_auth_user",
            Self::Appliance => "appliance",
            Self::Fleet => "fleet",
            Self::Forward => "forward",
            Self::JetStreamLimits => "JetStream limits",
        }
    }
}

/// What a reload does to one dialled leafnode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteChange {
    /// It is new: dial it.
    Added(Remote),
    /// It is gone: close it.
    Removed(Remote),
    /// It has other options: close it and dial it anew.
    Redialled(Remote),
    /// Only `disabled` differs.
    Disabled(Remote),
}

/// Why a reload is refused; nothing of it may be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReloadRefused(String);

impl ReloadRefused {
    fn because(what: &str) -> Self {
        Self(format!("config reload not supported for {what}"))
    }
}

/// What differs from `old` to `new`, both as they would run, flags included.
///
/// # Errors
/// The first option that differs and cannot change while running, in nats-server's words.
pub fn changes(old: &Config, new: &Config) -> Result<Changes, ReloadRefused> {
    kept::check(old, new)?;
    let mut changes = Changes::default();
    applied::collect(old, new, &mut changes)?;
    changes.options.sort_by_key(|change| change.option);
    Ok(changes)
}

impl Changes {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty() && self.remotes.is_empty() && self.cluster.is_none()
    }

    /// What the log says of them, one by one. As nats-server, which takes users and accounts
    /// never for the same, these are named always.
    pub fn lines(&self) -> Vec<String> {
        let always = [Reloadable::Users, Reloadable::Accounts].into_iter();
        let missing =
            always.filter(|option| self.options.iter().all(|change| change.option != *option));
        let missing = missing.map(|option| Change {
            option,
            value: String::new(),
        });
        let mut all: Vec<Change> = self.options.iter().cloned().chain(missing).collect();
        all.sort_by_key(|change| change.option);
        let lines = all.iter().map(Change::to_string);
        lines.chain(self.remote_lines.iter().cloned()).collect()
    }

    fn note<T: PartialEq>(
        &mut self,
        option: Reloadable,
        old: &T,
        new: &T,
        show: impl Fn(&T) -> String,
    ) {
        if old != new {
            self.options.push(Change {
                option,
                value: show(new),
            });
        }
    }

    fn note_only<T: PartialEq>(&mut self, option: Reloadable, old: &T, new: &T) {
        self.note(option, old, new, |_| String::new());
    }
}

fn plain<T: ToString>(value: &T) -> String {
    value.to_string()
}

fn optional<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(String::new, T::to_string)
}

/// No limit is zero in nats-server.
fn number<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "0".to_owned(), T::to_string)
}

#[cfg(test)]
mod tests;
