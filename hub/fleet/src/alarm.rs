use serde::Serialize;

use crate::Status;
use crate::limits::{CERTIFICATE_SOON_SECONDS, DISK_SCARCE_PERCENT, HOT_CELSIUS, WORN_PERCENT};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Somebody should look soon.
    Note,
    /// Something does not work.
    Bad,
}

/// Something that is not as it should be with a box. Who shows it has the words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alarm {
    /// Its name.
    pub code: &'static str,
    /// How bad it is.
    pub level: Level,
    /// In the box's words, or a number.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Since when, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_s: Option<i64>,
}

impl Alarm {
    fn new(code: &'static str, level: Level, detail: impl ToString) -> Self {
        Self {
            code,
            level,
            detail: detail.to_string(),
            since_s: None,
        }
    }

    pub(crate) fn silent(seen_s: i64) -> Self {
        Self {
            since_s: Some(seen_s),
            ..Self::new("silent", Level::Bad, "")
        }
    }

    pub(crate) fn cloned() -> Self {
        Self::new("cloned", Level::Bad, "")
    }

    pub(crate) fn stranger() -> Self {
        Self::new("stranger", Level::Bad, "")
    }

    /// What a box's own words tell.
    pub(crate) fn of(status: &Status, now_s: i64) -> Vec<Self> {
        let mut alarms = Vec::new();
        configuration(status, &mut alarms);
        if let Some(end) = status.certificate_ends_s {
            let (code, level) = match end - now_s {
                ..=0 => ("certificate_ended", Level::Bad),
                left if left <= CERTIFICATE_SOON_SECONDS => ("certificate_ends", Level::Note),
                _ => ("", Level::Note),
            };
            if !code.is_empty() {
                let mut alarm = Self::new(code, level, "");
                alarm.since_s = Some(end);
                alarms.push(alarm);
            }
        }
        let full = status.disk.map_or(0, super::status::Disk::percent);
        if full >= 100 {
            alarms.push(Self::new("disk_full", Level::Bad, full));
        } else if full >= DISK_SCARCE_PERCENT {
            alarms.push(Self::new("disk_scarce", Level::Note, full));
        }
        if let Some(hot) = status.temperature_c.filter(|it| *it >= HOT_CELSIUS) {
            alarms.push(Self::new("hot", Level::Note, hot.round()));
        }
        if let Some(worn) = status.wear_percent.filter(|it| *it >= WORN_PERCENT) {
            alarms.push(Self::new("worn", Level::Note, worn));
        }
        if status.clock_trusted == Some(false) {
            alarms.push(Self::new("clock_untrusted", Level::Note, ""));
        }
        alarms
    }
}

/// What was taken back counts until something newer is in force.
fn configuration(status: &Status, alarms: &mut Vec<Alarm>) {
    let active = status.active.version;
    let newer = |it: &&crate::status::Failure| it.version > active;
    if status.is_rescue {
        alarms.push(Alarm::new("rescue", Level::Bad, ""));
    }
    if let Some(failure) = status.last_failure.as_ref().filter(newer) {
        let detail = format!("{}: {}", failure.version, failure.why);
        alarms.push(Alarm::new("failed", Level::Note, detail));
    } else if let Some(refused) = &status.refused
        && (newer(&refused) || refused.version == 0)
    {
        let detail = match refused.version {
            0 => refused.why.clone(),
            version => format!("{version}: {}", refused.why),
        };
        alarms.push(Alarm::new("refused", Level::Note, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_past_its_bound_is_told_and_none_before() {
        let codes = |said: &str| {
            let status = serde_json::from_str(said).unwrap();
            let alarms = Alarm::of(&status, 1_000_000);
            alarms.iter().map(|it| it.code).collect::<Vec<_>>()
        };
        for (said, want) in [
            ("{}", ""),
            (r#"{"certificate_ends_s":999999}"#, "certificate_ended"),
            (r#"{"certificate_ends_s":1000001}"#, "certificate_ends"),
            (r#"{"certificate_ends_s":9000000}"#, ""),
            (r#"{"disk":{"used_bytes":89,"all_bytes":100}}"#, ""),
            (
                r#"{"disk":{"used_bytes":90,"all_bytes":100}}"#,
                "disk_scarce",
            ),
            (
                r#"{"disk":{"used_bytes":100,"all_bytes":100}}"#,
                "disk_full",
            ),
            (r#"{"disk":{"used_bytes":100,"all_bytes":0}}"#, ""),
            (r#"{"temperature_c":79.9,"wear_percent":79}"#, ""),
            (r#"{"temperature_c":80.0}"#, "hot"),
            (r#"{"wear_percent":80}"#, "worn"),
            (r#"{"clock_trusted":false}"#, "clock_untrusted"),
            (r#"{"is_rescue":true}"#, "rescue"),
            (
                r#"{"last_failure":{"version":2,"why":"x"},"active":{"version":1}}"#,
                "failed",
            ),
            (
                r#"{"last_failure":{"version":2,"why":"x"},"active":{"version":3}}"#,
                "",
            ),
            (
                r#"{"refused":{"version":2,"why":"x"},"active":{"version":1}}"#,
                "refused",
            ),
            (
                r#"{"refused":{"digest":"d","why":"x"},"active":{"version":3}}"#,
                "refused",
            ),
        ] {
            let wanted: Vec<_> = [want].into_iter().filter(|it| !it.is_empty()).collect();
            assert_eq!(codes(said), wanted, "{said}");
        }
    }
}
