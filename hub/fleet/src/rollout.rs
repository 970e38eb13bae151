use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::{MEMBER_BYTES_MORE, ROLLOUT_BYTES_MAX};
use crate::plan::Freight;
use crate::{Boxes, Plan, Trust};

mod judging;
mod steps;

pub(crate) use steps::Want;

/// A configuration on its way to the boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    pub(crate) freight: Freight,
    pub(crate) plan: Plan,
    pub(crate) phase: Phase,
    /// The wave that is under way, from 0.
    pub(crate) wave: usize,
    /// When that began, in seconds since 1970.
    pub(crate) wave_began_s: i64,
    /// When the rollout began, in seconds since 1970.
    pub(crate) began_s: i64,
    /// In the order they are told.
    pub(crate) order: Vec<String>,
    pub(crate) members: BTreeMap<String, Member>,
}

/// Where a rollout stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The boxes of a wave are told, and make up their minds.
    Telling,
    /// All of a wave are well; it waits until then, in seconds since 1970.
    Baking(i64),
    /// No further box is told, because somebody wants that.
    Paused(String),
    /// All were told.
    Done,
    /// It stopped by itself.
    Stopped(String),
    /// Somebody ended it.
    Aborted(String),
}

/// A box that is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// When it was told, in seconds since 1970.
    pub told_s: Option<i64>,
    /// What became of it.
    pub fate: Fate,
    /// It said nothing already when it was told.
    #[serde(default, skip_serializing_if = "is_not")]
    pub was_silent: bool,
    /// What it was told is not in its place any more.
    #[serde(default, skip_serializing_if = "is_not")]
    pub is_taken_back: bool,
    /// The sequence under which the hub keeps what it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_seq: Option<u64>,
    /// What it says is its own word: nobody else has the key of a box that was claimed.
    #[serde(default, skip_serializing_if = "is_not")]
    pub is_claimed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_not(it: &bool) -> bool {
    !*it
}

/// What became of a box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was not told yet.
    Untold,
    /// It was told and has yet to confirm.
    Pending,
    /// It says nothing: it takes it when it is there again.
    Absent,
    /// It has it.
    Confirmed,
    /// It went back, or did not take it: why.
    Failed(String),
    /// It neither confirmed nor failed in time.
    Late,
}

/// How many boxes there are of each fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All that are meant.
    pub all: usize,
    /// Those that were told.
    pub told: usize,
    /// Those that have yet to confirm.
    pub pending: usize,
    /// Those that say nothing.
    pub absent: usize,
    /// Those that have it.
    pub confirmed: usize,
    /// Those that went back, did not take it, or are late.
    pub failed: usize,
}

impl Rollout {
    pub(crate) fn begin(
        freight: Freight,
        plan: Plan,
        boxes: &Boxes,
        now_s: i64,
    ) -> Result<Self, String> {
        plan.check()?;
        let meant = boxes
            .iter()
            .filter(|(name, known)| freight.is_for(name, &known.status.groups));
        // Who is there goes first: a box that says nothing proves nothing.
        let mut order: Vec<_> = meant
            .map(|(name, known)| {
                let is_first = plan.first.iter().position(|it| it == name);
                let first = is_first.unwrap_or(usize::MAX);
                (first, boxes.is_silent(known, now_s), name.to_owned())
            })
            .collect();
        order.sort();
        let order = order.into_iter().map(|(.., name)| name);
        let is_claimed = |name: &String| boxes.trust(name) == Trust::Claimed;
        let (claimed, others): (Vec<_>, Vec<_>) = order.partition(is_claimed);
        let order = in_waves(&plan, &claimed, &others);
        if order.is_empty() {
            return Err("the registry knows no box that the bundle is for".to_owned());
        }
        if let Some(stranger) = plan.first.iter().find(|it| !order.contains(it)) {
            return Err(format!(
                "{stranger} is to be first, and is none of the boxes it is for"
            ));
        }
        let untold = Member {
            told_s: None,
            fate: Fate::Untold,
            was_silent: false,
            is_taken_back: false,
            is_claimed: false,
            told_seq: None,
        };
        let members = order.iter().map(|name| {
            let is_claimed = is_claimed(name);
            let untold = untold.clone();
            (
                name.clone(),
                Member {
                    is_claimed,
                    ..untold
                },
            )
        });
        let rollout = Self {
            freight,
            plan,
            phase: Phase::Telling,
            wave: 0,
            wave_began_s: now_s,
            began_s: now_s,
            members: members.collect(),
            order,
        };
        rollout.check_size().map(|()| rollout)
    }

    /// It is kept as one message.
    fn check_size(&self) -> Result<(), String> {
        let length = serde_json::to_vec(self).map_or(usize::MAX, |it| it.len());
        let count = self.order.len();
        if length.saturating_add(count * MEMBER_BYTES_MORE) > ROLLOUT_BYTES_MAX {
            return Err(format!(
                "{count} boxes are too many for one rollout: bring it to one group after another"
            ));
        }
        Ok(())
    }

    /// As it is kept: where many failed, without why.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        if bytes.len() <= ROLLOUT_BYTES_MAX {
            return bytes;
        }
        let mut short = self.clone();
        for member in short.members.values_mut() {
            if let Fate::Failed(why) = &mut member.fate {
                why.clear();
            }
        }
        serde_json::to_vec(&short).unwrap_or_default()
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.freight.version
    }

    /// Where it stands.
    #[must_use]
    pub const fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self.phase {
            Phase::Telling | Phase::Baking(_) | Phase::Paused(_) => false,
            Phase::Done | Phase::Stopped(_) | Phase::Aborted(_) => true,
        }
    }

    /// How many boxes there are of each fate.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts_of(0, self.order.len())
    }

    /// The same of those that were claimed, and of the others.
    pub(crate) fn counts_by_claim(&self) -> [Counts; 2] {
        let both = [true, false];
        both.map(|is| counted(self.members.values().filter(|it| it.is_claimed == is)))
    }

    /// The same of those from one place in the order to another.
    pub(crate) fn counts_of(&self, from: usize, to: usize) -> Counts {
        counted(self.members_of(from, to))
    }

    fn members_of(&self, from: usize, to: usize) -> impl Iterator<Item = &Member> {
        let names = self.order.iter().take(to).skip(from);
        names.filter_map(|name| self.members.get(name))
    }

    /// How many boxes have it after a wave.
    pub(crate) fn size(&self, wave: usize) -> usize {
        let claimed = self.members.values().filter(|it| it.is_claimed).count();
        let others = self.order.len() - claimed;
        [claimed, others]
            .map(|all| share(&self.plan, wave, all))
            .iter()
            .sum()
    }
}

/// How many of so many boxes have it after a wave.
fn share(plan: &Plan, wave: usize, all: usize) -> usize {
    let waves = plan.waves.iter().take(wave + 1);
    waves.map(|it| it.size(all).min(all)).max().unwrap_or(all)
}

/// Those that were claimed and the others each have their share of every wave: whoever makes boxes
/// up changes nothing for those that were claimed.
fn in_waves(plan: &Plan, claimed: &[String], others: &[String]) -> Vec<String> {
    let mut order = Vec::with_capacity(claimed.len() + others.len());
    for wave in 0..=plan.waves.len() {
        for all in [claimed, others] {
            let from = wave
                .checked_sub(1)
                .map_or(0, |it| share(plan, it, all.len()));
            let to = match wave < plan.waves.len() {
                true => share(plan, wave, all.len()),
                false => all.len(),
            };
            order.extend(all.iter().take(to).skip(from).cloned());
        }
    }
    order
}

fn counted<'a>(members: impl Iterator<Item = &'a Member>) -> Counts {
    let mut counts = Counts::default();
    for member in members {
        counts.all += 1;
        let is_told = member.told_s.is_some() || member.fate == Fate::Confirmed;
        counts.told += usize::from(is_told);
        match member.fate {
            Fate::Untold => {}
            Fate::Pending => counts.pending += 1,
            Fate::Absent => counts.absent += 1,
            Fate::Confirmed => counts.confirmed += 1,
            Fate::Failed(_) | Fate::Late => counts.failed += 1,
        }
    }
    counts
}
