use std::time::Duration;

use frond_clock::{Timestamp, Trust};
use serde::Serialize;

use crate::Process;
use crate::jetstream::JetStream;
use crate::rows::Remote;
use crate::status::told::{Quality, Step};
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
const SPACE_SCARCE_PERCENT: u64 = 90;

/// All that is to be told, the worst first.
pub(super) fn findings(
    now: Timestamp,
    lines: &[Remote],
    jetstream: Option<&JetStream>,
    wants_jetstream: bool,
    process: &Process<'_>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(lines.iter().filter_map(line));
    match jetstream {
        None if wants_jetstream => found.push(finding("storage_off", Condition::Fault, "", "")),
        None => {}
        Some(jetstream) => storage(jetstream, &mut found),
    }
    found.extend(certificates(now, process));
    if process.trust == Trust::Untrusted {
        found.push(finding("clock_untrusted", Condition::Degraded, "", ""));
    }
    let ill = process
        .sensors
        .iter()
        .filter(|it| it.quality != Quality::Good);
    found.extend(ill.map(|it| finding("sensor", Condition::Degraded, &it.name, &it.reason)));
    found.extend(configuration(process));
    found.sort_by_key(|it| std::cmp::Reverse(it.condition));
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
    Some(Finding {
        since: remote.since.map(When),
        ..finding("line_down", Condition::LocalOnly, url, &remote.last_error)
    })
}

/// What a stream says that takes nothing because the disk is full.
const NO_SPACE: &str = "no space left on the disk";

fn storage(jetstream: &JetStream, found: &mut Vec<Finding>) {
    let mut is_full = false;
    for stream in jetstream.streams() {
        match stream.fault.as_deref() {
            None => {}
            Some(NO_SPACE) => is_full = true,
            Some(why) => found.push(finding("stream_fault", Condition::Fault, &stream.name, why)),
        }
        if stream.lost > 0 {
            let lost = stream.lost.to_string();
            found.push(finding(
                "stream_lost",
                Condition::Degraded,
                &stream.name,
                &lost,
            ));
        }
    }
    let reports = jetstream.reports.iter();
    found.extend(reports.map(|it| finding("disk_damage", Condition::Degraded, "", it)));
    let (used, max) = (jetstream.stats().storage, jetstream.config.max_storage);
    let percent = used.saturating_mul(100).checked_div(max).unwrap_or(0);
    if is_full || percent >= 100 {
        found.push(finding("storage_full", Condition::Fault, "", ""));
    } else if percent >= SPACE_SCARCE_PERCENT {
        let percent = percent.to_string();
        found.push(finding("storage_scarce", Condition::Degraded, "", &percent));
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
