use crate::limits::RTT_THRESHOLDS_MAX;
use crate::report::Report;
use crate::unsupported::Block;
use crate::value::{Entry, Kind, Map, Value};
use std::time::Duration;

/// How much the connections between servers are compressed (`compression`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compression {
    /// As a server that doesn't know it.
    NotSupported,
    /// Never.
    Off,
    /// If the other side wants it.
    Accept,
    /// As much as the round trip time asks for: the times up to which it is not compressed, then
    /// fast, then better; the best beyond. Zero leaves a level out, a missing one is never reached.
    Auto(Vec<Duration>),
    /// Little work.
    Fast,
    /// More work.
    Better,
    /// As small as can be.
    Best,
}

impl Compression {
    /// The times of `s2_auto` when none are written.
    pub const RTT_THRESHOLDS: [Duration; 3] = [
        Duration::from_millis(10),
        Duration::from_millis(50),
        Duration::from_millis(100),
    ];

    /// What leafnodes have when nothing is written, and what a mere yes means for them.
    #[must_use]
    pub fn default_for_leafnodes() -> Self {
        Self::Auto(Self::RTT_THRESHOLDS.to_vec())
    }

    /// As INFO and monitoring name it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotSupported => "not supported",
            Self::Off => "off",
            Self::Accept => "accept",
            Self::Auto(_) => "s2_auto",
            Self::Fast => "s2_fast",
            Self::Better => "s2_better",
            Self::Best => "s2_best",
        }
    }

    /// The option; `on` is what a mere yes means.
    /// spec: nats-server v2.15.1 server/opts.go `parseCompression`
    pub(crate) fn read(entry: &Entry, on: &Self, report: &mut Report) -> Option<Self> {
        let value = &entry.value;
        match &value.kind {
            Kind::Bool(true) => Some(on.clone()),
            Kind::Bool(false) => Some(Self::Off),
            Kind::String(mode) => Self::named(mode, None, on, value, report),
            Kind::Map(map) => Self::read_block(map, on, value, report),
            Kind::Integer(_) | Kind::Float(_) | Kind::Date(_) | Kind::Array(_) => {
                let text = format!(
                    "field {:?} should be a boolean or a structure, got {}",
                    entry.key,
                    value.kind.go_name()
                );
                report.error(&value.at, text, "write compression: s2_auto");
                None
            }
        }
    }

    fn read_block(map: &Map, on: &Self, at: &Value, report: &mut Report) -> Option<Self> {
        let (mut mode, mut thresholds) = (None, None);
        for entry in map {
            match entry.key.to_lowercase().as_str() {
                "mode" => mode = Some(report.string(&entry.value)?),
                "rtt_thresholds" | "thresholds" | "rtts" | "rtt" => {
                    thresholds = Some(read_thresholds(&entry.value, report)?);
                }
                _ => report.other(Block::Compression, entry),
            }
        }
        // Without a mode the block says nothing.
        Self::named(&mode?, thresholds.as_deref(), on, at, report)
    }

    /// spec: nats-server v2.15.1 server/server.go `validateAndNormalizeCompressionOption`
    fn named(
        mode: &str,
        thresholds: Option<&[i64]>,
        on: &Self,
        at: &Value,
        report: &mut Report,
    ) -> Option<Self> {
        let lower = mode.to_lowercase();
        let chosen = match lower.as_str() {
            "on" | "enabled" | "true" => on.name(),
            other => other,
        };
        match chosen {
            "" => None,
            "not supported" | "not_supported" => Some(Self::NotSupported),
            "disabled" | "off" | "false" => Some(Self::Off),
            "accept" => Some(Self::Accept),
            "fast" | "s2_fast" => Some(Self::Fast),
            "better" | "s2_better" => Some(Self::Better),
            "best" | "s2_best" => Some(Self::Best),
            "auto" | "s2_auto" => match thresholds {
                None | Some([]) => Some(Self::Auto(Self::RTT_THRESHOLDS.to_vec())),
                Some(written) => match in_order(written, mode) {
                    Ok(thresholds) => Some(Self::Auto(thresholds)),
                    Err(why) => {
                        report.error(&at.at, why, "write [\"10ms\", \"50ms\", \"100ms\"]");
                        None
                    }
                },
            },
            _ => {
                let text = format!("unsupported compression mode {mode:?}");
                let remedy = "off, accept, s2_auto, s2_fast, s2_better or s2_best";
                report.error(&at.at, text, remedy);
                None
            }
        }
    }
}

/// Nanoseconds; `None` when one is no duration.
fn read_thresholds(value: &Value, report: &mut Report) -> Option<Vec<i64>> {
    let texts = report.list_of_strings(value)?;
    let mut thresholds = Vec::new();
    for text in texts {
        match crate::duration::parse(&text) {
            Ok(nanos) => thresholds.push(nanos),
            Err(why) => {
                report.error(&value.at, why, "write \"10ms\" or \"1s\"");
                return None;
            }
        }
    }
    Some(thresholds)
}

/// Ascending, where zeros stand for levels that are left out; those at the end say nothing.
fn in_order(written: &[i64], mode: &str) -> Result<Vec<Duration>, String> {
    let shown = || {
        let times: Vec<String> = written.iter().map(|nanos| go(*nanos)).collect();
        format!("[{}]", times.join(" "))
    };
    let mut highest = Duration::ZERO;
    let mut thresholds = Vec::new();
    for &nanos in written {
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        if !time.is_zero() && time < highest {
            let shown = shown();
            return Err(format!(
                "RTT threshold values {shown} should be in ascending order"
            ));
        }
        highest = highest.max(time);
        thresholds.push(time);
    }
    while thresholds.last().is_some_and(Duration::is_zero) {
        thresholds.pop();
    }
    if thresholds.len() > RTT_THRESHOLDS_MAX {
        return Err(format!(
            "compression mode {mode:?} should have no more than 4 RTT thresholds: {}",
            shown()
        ));
    }
    if thresholds.is_empty() {
        return Err(format!(
            "compression mode {mode:?} requires at least one RTT threshold"
        ));
    }
    Ok(thresholds)
}

/// Nanoseconds as Go shows them, negative ones too.
fn go(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let time = Duration::from_nanos(nanos.unsigned_abs());
    format!("{sign}{}", crate::duration::Go(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nothing, load_text};

    fn read(text: &str) -> Result<Compression, String> {
        let text = format!("leafnodes {{ compression: {text} }}");
        let loaded = load_text(&text, "x.conf", &Nothing);
        loaded
            .map(|loaded| loaded.config.leafnodes.compression)
            .map_err(|errors| errors.to_string())
    }

    fn auto(millis: &[u64]) -> Compression {
        Compression::Auto(millis.iter().map(|ms| Duration::from_millis(*ms)).collect())
    }

    #[test]
    fn modes_have_many_names() {
        for (text, mode) in [
            ("true", Compression::default_for_leafnodes()),
            ("enabled", Compression::default_for_leafnodes()),
            ("false", Compression::Off),
            ("Disabled", Compression::Off),
            ("\"\"", Compression::default_for_leafnodes()),
            ("not_supported", Compression::NotSupported),
            ("ACCEPT", Compression::Accept),
            ("fast", Compression::Fast),
            ("{ mode: s2_better }", Compression::Better),
            ("s2_best", Compression::Best),
            (
                "{ mode: auto, rtts: [\"5ms\", \"0s\", \"20ms\", \"0s\"] }",
                auto(&[5, 0, 20]),
            ),
            ("{ mode: \"on\", rtt: [\"-1s\", \"20ms\"] }", auto(&[0, 20])),
        ] {
            assert_eq!(read(text).as_ref(), Ok(&mode), "{text}");
        }
    }

    #[test]
    fn bad_modes_are_refused_in_nats_servers_words() {
        for (text, words) in [
            ("zip", "unsupported compression mode \"zip\""),
            (
                "5",
                "field \"compression\" should be a boolean or a structure, got int64",
            ),
            (
                "{ mode: auto, rtts: [\"20ms\", \"5ms\"] }",
                "RTT threshold values [20ms 5ms] should be in ascending order",
            ),
            (
                "{ mode: auto, rtts: [\"0s\"] }",
                "compression mode \"auto\" requires at least one RTT threshold",
            ),
            (
                "{ mode: auto, rtts: [\"1s\", \"2s\", \"3s\", \"4s\", \"5s\"] }",
                "compression mode \"auto\" should have no more than 4 RTT thresholds: \
                 [1s 2s 3s 4s 5s]",
            ),
            ("{ mode: auto, rtts: [x] }", "time: invalid duration \"x\""),
        ] {
            let errors = read(text).unwrap_err();
            assert!(errors.contains(words), "{text}: {errors}");
        }
    }
}
