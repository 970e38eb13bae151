//! The options that a running server takes over.

use super::{Change, Changes, ReloadRefused, Reloadable, number, optional, plain};
use crate::config::Config;
use crate::duration::Go;
use crate::options::compression::Compression;
use crate::options::jetstream::JetStream;
use crate::options::tls::Tls;
use std::collections::BTreeSet;

/// Notes every one that differs.
pub(super) fn collect(
    old: &Config,
    new: &Config,
    changes: &mut Changes,
) -> Result<(), ReloadRefused> {
    logging(old, new, changes);
    authorization(old, new, changes);
    tls(old.tls.as_ref(), new.tls.as_ref(), changes);
    changes.note_only(Reloadable::Ocsp, &old.ocsp, &new.ocsp);
    changes.note_only(Reloadable::OcspCache, &old.ocsp_cache, &new.ocsp_cache);
    limits(old, new, changes);
    changes.note_only(Reloadable::Appliance, &old.appliance, &new.appliance);
    changes.note_only(Reloadable::Fleet, &old.fleet, &new.fleet);
    changes.note_only(Reloadable::Forward, &old.forwards, &new.forwards);
    sizes(&old.jetstream, &new.jetstream, changes)?;
    let (a, b) = (&old.leafnodes.compression, &new.leafnodes.compression);
    changes.note(Reloadable::LeafCompression, a, b, compression);
    super::remotes::collect(&old.leafnodes.remotes, &new.leafnodes.remotes, changes);
    super::peers::collect(old, new, changes);
    Ok(())
}

/// As Go prints it.
pub(super) fn compression(mode: &Compression) -> String {
    let steps: Vec<_> = match mode {
        Compression::Auto(steps) => steps.iter().map(|step| Go(*step).to_string()).collect(),
        Compression::NotSupported
        | Compression::Off
        | Compression::Accept
        | Compression::Fast
        | Compression::Better
        | Compression::Best => Vec::new(),
    };
    format!("{{{} [{}]}}", mode.name(), steps.join(" "))
}

fn logging(old: &Config, new: &Config, changes: &mut Changes) {
    let (a, b) = (&old.log, &new.log);
    changes.note(
        Reloadable::TraceVerbose,
        &a.trace_verbose,
        &b.trace_verbose,
        plain,
    );
    changes.note(
        Reloadable::TraceHeaders,
        &a.trace_headers,
        &b.trace_headers,
        plain,
    );
    changes.note(Reloadable::Trace, &a.trace, &b.trace, plain);
    changes.note(Reloadable::Debug, &a.debug, &b.debug, plain);
    changes.note(Reloadable::Logtime, &a.time, &b.time, plain);
    changes.note(Reloadable::LogtimeUtc, &a.time_utc, &b.time_utc, plain);
    changes.note(Reloadable::LogFile, &a.file, &b.file, optional);
    let (a, b) = (&a.max_traced_msg_len, &b.max_traced_msg_len);
    changes.note(Reloadable::MaxTracedMsgLen, a, b, number);
}

fn authorization(old: &Config, new: &Config, changes: &mut Changes) {
    let (a, b) = (&old.authorization, &new.authorization);
    changes.note_only(Reloadable::Username, &a.user, &b.user);
    changes.note_only(Reloadable::Password, &a.password, &b.password);
    changes.note_only(Reloadable::Token, &a.token, &b.token);
    let seconds = |t: &std::time::Duration| t.as_secs_f64().to_string();
    changes.note(Reloadable::AuthTimeout, &a.timeout, &b.timeout, seconds);
    changes.note_only(Reloadable::Users, &a.users, &b.users);
    let of = |config: &Config| {
        let accounts = (config.accounts.clone(), config.mappings.clone());
        (accounts, config.operator_mode.clone())
    };
    changes.note_only(Reloadable::Accounts, &of(old), &of(new));
    changes.note(
        Reloadable::NoAuthUser,
        &old.no_auth_user,
        &new.no_auth_user,
        optional,
    );
    changes.note_only(Reloadable::Tags, &old.server_tags, &new.server_tags);
    changes.note_only(
        Reloadable::Metadata,
        &old.server_metadata,
        &new.server_metadata,
    );
}

/// As nats-server, which takes two TLS configurations never for the same.
fn tls(old: Option<&Tls>, new: Option<&Tls>, changes: &mut Changes) {
    // A server without TLS has the default as well.
    let timeout = |tls: Option<&Tls>| tls.map_or(2.0, |tls| tls.timeout.as_secs_f64());
    let (a, b) = (timeout(old), timeout(new));
    changes.note(Reloadable::TlsTimeout, &a, &b, plain);
    let state = if new.is_some() { "enabled" } else { "disabled" };
    if old.is_some() || new.is_some() {
        changes.options.push(Change {
            option: Reloadable::Tls,
            value: state.to_owned(),
        });
    }
    let pins = |tls: Option<&Tls>| tls.map(|tls| tls.pinned_certs.clone()).unwrap_or_default();
    let count = |pins: &BTreeSet<String>| pins.len().to_string();
    changes.note(Reloadable::TlsPins, &pins(old), &pins(new), count);
}

fn limits(old: &Config, new: &Config, changes: &mut Changes) {
    let duration = |d: &std::time::Duration| Go(*d).to_string();
    let (a, b) = (&old.limits, &new.limits);
    changes.note(
        Reloadable::MaxConnections,
        &a.max_connections,
        &b.max_connections,
        plain,
    );
    changes.note(
        Reloadable::MaxControlLine,
        &a.max_control_line,
        &b.max_control_line,
        plain,
    );
    changes.note(
        Reloadable::MaxPayload,
        &a.max_payload,
        &b.max_payload,
        plain,
    );
    changes.note(
        Reloadable::MaxConnectionsMemory,
        &a.max_connections_memory,
        &b.max_connections_memory,
        number,
    );
    changes.note(
        Reloadable::PingInterval,
        &old.ping_interval,
        &new.ping_interval,
        duration,
    );
    changes.note(Reloadable::PingMax, &old.ping_max, &new.ping_max, plain);
    changes.note(
        Reloadable::WriteDeadline,
        &old.write_deadline,
        &new.write_deadline,
        duration,
    );
    let (a, b) = (&old.client_advertise, &new.client_advertise);
    changes.note(Reloadable::ClientAdvertise, a, b, optional);
    changes.note(Reloadable::PidFile, &old.pid_file, &new.pid_file, optional);
    changes.note(
        Reloadable::PortsFileDir,
        &old.ports_file_dir,
        &new.ports_file_dir,
        optional,
    );
    let (a, b) = (&old.connect_error_reports, &new.connect_error_reports);
    changes.note(Reloadable::ConnectErrorReports, a, b, plain);
    let (a, b) = (&old.reconnect_error_reports, &new.reconnect_error_reports);
    changes.note(Reloadable::ReconnectErrorReports, a, b, plain);
    let (a, b) = (&old.profile_block_rate, &new.profile_block_rate);
    changes.note(Reloadable::ProfBlockRate, a, b, plain);
    let (a, b) = (&old.no_fast_producer_stall, &new.no_fast_producer_stall);
    changes.note(Reloadable::NoFastProducerStall, a, b, stalls);
}

/// What becomes of fast producers.
fn stalls(none: &bool) -> String {
    format!(
        "fast producers will {}be stalled",
        if *none { "not " } else { "" }
    )
}

/// A size as people read it; nothing when it is not set.
/// spec: nats-server v2.15.1 server/jetstream.go `friendlyBytes`
fn size(bytes: &Option<u64>) -> String {
    let mut value = bytes.unwrap_or_default() as f64;
    if value < 1024.0 {
        return format!("{value} B");
    }
    let mut units = ["KB", "MB", "GB", "TB", "PB", "EB"].into_iter();
    let mut unit = "B";
    while value >= 1024.0
        && let Some(next) = units.next()
    {
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.2} {unit}")
}

/// Sizes of a running JetStream may only grow, and only from one written size to another. One
/// that begins has what is written.
fn sizes(old: &JetStream, new: &JetStream, changes: &mut Changes) -> Result<(), ReloadRefused> {
    changes.note_only(Reloadable::JetStream, &old.enabled, &new.enabled);
    changes.note_only(Reloadable::JetStreamLimits, &old.limits, &new.limits);
    if !old.enabled {
        return Ok(());
    }
    let pairs = [
        (Reloadable::MaxMemory, old.max_memory, new.max_memory),
        (Reloadable::MaxFile, old.max_file, new.max_file),
    ];
    for (option, old_size, new_size) in pairs {
        match (old_size, new_size) {
            (Some(a), Some(b)) if b < a => {
                let what = "decreasing jetstream max memory and store";
                return Err(ReloadRefused::because(what));
            }
            (None, Some(_)) => {
                let what = "jetstream dynamic max memory and store";
                return Err(ReloadRefused::because(what));
            }
            (Some(_), None) if new.enabled => {
                return Err(ReloadRefused::because("jetstream max memory and max store"));
            }
            (Some(_), None) => {}
            (a, b) => changes.note(option, &a, &b, size),
        }
    }
    Ok(())
}
