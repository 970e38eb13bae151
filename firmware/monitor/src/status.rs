//! `/status`: a page for whoever looks after this box, and `/status.json`, what it shows. The
//! page holds all words, the document only names and numbers.

mod findings;
mod seen;
mod stored;
mod told;

#[cfg(test)]
mod tests;

use std::time::Duration;

use frond_account::Transport;
use frond_clock::Trust;
use frond_forward::Status as Forwarded;
use frond_node::View;
use serde::Serialize;

use crate::Process;
use crate::gather;
use crate::limits::DEVICES_SHOWN_MAX;
use crate::page::{HTML, Page};
use crate::rows::{Connection, Remote};
use crate::text::When;
use findings::{Facts, Finding, findings};
use stored::{Storage, Stored};

pub use findings::Condition;
pub use seen::Seen;
pub use told::{Configuration, Outcome, Quality, Sensor, Step, Trouble, Version};

/// The page, but for what all pages have in common.
const PAGE: &str = include_str!("status/page.html");

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
    forwards: Vec<&'a Forwarded>,
    configuration: Option<&'a Configuration>,
    configuration_read: When,
    /// Whether there is a file that it comes from.
    has_file: bool,
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

/// What the lamp of this box is to show.
#[must_use]
pub fn condition(view: &View<'_>, process: &Process<'_>) -> Condition {
    let stored = Stored::gather(view, &Seen::All);
    worst(&found(view, process, &gather::hubs(view), stored.as_ref()))
}

/// The page, which is the same for everybody.
pub(crate) fn page() -> Page {
    Page {
        content_type: HTML,
        ..Page::json(crate::whole_page(PAGE))
    }
}

/// What the page shows to whoever looks.
pub(crate) fn document<'a>(view: &View<'_>, process: &'a Process<'_>, seen: &Seen) -> Status<'a> {
    let lines = gather::hubs(view).into_iter();
    let lines: Vec<_> = lines.filter(|it| seen.shows(&it.account)).collect();
    let stored = Stored::gather(view, seen);
    let findings = found(view, process, &lines, stored.as_ref());
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
        devices: devices(gather::clients(view), seen),
        messages: Messages {
            in_msgs: all.in_msgs,
            in_bytes: all.in_bytes,
            out_msgs: all.out_msgs,
            out_bytes: all.out_bytes,
        },
        storage: stored.map(Stored::shown),
        sensors: process.sensors,
        forwards: forwards(process, seen),
        configuration: process.configuration,
        configuration_read: When(process.config_loaded),
        has_file: !process.config_digest.is_empty(),
    }
}

fn forwards<'a>(process: &'a Process<'_>, seen: &Seen) -> Vec<&'a Forwarded> {
    let all = process.forwards.iter();
    all.filter(|it| seen.shows(&it.account)).collect()
}

fn found(
    view: &View<'_>,
    process: &Process<'_>,
    lines: &[Remote],
    stored: Option<&Stored<'_>>,
) -> Vec<Finding> {
    findings(&Facts {
        now: view.now.wall,
        lines,
        stored,
        wants_storage: view.config.jetstream.enabled,
        is_leaving: view.is_lame_duck,
        absent: &gather::absent_listeners(view),
        process,
    })
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

/// Those that have yet to say who they are, are none, nor are parts of this program.
fn devices(mut clients: Vec<Connection>, seen: &Seen) -> Devices {
    let is_own = |it: &Connection| it.transport == Transport::InProcess;
    clients.retain(|it| !it.account.is_empty() && !is_own(it) && seen.shows(&it.account));
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
