use super::{Fate, Phase, Rollout};
use crate::Boxes;

/// What a rollout wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// This box is to be told.
    Tell(String),
    /// The same, by whoever drove it before, who may have done it.
    TellAgain(String),
    /// What this box was told is to be taken from its place: it has not been read.
    Withdraw(String),
}

impl Rollout {
    /// One look: what is to be done, `free` boxes at most; whether something changed.
    pub(crate) fn step(&mut self, now_s: i64, boxes: &Boxes, free: usize) -> (Vec<Want>, bool) {
        let is_news = self.judge(now_s, boxes);
        if self.is_over() {
            return (Vec::new(), is_news);
        }
        if let Some(why) = self.too_many_failed() {
            self.phase = Phase::Stopped(why);
            return (self.withdraw(), true);
        }
        let before = self.phase.clone();
        let wants = match self.phase {
            Phase::Telling if self.is_wave_over() => self.wave_over(now_s),
            Phase::Telling => self.tell(now_s, boxes, free),
            Phase::Baking(until_s) if now_s >= until_s && !self.is_quiet(until_s, now_s, boxes) => {
                self.wave += 1;
                self.wave_began_s = now_s;
                self.phase = Phase::Telling;
                Vec::new()
            }
            Phase::Baking(_)
            | Phase::Paused(_)
            | Phase::Done
            | Phase::Stopped(_)
            | Phase::Aborted(_) => Vec::new(),
        };
        let is_news = is_news || before != self.phase || !wants.is_empty();
        (wants, is_news)
    }

    /// When it wants to be looked at, if nothing happens before, in seconds since 1970.
    pub(crate) fn wakes_s(&self, now_s: i64) -> Option<i64> {
        match self.phase {
            Phase::Telling => Some(now_s + 1),
            Phase::Baking(until_s) => Some(until_s.clamp(now_s + 1, now_s + 5)),
            Phase::Paused(_) | Phase::Done | Phase::Stopped(_) | Phase::Aborted(_) => None,
        }
    }

    pub(crate) fn pause(&mut self, by: &str) -> Result<(), String> {
        match self.phase {
            Phase::Telling | Phase::Baking(_) => {
                self.phase = Phase::Paused(by.to_owned());
                Ok(())
            }
            Phase::Paused(_) => Err("it is paused already".to_owned()),
            Phase::Done | Phase::Stopped(_) | Phase::Aborted(_) => Err("it is over".to_owned()),
        }
    }

    pub(crate) fn resume(&mut self) -> Result<(), String> {
        match self.phase {
            Phase::Paused(_) => {
                self.phase = Phase::Telling;
                Ok(())
            }
            Phase::Telling | Phase::Baking(_) => Err("it is not paused".to_owned()),
            Phase::Done | Phase::Stopped(_) | Phase::Aborted(_) => Err("it is over".to_owned()),
        }
    }

    pub(crate) fn abort(&mut self, by: &str) -> Result<Vec<Want>, String> {
        if self.is_over() {
            return Err("it is over".to_owned());
        }
        self.phase = Phase::Aborted(by.to_owned());
        Ok(self.withdraw())
    }

    fn too_many_failed(&self) -> Option<String> {
        // Of each kind by itself: others cannot hide what becomes of those that were claimed.
        let is_much =
            |it: &super::Counts| it.failed * 100 > it.told * usize::from(self.plan.stop_at_percent);
        let is_too_many = self.counts_by_claim().iter().any(is_much);
        let counts = self.counts();
        let late = self
            .members
            .values()
            .filter(|it| it.fate == Fate::Late)
            .count();
        let late = match late {
            0 => String::new(),
            late => format!(" ({late} did not confirm in time)"),
        };
        is_too_many.then(|| {
            format!(
                "version {} failed on {} of {} boxes{late}; they went back by themselves, and no \
                 other box is told",
                self.freight.version, counts.failed, counts.told
            )
        })
    }

    fn is_wave_over(&self) -> bool {
        let mut told = self.members_of(0, self.size(self.wave));
        let is_decided = told.all(|it| match it.fate {
            Fate::Untold | Fate::Pending => false,
            Fate::Absent | Fate::Confirmed | Fate::Failed(_) | Fate::Late => true,
        });
        is_decided && !self.proves_nothing()
    }

    /// Whether all that a wave adds say nothing, as at night, and boxes come after it: those would
    /// have it before it is known to be good. It waits until one of them is there.
    pub(crate) fn proves_nothing(&self) -> bool {
        let size = self.size(self.wave);
        let is_last = size >= self.order.len() || self.wave + 1 >= self.plan.waves.len();
        let before = self.wave.checked_sub(1).map_or(0, |it| self.size(it));
        let added = || self.members_of(before, size);
        // Where some were claimed, only their word is proof.
        let is_claimed = added().any(|it| it.is_claimed);
        let mut added = added().filter(|it| !is_claimed || it.is_claimed).peekable();
        self.wave > 0
            && !is_last
            && added.peek().is_some()
            && added.all(|it| it.fate == Fate::Absent)
    }

    fn wave_over(&mut self, now_s: i64) -> Vec<Want> {
        let counts = self.counts();
        let is_last = self.size(self.wave) >= self.order.len();
        let [claimed, _] = self.counts_by_claim();
        let proof = if claimed.all > 0 { claimed } else { counts };
        self.phase = if proof.confirmed == 0 {
            let version = self.freight.version;
            Phase::Stopped(format!(
                "no box confirmed version {version}: all that were told say nothing"
            ))
        } else if is_last || self.wave + 1 >= self.plan.waves.len() {
            Phase::Done
        } else {
            let bake_s = i64::try_from(self.plan.bake_s).unwrap_or(i64::MAX);
            Phase::Baking(now_s.saturating_add(bake_s))
        };
        match self.phase {
            Phase::Stopped(_) => self.withdraw(),
            Phase::Telling
            | Phase::Baking(_)
            | Phase::Paused(_)
            | Phase::Done
            | Phase::Aborted(_) => Vec::new(),
        }
    }

    fn tell(&mut self, now_s: i64, boxes: &Boxes, free: usize) -> Vec<Want> {
        if !self.plan.may_tell(now_s).0 {
            return Vec::new();
        }
        let since = now_s - self.wave_began_s;
        let due: Vec<_> = self
            .order
            .iter()
            .take(self.size(self.wave))
            .filter(|name| {
                let member = self.members.get(*name);
                let is_untold = member.is_some_and(|it| it.fate == Fate::Untold);
                is_untold && since >= self.waits_s(name)
            })
            .take(free)
            .cloned()
            .collect();
        for name in &due {
            let known = boxes.get(name);
            let is_silent = known.is_none_or(|it| boxes.is_silent(it, now_s));
            if let Some(member) = self.members.get_mut(name) {
                member.told_s = Some(now_s);
                member.was_silent = is_silent;
                member.fate = match is_silent {
                    true => Fate::Absent,
                    false => Fate::Pending,
                };
            }
        }
        due.into_iter().map(Want::Tell).collect()
    }

    /// How long after its wave began a box is told, in seconds: always the same for the same box.
    fn waits_s(&self, name: &str) -> i64 {
        let hash = name
            .bytes()
            .chain(self.freight.digest.bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let spread = self.plan.jitter_s.saturating_add(1);
        i64::try_from((hash >> 16) % spread).unwrap_or(0)
    }

    /// Who was to be told, and may not have been: it is written down first.
    pub(crate) fn tell_again(&self) -> Vec<Want> {
        if self.phase != Phase::Telling {
            return Vec::new();
        }
        let open = self.members.iter().filter(|(_, member)| match member.fate {
            Fate::Pending | Fate::Absent => member.told_seq.is_none(),
            Fate::Untold | Fate::Confirmed | Fate::Failed(_) | Fate::Late => false,
        });
        open.map(|(name, _)| Want::TellAgain(name.clone()))
            .collect()
    }

    /// Who has not read it yet shall not: what is in their places is taken away.
    ///
    /// Until the hub said that it is done this is wanted again, by whoever drives it next.
    pub(crate) fn withdraw(&self) -> Vec<Want> {
        let unread = self.members.iter().filter(|(_, member)| match member.fate {
            Fate::Pending | Fate::Absent | Fate::Late => !member.is_taken_back,
            Fate::Untold | Fate::Confirmed | Fate::Failed(_) => false,
        });
        unread
            .map(|(name, _)| Want::Withdraw(name.clone()))
            .collect()
    }
}
