use std::time::Duration;

use frond_clock::{Timestamp, Trust};
use frond_forward::{State as Forwarding, Status as Forwarded};
use frond_jetstream::StreamFault;
use serde::Serialize;

use crate::Process;
use crate::limits::FINDINGS_SHOWN_MAX;
use crate::rows::Remote;
use crate::status::stored::Stored;
use crate::status::told::{Quality, Sensor, Step, Trouble};
use crate::text::When;

/// How this box is, in one word: what its lamp shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// All that is configured works.
    Online,
    /// It works, and something wants care soon.
    Degraded,
    /// A link to a hub is down: everything goes on here.
    LocalOnly,
    /// A new configuration is on trial.
    Updating,
    /// Something that was asked for is not done.
    Fault,
}

/// Something that is not as it should be. The page has the words for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// Its name.
    pub(crate) code: &'static str,
    /// What the box is because of it.
    pub(crate) condition: Condition,
    /// What it is about: a stream, a sensor, an address.
    pub(crate) what: String,
    /// In the words of who noticed.
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<When>,
}

/// A certificate is told about so long before it ends.
const CERTIFICATE_ENDS_SOON: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Space is scarce when so many hundredths of it are in use.
const SCARCE_PERCENT: u64 = 90;

/// What a hub says, or what is said of it, that refuses this box rather than being out of reach.
const REFUSALS: [&str; 4] = [
    "Authorization",
    "Authentication",
    "certificate",
    "Permissions",
];

/// What the system says when the hub's machine is there and nothing listens at its port.
const UNANSWERED: &str = "connection refused";

/// What findings are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) now: Timestamp,
    pub(super) lines: &'a [Remote],
    /// `None` without storage.
    pub(super) stored: Option<&'a Stored<'a>>,
    pub(super) wants_storage: bool,
    pub(super) is_leaving: bool,
    /// Listeners that take nobody.
    pub(super) absent: &'a [&'static str],
    pub(super) process: &'a Process<'a>,
}

/// What is to be told, the worst first, and no more than fits a page.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let process = facts.process;
    let mut found = Vec::new();
    if facts.is_leaving {
        found.push(finding("leaving", Condition::Fault, "", ""));
    } else {
        let absent = facts.absent.iter();
        found.extend(absent.map(|it| finding("listener_absent", Condition::Fault, it, "")));
    }
    found.extend(facts.lines.iter().filter_map(line));
    match facts.stored {
        None if facts.wants_storage => {
            found.push(finding("storage_off", Condition::Fault, "", ""));
        }
        None => {}
        Some(stored) => storage(stored, &mut found),
    }
    found.extend(certificates(facts.now, process));
    if process.trust == Trust::Untrusted {
        found.push(finding("clock_untrusted", Condition::Degraded, "", ""));
    }
    found.extend(process.troubles.iter().map(trouble));
    found.extend(process.sensors.iter().filter_map(sensor));
    found.extend(process.forwards.iter().filter_map(forward));
    found.extend(configuration(process));
    found.sort_by_key(|it| std::cmp::Reverse(it.condition));
    found.truncate(FINDINGS_SHOWN_MAX);
    found
}

fn finding(code: &'static str, condition: Condition, what: &str, detail: &str) -> Finding {
    Finding {
        code,
        condition,
        what: what.to_owned(),
        detail: detail.to_owned(),
        since: None,
    }
}

/// One that is disabled is as it should be.
fn line(remote: &Remote) -> Option<Finding> {
    if matches!(remote.state, "up" | "disabled") {
        return None;
    }
    let url = remote.urls.first().map_or("", String::as_str);
    let is_refused = REFUSALS.iter().any(|it| remote.last_error.contains(it));
    let code = match remote.last_error.contains(UNANSWERED) {
        _ if is_refused => "line_refused",
        true => "line_unanswered",
        false => "line_down",
    };
    Some(Finding {
        since: remote.since.map(When),
        ..finding(code, Condition::LocalOnly, url, &remote.last_error)
    })
}

fn sensor(sensor: &Sensor) -> Option<Finding> {
    let code = match sensor.quality {
        Quality::Good => return None,
        Quality::Uncertain => "sensor_uncertain",
        Quality::Bad => "sensor_silent",
    };
    Some(finding(
        code,
        Condition::Degraded,
        &sensor.name,
        &sensor.reason,
    ))
}

fn trouble(it: &Trouble) -> Finding {
    let condition = match it.is_fault {
        true => Condition::Fault,
        false => Condition::Degraded,
    };
    finding(it.code, condition, &it.name, &it.why)
}

/// That the hub is away is told of the line that leads there.
fn forward(it: &Forwarded) -> Option<Finding> {
    let code = match it.state {
        Forwarding::BudgetSpent => "forward_budget_spent",
        Forwarding::HubFull => "forward_hub_full",
        Forwarding::Trouble => "forward_trouble",
        Forwarding::Starting
        | Forwarding::HubAway
        | Forwarding::Forwarding
        | Forwarding::Settled => return None,
    };
    let condition = Condition::Degraded;
    Some(finding(code, condition, &it.name, &it.trouble))
}

fn storage(stored: &Stored<'_>, found: &mut Vec<Finding>) {
    let percent = |used: u64, max: u64| used.saturating_mul(100).checked_div(max).unwrap_or(0);
    for (_, stream) in &stored.streams {
        if let Some(StreamFault::Failed(why)) = stream.fault {
            found.push(finding("stream_fault", Condition::Fault, stream.name, why));
        }
        if stream.lost > 0 {
            let lost = stream.lost.to_string();
            found.push(finding(
                "stream_lost",
                Condition::Degraded,
                stream.name,
                &lost,
            ));
        }
    }
    if let [first, ..] = stored.reports {
        found.push(finding("disk_damage", Condition::Degraded, "", first));
    }
    let used = percent(stored.used_bytes, stored.max_bytes);
    if stored.is_full() || used >= 100 {
        found.push(finding("storage_full", Condition::Fault, "", ""));
    } else if used >= SCARCE_PERCENT {
        let used = used.to_string();
        found.push(finding("storage_scarce", Condition::Degraded, "", &used));
    }
    let (index, most) = stored.index_bytes;
    let used = percent(index, most.unwrap_or(0));
    if used >= SCARCE_PERCENT {
        let condition = match used >= 100 {
            true => Condition::Fault,
            false => Condition::Degraded,
        };
        found.push(finding("index_scarce", condition, "", &used.to_string()));
    }
}

fn certificates<'a>(
    now: Timestamp,
    process: &'a Process<'_>,
) -> impl Iterator<Item = Finding> + use<'a> {
    let ends = process.certs.by_listener().into_iter();
    ends.filter_map(move |(listener, end)| {
        let end = end?;
        let (code, condition) = if end <= now {
            ("certificate_ended", Condition::Fault)
        } else if end.since(now) <= CERTIFICATE_ENDS_SOON {
            ("certificate_ends", Condition::Degraded)
        } else {
            return None;
        };
        Some(finding(code, condition, listener, &end.to_string()))
    })
}

fn configuration(process: &Process<'_>) -> Option<Finding> {
    let told = process.configuration?;
    let (code, condition) = match told.step {
        Step::Settled | Step::Staging => return None,
        Step::Trying => ("configuration_trying", Condition::Updating),
        Step::RolledBack => ("configuration_rolled_back", Condition::Degraded),
        Step::Rescue => ("configuration_rescue", Condition::Fault),
    };
    let left = told.left_s.map(|left| left.to_string()).unwrap_or_default();
    Some(finding(code, condition, &told.pending.to_string(), &left))
}
