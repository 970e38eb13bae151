use crate::report::Report;
use crate::value::{Kind, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Switches for behaviour to come (`feature_flags`), as they were written.
///
/// spec: nats-server v2.15.1 server/feature_flags.go
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureFlags(pub(crate) BTreeMap<String, bool>);

/// The switches that nats-server 2.15.1 knows, and how they stand unasked. They concern clusters
/// and what servers tell each other; here they are shown and change nothing.
const KNOWN: [(&str, bool); 4] = [
    ("js_ack_fc_v2", false),
    ("js_api_reply_v2", false),
    ("js_raft_delete_range", true),
    ("js_snapshot_sources", false),
];

impl FeatureFlags {
    /// Every switch that is known, as it stands.
    #[must_use]
    pub fn all(&self) -> BTreeMap<&'static str, bool> {
        let stands = |(name, unasked)| (name, self.0.get(name).copied().unwrap_or(unasked));
        KNOWN.into_iter().map(stands).collect()
    }

    /// What a start says about those that were written.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let (mut configured, mut strange) = (String::new(), String::new());
        for (name, on) in &self.0 {
            let known = KNOWN.into_iter().find(|(known, _)| known == name);
            let list = if known.is_some() {
                &mut configured
            } else {
                &mut strange
            };
            if !list.is_empty() {
                list.push_str(", ");
            }
            list.push_str(name);
            let how = match (known, on) {
                (None, _) => continue,
                (Some((_, true)), true) => "enabled",
                (Some((_, true)), false) => "opt-out",
                (Some((_, false)), true) => "opt-in",
                (Some((_, false)), false) => "disabled",
            };
            let _ = write!(list, " ({how})");
        }
        if configured.is_empty() {
            configured.push_str("none");
        }
        let mut lines = vec![
            "  Feature flags:".to_owned(),
            format!("    Configured:    {configured}"),
        ];
        if !strange.is_empty() {
            lines.push(format!("    Unsupported:   {strange}"));
        }
        lines
    }

    pub(crate) fn read(&mut self, value: &Value, report: &mut Report) {
        let Kind::Map(map) = &value.kind else {
            let got = value.kind.go_name();
            let text = format!("error parsing feature flags: unsupported type {got}");
            report.error(&value.at, text, "write { name: true }");
            return;
        };
        for entry in map {
            if let Kind::Bool(on) = entry.value.kind {
                self.0.insert(entry.key.clone(), on);
            } else {
                let (key, got) = (&entry.key, entry.value.kind.go_name());
                let text = format!("error parsing feature flag {key:?}: expected bool, got {got}");
                report.error(&entry.value.at, text, "write true or false");
            }
        }
    }

    pub(crate) fn shown(&self) -> String {
        let flags: Vec<_> = self.0.iter().map(|(k, v)| format!("{k}:{v}")).collect();
        format!("map[{}]", flags.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureFlags;

    fn flags(all: &[(&str, bool)]) -> FeatureFlags {
        FeatureFlags(all.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect())
    }

    #[test]
    fn what_was_written_goes_before_what_stands_and_strangers_are_named() {
        assert!(FeatureFlags::default().lines().is_empty());
        let asked = [
            ("js_ack_fc_v2", true),
            ("zzz", true),
            ("js_raft_delete_range", false),
            ("js_snapshot_sources", false),
            ("abc", false),
        ];
        let asked = flags(&asked);
        let all = asked.all();
        assert_eq!(
            (all["js_ack_fc_v2"], all["js_raft_delete_range"], all.len()),
            (true, false, 4)
        );
        let configured = "    Configured:    js_ack_fc_v2 (opt-in), js_raft_delete_range \
                          (opt-out), js_snapshot_sources (disabled)";
        let strange = "    Unsupported:   abc, zzz";
        assert_eq!(asked.lines(), ["  Feature flags:", configured, strange]);
        let none = "    Configured:    none";
        assert_eq!(flags(&[("x", true)]).lines()[1], none);
        let on = flags(&[("js_raft_delete_range", true)]).lines();
        assert_eq!(on[1], "    Configured:    js_raft_delete_range (enabled)");
    }
}
