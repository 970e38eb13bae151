use std::time::Duration;

use crate::limits::FLEET_SILENT_SECONDS;
use crate::options::ota::name;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::Value;

/// The hub looks after its boxes: a registry of them, rollouts, and a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// The user of this configuration that it is; `None`: who a client without credentials is.
    pub user: Option<String>,
    /// The account that it is at home in, without being a user of it.
    pub account: Option<String>,
    /// File with the seed by which it signs that boxes on trial reached it; `None`: it signs nothing.
    pub confirm_key: Option<String>,
    /// The bucket that boxes follow. `FROND_CONFIG` by default.
    pub bucket: String,
    /// The bucket in which boxes say how they are. `FROND_FLEET` by default.
    pub registry: String,
    /// The bucket in which rollouts are kept. `FROND_ROLLOUT` by default.
    pub rollouts: String,
    /// Who says nothing for so long is silent. 5 min by default.
    pub silent: Duration,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            user: None,
            account: None,
            confirm_key: None,
            bucket: "FROND_CONFIG".to_owned(),
            registry: "FROND_FLEET".to_owned(),
            rollouts: "FROND_ROLLOUT".to_owned(),
            silent: Duration::from_secs(FLEET_SILENT_SECONDS),
        }
    }
}

impl Fleet {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "expected fleet to be a map/struct")?;
        let mut fleet = Self::default();
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "user" => set(&mut fleet.user, report.text(value)),
                "account" => set(&mut fleet.account, report.text(value)),
                "confirm_key" => set(&mut fleet.confirm_key, report.text(value)),
                "bucket" => set(&mut fleet.bucket, name("bucket", value, report)),
                "registry" => set(&mut fleet.registry, name("registry", value, report)),
                "rollouts" => set(&mut fleet.rollouts, name("rollouts", value, report)),
                "silent" => set(&mut fleet.silent, silent(value, report)),
                _ => report.other(Block::Fleet, entry),
            }
        }
        fleet.check(value, report);
        Some(fleet)
    }

    fn check(&self, value: &Value, report: &mut Report) {
        let buckets = [&self.bucket, &self.registry, &self.rollouts];
        for (at, bucket) in buckets.iter().enumerate() {
            if buckets.iter().take(at).any(|before| before == bucket) {
                let text = format!("fleet: bucket {bucket} is used twice");
                report.error(&value.at, text, "each of the three has a name of its own");
            }
        }
    }
}

fn silent(value: &Value, report: &mut Report) -> Option<Duration> {
    let silent = report.strict_duration("silent", value)?;
    if silent < Duration::from_secs(30) {
        let text = "fleet: boxes say something every 10 s, and would always seem silent";
        report.error(&value.at, text, "write \"30s\" or more");
        return None;
    }
    Some(silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nothing, load_text};

    fn read(block: &str) -> Result<Fleet, String> {
        let text = format!("jetstream: enabled\nfleet {{ {block} }}");
        let loaded = load_text(&text, "x.conf", &Nothing).map_err(|it| it.to_string())?;
        loaded.config.check().map_err(|it| it.to_string())?;
        Ok(loaded.config.fleet.unwrap())
    }

    #[test]
    fn what_is_left_out_has_its_default_and_mistakes_have_their_place() {
        assert_eq!(read(""), Ok(Fleet::default()));
        let given = read("bucket: A, registry: B, rollouts: C, silent: \"1m\"").unwrap();
        assert_eq!(given.silent, Duration::from_secs(60));
        for (block, words) in [
            ("silent: \"29s\"", "30s"),
            ("bucket: \"a.b\"", "no name"),
            ("bucket: X, registry: X", "used twice"),
            ("user: nobody", "nobody"),
            ("account: nowhere", "nowhere"),
            ("account: \"$G\", user: a", "not both"),
            ("colour: red", "unknown field"),
        ] {
            let said = read(block).unwrap_err();
            assert!(said.contains("x.conf:2:") && said.contains(words), "{said}");
        }
        let bare = load_text("fleet {}", "x.conf", &Nothing).unwrap();
        let said = bare.config.check().unwrap_err();
        assert!(said.to_string().contains("jetstream"), "{said}");
    }
}
