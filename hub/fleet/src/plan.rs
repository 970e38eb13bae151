use frond_ota::{Bundle, Sealed, Target};
use serde::{Deserialize, Serialize};

use crate::limits::{WAVES_MAX, WINDOWS_MAX};
use crate::{Wave, Window};

/// How a configuration is to be brought to the boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// How many boxes have it after each wave.
    pub waves: Vec<Wave>,
    /// Boxes that come first, whatever they are called.
    pub first: Vec<String>,
    /// Seconds to wait after a wave that went well.
    pub bake_s: u64,
    /// It stops when more than this share of the boxes that were told failed.
    pub stop_at_percent: u8,
    /// Seconds in which a box that was told confirms: its window and some more.
    pub wave_s: u64,
    /// Boxes are told in these only; always without any.
    pub windows: Vec<Window>,
    /// The boxes of a wave are told over so many seconds.
    pub jitter_s: u64,
    /// Who wants it.
    pub by: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            waves: vec![
                Wave::Count(1),
                Wave::Percent(5),
                Wave::Percent(25),
                Wave::Percent(100),
            ],
            first: Vec::new(),
            bake_s: 60,
            stop_at_percent: 5,
            wave_s: 660,
            windows: Vec::new(),
            jitter_s: 0,
            by: String::new(),
        }
    }
}

impl Plan {
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if self.waves.is_empty() || self.waves.len() > WAVES_MAX {
            return Err(format!("a rollout has from 1 to {WAVES_MAX} waves"));
        }
        if self.windows.len() > WINDOWS_MAX {
            return Err(format!("a rollout has up to {WINDOWS_MAX} windows"));
        }
        if self.stop_at_percent > 100 {
            return Err("no more than 100 % of the boxes can fail".to_owned());
        }
        if self.wave_s <= self.jitter_s {
            return Err("a wave takes longer than its boxes are spread over".to_owned());
        }
        Ok(())
    }

    /// Whether boxes may be told, and when that changes, in seconds since 1970.
    pub(crate) fn may_tell(&self, now_s: i64) -> (bool, Option<i64>) {
        let all = self.windows.iter().map(|window| window.at(now_s));
        let (open, shut): (Vec<_>, Vec<_>) = all.partition(|(is_open, _)| *is_open);
        if self.windows.is_empty() || !open.is_empty() {
            (true, open.iter().map(|(_, at)| *at).max())
        } else {
            (false, shut.iter().map(|(_, at)| *at).min())
        }
    }
}

/// What is brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Freight {
    pub(crate) version: u64,
    pub(crate) digest: String,
    pub(crate) by: String,
    pub(crate) note: String,
    pub(crate) targets: Vec<String>,
}

impl Freight {
    /// What a bundle says of itself; nobody judges its signatures here.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let sealed = Sealed::decode(bytes)?;
        let bundle: Bundle = sealed.content().ok_or("its content is unknown")?;
        Ok(Self {
            version: bundle.version,
            digest: sealed.digest().to_string(),
            by: bundle.by.clone(),
            note: bundle.note.clone(),
            targets: bundle.targets.iter().map(named).collect(),
        })
    }

    pub(crate) fn is_for(&self, name: &str, groups: &[String]) -> bool {
        self.targets
            .iter()
            .any(|target| match target.split_once(':') {
                Some(("device", device)) => device == name,
                Some(("group", group)) => groups.iter().any(|it| it == group),
                Some(_) | None => target == "all",
            })
    }
}

fn named(target: &Target) -> String {
    match target {
        Target::Device(name) => format!("device:{name}"),
        Target::Group(name) => format!("group:{name}"),
        Target::Everyone => "all".to_owned(),
    }
}
