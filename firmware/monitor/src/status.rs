//! `/status`: a page for whoever looks after this box, and `/status.json`, what it shows. The
//! page holds all words, the document only names and numbers.

mod findings;
mod told;

#[cfg(test)]
mod tests;

use std::time::Duration;

use frond_clock::Trust;
use frond_node::View;
use serde::Serialize;

use crate::Process;
use crate::gather::{self, Depth};
use crate::jetstream::{JetStream, JsStream};
use crate::limits::{DEVICES_SHOWN_MAX, STREAMS_SHOWN_MAX};
use crate::rows::{Connection, Remote};
use crate::text::When;
use findings::{Finding, findings};

pub use findings::Condition;
pub use told::{Configuration, Quality, Sensor, Step, Version};

/// The page; it has everything it needs in it.
pub(crate) const PAGE: &str = include_str!("status/page.html");

#[derive(Debug, Serialize)]
pub(crate) struct Status<'a> {
    condition: Condition,
    findings: Vec<Finding>,
    now: When,
    server_name: String,
    version: &'static str,
    uptime_s: u64,
    time_is_trusted: bool,
    memory_bytes: u64,
    cpu_percent: f64,
    lines: Vec<LineNow>,
    devices: Devices,
    messages: Messages,
    storage: Option<Storage>,
    sensors: &'a [Sensor],
    configuration: Option<&'a Configuration>,
    configuration_read: When,
    is_leaving: bool,
}

/// A link to a hub, up or not.
#[derive(Debug, Serialize)]
struct LineNow {
    hub: String,
    url: String,
    account: String,
    state: &'static str,
    since: Option<When>,
    attempts: u64,
    last_error: String,
    rtt_ms: Option<f64>,
    pending_bytes: usize,
    last_received: Option<When>,
}

#[derive(Debug, Serialize)]
struct Devices {
    count: usize,
    /// The latest to come, and no more than fit a page.
    list: Vec<Device>,
}

#[derive(Debug, Serialize)]
struct Device {
    name: String,
    user: String,
    ip: String,
    since: When,
    sent: u64,
    received: u64,
}

/// Since the start.
#[derive(Debug, Serialize)]
struct Messages {
    in_msgs: u64,
    in_bytes: u64,
    out_msgs: u64,
    out_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Storage {
    used_bytes: u64,
    max_bytes: u64,
    messages: u64,
    /// Streams there are; the largest of them are listed.
    count: usize,
    streams: Vec<StreamNow>,
}

#[derive(Debug, Serialize)]
struct StreamNow {
    name: String,
    account: String,
    messages: u64,
    bytes: u64,
    oldest: Option<When>,
    newest: Option<When>,
    lost: usize,
    fault: Option<String>,
}

/// What the lamp of this box is to show.
#[must_use]
pub fn condition(view: &View<'_>, process: &Process<'_>) -> Condition {
    let jetstream = gather::jetstream(view, Depth::Streams);
    worst(&found(
        view,
        process,
        &gather::hubs(view),
        jetstream.as_ref(),
    ))
}

/// All of it.
pub(crate) fn document<'a>(view: &View<'_>, process: &'a Process<'_>) -> Status<'a> {
    let lines = gather::hubs(view);
    let jetstream = gather::jetstream(view, Depth::Streams);
    let findings = found(view, process, &lines, jetstream.as_ref());
    let (server, counts) = (gather::server(view), gather::counts(view));
    let all = counts.totals.traffic;
    Status {
        condition: worst(&findings),
        findings,
        now: When(server.now),
        server_name: server.name,
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: counts.uptime.as_secs(),
        time_is_trusted: process.trust == Trust::Trusted,
        memory_bytes: process.resident_bytes,
        cpu_percent: process.cpu_percent,
        lines: lines.into_iter().map(line).collect(),
        devices: devices(gather::clients(view)),
        messages: Messages {
            in_msgs: all.in_msgs,
            in_bytes: all.in_bytes,
            out_msgs: all.out_msgs,
            out_bytes: all.out_bytes,
        },
        storage: jetstream.map(storage),
        sensors: process.sensors,
        configuration: process.configuration,
        configuration_read: When(process.config_loaded),
        is_leaving: view.is_lame_duck,
    }
}

fn found(
    view: &View<'_>,
    process: &Process<'_>,
    lines: &[Remote],
    jetstream: Option<&JetStream>,
) -> Vec<Finding> {
    let wanted = view.config.jetstream.enabled;
    findings(view.now.wall, lines, jetstream, wanted, process)
}

fn worst(findings: &[Finding]) -> Condition {
    let all = findings.iter().map(|it| it.condition);
    all.max().unwrap_or(Condition::Online)
}

fn line(remote: Remote) -> LineNow {
    let url = remote.urls.into_iter().next().unwrap_or_default();
    let measured = Some(remote.rtt).filter(|rtt| *rtt > Duration::ZERO);
    LineNow {
        hub: remote.name,
        url,
        account: remote.account,
        state: remote.state,
        since: remote.since.map(When),
        attempts: remote.attempts,
        last_error: remote.last_error,
        rtt_ms: measured.map(|rtt| rtt.as_secs_f64() * 1e3),
        pending_bytes: remote.pending_bytes,
        last_received: remote.last_received.map(When),
    }
}

fn devices(mut clients: Vec<Connection>) -> Devices {
    let count = clients.len();
    clients.sort_by_key(|it| std::cmp::Reverse(it.cid));
    clients.truncate(DEVICES_SHOWN_MAX);
    let list = clients.into_iter().map(|it| Device {
        name: it.name,
        user: it.user,
        ip: it.ip,
        since: When(it.start),
        sent: it.traffic.in_msgs,
        received: it.traffic.out_msgs,
    });
    Devices {
        count,
        list: list.collect(),
    }
}

fn storage(jetstream: JetStream) -> Storage {
    let (used_bytes, max_bytes) = (jetstream.stats().storage, jetstream.config.max_storage);
    let messages = jetstream.streams().map(|it| it.messages).sum();
    let accounts = jetstream.accounts.into_iter();
    let rows = accounts.flat_map(|account| {
        let streams = account.streams.into_iter();
        streams.map(move |it| stream(account.name.clone(), it))
    });
    let mut streams: Vec<_> = rows.collect();
    let count = streams.len();
    streams.sort_by_key(|it| (it.fault.is_none(), std::cmp::Reverse(it.bytes)));
    streams.truncate(STREAMS_SHOWN_MAX);
    Storage {
        used_bytes,
        max_bytes,
        messages,
        count,
        streams,
    }
}

fn stream(account: String, stream: JsStream) -> StreamNow {
    StreamNow {
        name: stream.name,
        account,
        messages: stream.messages,
        bytes: stream.bytes,
        oldest: stream.first_time.map(When),
        newest: stream.last_time.map(When),
        lost: stream.lost,
        fault: stream.fault,
    }
}
