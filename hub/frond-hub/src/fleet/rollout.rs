use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use frond_ota::{Bundle, Target};
use frond_runtime::Caller;
use serde_json::Value;

use super::registry::Boxes;
use super::{Hub, bucket, read_bytes, say, sign};

#[derive(Debug, clap::Args)]
pub(super) struct Rollout {
    /// The bundle
    bundle: PathBuf,
    /// How many boxes have it after each wave: a number or a share
    #[arg(long, value_delimiter = ',', default_value = "1,5%,25%,100%")]
    waves: Vec<String>,
    /// Seconds to wait after a wave that went well
    #[arg(long, default_value_t = 60)]
    bake: u64,
    /// Stop when more than this share of the boxes that were told failed
    #[arg(long, value_name = "PERCENT", default_value_t = 5)]
    stop_at: usize,
    /// Seconds a wave may take: the boxes' window and some more
    #[arg(long, default_value_t = 660)]
    wave_time: u64,
    #[command(flatten)]
    hub: Hub,
}

/// What became of a box that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pending,
    Confirmed,
    Failed,
}

impl Rollout {
    pub(super) fn run(&self) -> Result<(), String> {
        let content = sign::read(&self.bundle)?.content();
        let content = content.ok_or("its content is unknown")?;
        let bytes = read_bytes(&self.bundle)?;
        let mut caller = self.hub.connect()?;
        let mut boxes = Boxes::follow(&mut caller, &self.hub.registry)?;
        boxes.take_all(&mut caller)?;
        let meant = meant(&boxes, &content);
        if meant.is_empty() {
            return Err("the registry knows no box that the bundle is for".to_owned());
        }
        let mut told = BTreeSet::new();
        for (wave, size) in self.sizes(meant.len())?.into_iter().enumerate() {
            for name in meant.iter().take(size) {
                if told.insert(name.clone()) {
                    let key = format!("device.{name}");
                    bucket::put(&mut caller, &self.hub.bucket, &key, &bytes)?;
                }
            }
            say(&format!(
                "wave {}: {} of {} boxes are told",
                wave + 1,
                told.len(),
                meant.len()
            ));
            self.await_wave(&mut caller, &mut boxes, &told, content.version)?;
            if told.len() < meant.len() {
                self.bake(&mut caller, &mut boxes, &told, content.version)?;
            }
        }
        say(&format!(
            "version {} is on all {} boxes",
            content.version,
            meant.len()
        ));
        Ok(())
    }

    fn sizes(&self, all: usize) -> Result<Vec<usize>, String> {
        let size = |wave: &String| {
            let wrong = || format!("wave {wave:?} is no number and no share");
            let size = match wave.strip_suffix('%') {
                Some(share) => (share.parse::<usize>().map_err(|_| wrong())? * all).div_ceil(100),
                None => wave.parse().map_err(|_| wrong())?,
            };
            Ok(size.clamp(1, all))
        };
        self.waves.iter().map(size).collect()
    }

    fn await_wave(
        &self,
        caller: &mut Caller,
        boxes: &mut Boxes,
        told: &BTreeSet<String>,
        version: u64,
    ) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(self.wave_time);
        loop {
            let pending = self.judge(boxes, told, version)?;
            if pending == 0 {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("stopped: {pending} boxes did not confirm in time"));
            }
            boxes.take(caller, until)?;
        }
    }

    fn bake(
        &self,
        caller: &mut Caller,
        boxes: &mut Boxes,
        told: &BTreeSet<String>,
        version: u64,
    ) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(self.bake);
        while boxes.take(caller, until)? {
            self.judge(boxes, told, version)?;
        }
        Ok(())
    }

    /// How many are pending; an error when too many failed.
    fn judge(&self, boxes: &Boxes, told: &BTreeSet<String>, version: u64) -> Result<usize, String> {
        let fates = told.iter().map(|name| fate(boxes.known.get(name), version));
        let fates: Vec<Fate> = fates.collect();
        let count = |wanted| fates.iter().filter(|fate| **fate == wanted).count();
        let failed = count(Fate::Failed);
        if failed * 100 > told.len() * self.stop_at {
            return Err(format!(
                "stopped: version {version} failed on {failed} of {} boxes; they went back by \
                 themselves, and no other box is told",
                told.len()
            ));
        }
        Ok(count(Fate::Pending))
    }
}

fn fate(status: Option<&Value>, version: u64) -> Fate {
    let number = |at: &str| status.and_then(|it| it.pointer(at)?.as_u64());
    if number("/active/version") == Some(version) {
        Fate::Confirmed
    } else if [number("/last_failure/version"), number("/refused/version")].contains(&Some(version))
    {
        Fate::Failed
    } else {
        Fate::Pending
    }
}

/// The boxes it is for.
fn meant(boxes: &Boxes, content: &Bundle) -> Vec<String> {
    let is_meant = |name: &str, status: &Value| {
        let groups = status.get("groups").and_then(Value::as_array);
        let groups: Vec<&str> = groups
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        content.targets.iter().any(|target| match target {
            Target::Device(device) => device == name,
            Target::Group(group) => groups.contains(&group.as_str()),
            Target::Everyone => true,
        })
    };
    let known = boxes.known.iter();
    let meant = known.filter(|(name, status)| is_meant(name, status));
    meant.map(|(name, _)| name.clone()).collect()
}
