use clap::Parser;
use std::path::PathBuf;

use crate::args;

/// The command line, spelled as nats-server's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Parser)]
#[command(
    rename_all = "snake_case",
    disable_version_flag = true,
    disable_help_flag = true,
    args_override_self = true,
    after_help = AFTER_HELP
)]
pub(crate) struct Cli {
    /// Bind to this host address [default: 127.0.0.1 for a start as below, else 0.0.0.0]
    #[arg(short = 'a', long, value_name = "HOST", help_heading = "Server")]
    pub(crate) addr: Option<String>,
    /// Port for clients, -1 picks a free one [default: 4222]
    #[arg(
        short = 'p',
        long,
        value_name = "PORT",
        allow_negative_numbers = true,
        help_heading = "Server"
    )]
    pub(crate) port: Option<i32>,
    /// Server name, unique among all servers [default: the server id]
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "Server")]
    pub(crate) name: Option<String>,
    /// Write the process id to this file
    #[arg(short = 'P', long, value_name = "FILE", help_heading = "Server")]
    pub(crate) pid: Option<PathBuf>,
    /// Port for HTTP monitoring
    #[arg(
        short = 'm',
        long,
        value_name = "PORT",
        allow_negative_numbers = true,
        help_heading = "Server"
    )]
    pub(crate) http_port: Option<i32>,
    /// Port for HTTPS monitoring (-ms)
    #[arg(
        long,
        value_name = "PORT",
        allow_negative_numbers = true,
        help_heading = "Server"
    )]
    pub(crate) https_port: Option<i32>,
    /// Port for profiles, taken and not served
    #[arg(long, value_name = "PORT", allow_negative_numbers = true, hide = true)]
    pub(crate) profile: Option<i64>,
    /// Configuration file, in nats-server's language
    #[arg(short = 'c', long, value_name = "FILE", help_heading = "Server")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration as a start would, and exit
    #[arg(
        short = 't',
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "Server"
    )]
    pub(crate) test: Option<bool>,
    /// Send a signal to a running server: ldm, stop, quit, term, reopen, reload [=PID or pid file]
    #[arg(long, value_name = "SIGNAL[=PID]", help_heading = "Server")]
    pub(crate) signal: Option<String>,
    /// Client address to tell others
    #[arg(long, value_name = "HOST:PORT", help_heading = "Server")]
    pub(crate) client_advertise: Option<String>,
    /// Write the bound ports to <program>_<pid>.ports in this directory
    #[arg(long, value_name = "DIR", help_heading = "Server")]
    pub(crate) ports_file_dir: Option<PathBuf>,

    /// Log to this file
    #[arg(short = 'l', long, value_name = "FILE", help_heading = "Logging")]
    pub(crate) log: Option<PathBuf>,
    /// Move the log file aside past so many bytes
    #[arg(long, value_name = "BYTES", help_heading = "Logging")]
    pub(crate) log_size_limit: Option<u64>,
    /// Log to the system's log
    #[arg(
        short = 's',
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "Logging"
    )]
    pub(crate) syslog: Option<bool>,
    /// Log to the system's log of another machine
    #[arg(
        short = 'r',
        long,
        value_name = "udp://HOST:514",
        help_heading = "Logging"
    )]
    pub(crate) remote_syslog: Option<String>,
    /// Put the time on log lines [default: true]
    #[arg(
        short = 'T',
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "Logging"
    )]
    pub(crate) logtime: Option<bool>,
    /// Log times in UTC [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "Logging"
    )]
    pub(crate) logtime_utc: Option<bool>,
    /// Debugging output
    #[arg(
        short = 'D',
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "Logging"
    )]
    pub(crate) debug: Option<bool>,
    /// Log what clients and servers say and are told (-DV for both)
    #[arg(
        short = 'V',
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "Logging"
    )]
    pub(crate) trace: Option<bool>,
    /// Bytes of a message that -V shows
    #[arg(long, value_name = "BYTES", help_heading = "Logging")]
    pub(crate) max_traced_msg_len: Option<u64>,
    /// As -V
    #[arg(long = "VV", value_name = "BOOL", require_equals = true, hide = true)]
    pub(crate) trace_verbose: Option<bool>,
    /// -D and -V
    #[arg(long = "DV", value_name = "BOOL", require_equals = true, hide = true)]
    pub(crate) debug_trace: Option<bool>,
    /// -D and -VV
    #[arg(long = "DVV", value_name = "BOOL", require_equals = true, hide = true)]
    pub(crate) debug_trace_verbose: Option<bool>,

    /// Enable JetStream (-js)
    #[arg(
        long,
        value_name = "BOOL",
        require_equals = true,
        help_heading = "JetStream"
    )]
    pub(crate) jetstream: Option<bool>,
    /// Directory JetStream keeps its data in (-sd)
    #[arg(long, value_name = "DIR", help_heading = "JetStream")]
    pub(crate) store_dir: Option<PathBuf>,

    /// User required for connections
    #[arg(long, help_heading = "Authorization")]
    pub(crate) user: Option<String>,
    /// Password required for connections
    #[arg(long, help_heading = "Authorization")]
    pub(crate) pass: Option<String>,
    /// Token required for connections
    #[arg(long, value_name = "TOKEN", help_heading = "Authorization")]
    pub(crate) auth: Option<String>,

    /// TLS for clients, with --tlscert and --tlskey
    #[arg(long, value_name = "BOOL", require_equals = true, help_heading = "TLS")]
    pub(crate) tls: Option<bool>,
    /// Clients need a certificate
    #[arg(long, value_name = "BOOL", require_equals = true, help_heading = "TLS")]
    pub(crate) tlsverify: Option<bool>,
    /// Server certificate file
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub(crate) tlscert: Option<PathBuf>,
    /// Private key of the server certificate
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub(crate) tlskey: Option<PathBuf>,
    /// Certificates of those who sign clients' certificates
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub(crate) tlscacert: Option<PathBuf>,

    /// Show the version
    #[arg(short = 'v', long, help_heading = "Common")]
    pub(crate) version: bool,
    /// Show this help
    #[arg(short = 'h', long, help_heading = "Common")]
    pub(crate) help: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// The flags of the `cluster` block.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(rename_all = "snake_case", next_help_heading = CLUSTER_FLAGS)]
pub(crate) struct ClusterFlags {
    /// Servers to dial, separated by commas
    #[arg(long, value_name = "URLS")]
    pub(crate) routes: Option<String>,
    /// Where servers connect, as nats://user:password@host:6222 (--cluster_listen); empty: nowhere
    #[arg(long, value_name = "URL")]
    pub(crate) cluster: Option<String>,
    /// Name of the cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_name: Option<String>,
    /// Address announced to other servers
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) cluster_advertise: Option<String>,
    /// Don't tell other servers where clients connect
    #[arg(long, value_name = "BOOL", require_equals = true)]
    pub(crate) no_advertise: Option<bool>,
    /// How often to try again to dial servers that were only heard of
    #[arg(long, value_name = "NUMBER")]
    pub(crate) connect_retries: Option<i64>,
}

/// The heading of flags for servers that meet others.
pub(crate) const CLUSTER_FLAGS: &str = "Cluster";

const AFTER_HELP: &str = "\
Flags take one dash or two, and a value after a blank or `=`, as nats-server's do: -js -sd DIR -p 4222 -DV.
Without a configuration file and with no flags but for the name and for logging it listens on this machine only:
clients on 4222, monitoring on 8222, JetStream on, its data in a directory that the first log lines name.";

impl Cli {
    /// Whether nothing is asked for but a name and what is logged where: that changes nothing of
    /// who may reach the server, and what it keeps.
    pub(crate) fn is_plain(&self) -> bool {
        let asked = Self {
            name: None,
            pid: None,
            ports_file_dir: None,
            log: None,
            log_size_limit: None,
            syslog: None,
            remote_syslog: None,
            logtime: None,
            logtime_utc: None,
            debug: None,
            trace: None,
            debug_trace: None,
            max_traced_msg_len: None,
            ..self.clone()
        };
        asked == Self::default()
    }

    /// Reads the process's arguments.
    ///
    /// # Errors
    /// What to print before exiting with 1.
    pub(crate) fn parse_from_process() -> Result<Self, String> {
        let words = args::normalise(std::env::args())?;
        Self::try_parse_from(words).map_err(|error| error.to_string().trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn no_two_flags_are_one() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_flags_of_a_cluster_are_read() {
        let line = "frond -cluster_listen nats://h:1 -routes=nats://a:1 -no_advertise \
                    --cluster_name C --cluster_advertise x:1 --connect_retries -1";
        let words = args::normalise(line.split_whitespace().map(str::to_owned)).unwrap();
        let flags = Cli::try_parse_from(words).unwrap().cluster;
        assert_eq!(flags.cluster.as_deref(), Some("nats://h:1"));
        assert_eq!(flags.routes.as_deref(), Some("nats://a:1"));
        assert_eq!(flags.cluster_name.as_deref(), Some("C"));
        assert_eq!(flags.cluster_advertise.as_deref(), Some("x:1"));
        assert_eq!(
            (flags.no_advertise, flags.connect_retries),
            (Some(true), Some(-1))
        );
    }
}
