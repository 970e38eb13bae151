use serde::Serialize;

use crate::limits::FAILURES_SHOWN_MAX;
use crate::{Alarm, Boxes, Counts, Fate, Known, Leaf, Phase, Rollout, Status, Trust};

/// All boxes and the rollout, for people and machines.
#[derive(Debug, Serialize)]
pub struct FleetView<'a> {
    /// Seconds since 1970.
    pub now_s: i64,
    /// All of them, by their names.
    pub boxes: Vec<BoxView<'a>>,
    /// Servers with a line to this hub that say nothing of themselves.
    pub leaves: Vec<LeafView<'a>>,
    /// The last one.
    pub rollout: Option<RolloutView<'a>>,
}

/// A server with a line to this hub that says nothing of itself.
#[derive(Debug, Serialize)]
pub struct LeafView<'a> {
    /// Whether its line is up.
    pub is_up: bool,
    /// What is known of it.
    #[serde(flatten)]
    pub leaf: &'a Leaf,
}

impl<'a> LeafView<'a> {
    pub(crate) const fn of(leaf: &'a Leaf, now_s: i64) -> Self {
        let is_up = leaf.is_up(now_s);
        Self { is_up, leaf }
    }
}

/// A box.
#[derive(Debug, Serialize)]
pub struct BoxView<'a> {
    /// Its name.
    pub name: &'a str,
    /// When the hub last heard it, in seconds since 1970.
    pub seen_s: i64,
    /// Whether it still says something.
    pub is_silent: bool,
    /// How far it is to be believed.
    pub trust: Trust,
    /// What is wrong with it, the worst first.
    pub alarms: Vec<Alarm>,
    /// What became of it in the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fate: Option<&'a Fate>,
    /// What it says of itself.
    #[serde(flatten)]
    pub status: &'a Status,
}

/// A rollout.
#[derive(Debug, Serialize)]
pub struct RolloutView<'a> {
    /// The version that is brought.
    pub version: u64,
    /// Its name.
    pub digest: &'a str,
    /// Who made it, and why.
    pub by: &'a str,
    /// Why.
    pub note: &'a str,
    /// Who it is for.
    pub targets: &'a [String],
    /// Where it stands.
    pub state: &'static str,
    /// Why it stopped, or who paused or ended it.
    pub why: &'a str,
    /// When it goes on, in seconds since 1970.
    pub until_s: Option<i64>,
    /// When it began, in seconds since 1970.
    pub began_s: i64,
    /// The wave that is under way, from 1.
    pub wave: usize,
    /// Of all boxes.
    pub counts: Counts,
    /// Each of them.
    pub waves: Vec<WaveView>,
    /// Those that went back, did not take it, or are late.
    pub failures: Vec<(&'a str, &'a str)>,
}

/// A wave.
#[derive(Debug, Serialize)]
pub struct WaveView {
    /// As it was wanted: a number, or a share.
    pub wanted: String,
    /// How many boxes have it after this wave.
    pub size: usize,
    /// Of the boxes that it adds.
    pub counts: Counts,
}

impl<'a> BoxView<'a> {
    pub(crate) fn of(
        boxes: &Boxes,
        rollout: Option<&'a Rollout>,
        (name, known): (&'a str, &'a Known),
        now_s: i64,
    ) -> Self {
        let member = rollout.and_then(|it| it.members.get(name));
        Self {
            name,
            seen_s: known.seen_s,
            is_silent: boxes.is_silent(known, now_s),
            trust: boxes.trust(name),
            alarms: boxes.alarms(known, now_s),
            fate: member.map(|it| &it.fate),
            status: &known.status,
        }
    }
}

impl<'a> RolloutView<'a> {
    pub(crate) fn of(rollout: &'a Rollout, now_s: i64) -> Self {
        let freight = &rollout.freight;
        let (state, why, until_s) = stand(rollout, now_s);
        let waves = rollout.plan.waves.iter().enumerate().map(|(at, wanted)| {
            let before = at.checked_sub(1).map_or(0, |before| rollout.size(before));
            let size = rollout.size(at);
            WaveView {
                wanted: wanted.to_string(),
                size,
                counts: rollout.counts_of(before, size),
            }
        });
        let failures = rollout.members.iter().filter_map(|(name, member)| {
            let why = match &member.fate {
                Fate::Failed(why) => why,
                Fate::Late => "it did not confirm in time",
                Fate::Untold | Fate::Pending | Fate::Absent | Fate::Confirmed => return None,
            };
            Some((&**name, why))
        });
        Self {
            version: freight.version,
            digest: &freight.digest,
            by: &freight.by,
            note: &freight.note,
            targets: &freight.targets,
            state,
            why,
            until_s,
            began_s: rollout.began_s,
            wave: rollout.wave + 1,
            counts: rollout.counts(),
            waves: waves.collect(),
            failures: failures.take(FAILURES_SHOWN_MAX).collect(),
        }
    }
}

fn stand(rollout: &Rollout, now_s: i64) -> (&'static str, &str, Option<i64>) {
    match &rollout.phase {
        Phase::Telling => match rollout.plan.may_tell(now_s) {
            (true, _) if rollout.proves_nothing() => {
                let why = "no box of this wave is there: it waits for one of them";
                ("telling", why, None)
            }
            (true, _) => ("telling", "", None),
            (false, opens_s) => ("waiting", "", opens_s),
        },
        Phase::Baking(until_s) => ("baking", "", Some(*until_s)),
        Phase::Paused(by) => ("paused", by, None),
        Phase::Done => ("done", "", None),
        Phase::Stopped(why) => ("stopped", why, None),
        Phase::Aborted(by) => ("aborted", by, None),
    }
}
