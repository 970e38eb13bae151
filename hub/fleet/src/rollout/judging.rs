use super::{Fate, Member, Rollout};
use crate::limits::BORNE_SECONDS;
use crate::status::Failure;
use crate::{Boxes, Status};

impl Rollout {
    /// What became of those that were told; whether any of that is news.
    ///
    /// Once it is over only those count that were under way: what becomes of others has nothing to
    /// do with it any more.
    pub(super) fn judge(&mut self, now_s: i64, boxes: &Boxes) -> bool {
        let mut is_news = false;
        let is_over = self.is_over();
        let mut members = core::mem::take(&mut self.members);
        for (name, member) in &mut members {
            let fate = self.judged(now_s, boxes, name, member);
            let was_open = matches!(member.fate, Fate::Pending | Fate::Absent);
            let is_decided = matches!(fate, Fate::Confirmed | Fate::Failed(_));
            if is_over && !(was_open && is_decided) {
                continue;
            }
            is_news |= member.fate != fate;
            member.fate = fate;
        }
        self.members = members;
        is_news
    }

    fn judged(&self, now_s: i64, boxes: &Boxes, name: &str, member: &Member) -> Fate {
        let known = boxes.get(name);
        let is_silent = known.is_none_or(|it| boxes.is_silent(it, now_s));
        let seen_s = known.map_or(i64::MIN, |it| it.seen_s);
        let has_it = known.is_some_and(|it| has(&it.status, &self.freight.digest));
        let Some(told_s) = member.told_s else {
            return if has_it {
                Fate::Confirmed
            } else {
                Fate::Untold
            };
        };
        let is_heard = seen_s >= told_s;
        // What it said before it was told is no word about that.
        if has_it && is_heard {
            // One that fell silent soon after did not bear what it confirmed.
            let is_fallen = is_silent && seen_s - told_s < self.borne_s();
            return if is_fallen {
                Fate::Late
            } else {
                Fate::Confirmed
            };
        }
        let status = known.map(|it| &it.status).filter(|_| is_heard);
        if let Some(why) = status.and_then(|it| self.failure(it)) {
            return Fate::Failed(why.chars().take(WHY_CHARS).collect());
        }
        let wave_s = i64::try_from(self.plan.wave_s).unwrap_or(i64::MAX);
        let is_late = now_s - told_s > wave_s;
        match (is_silent, member.was_silent && !is_heard) {
            // It said nothing before, and takes it when it is there again.
            (true, true) => Fate::Absent,
            // It was there until it was told.
            (true, false) => Fate::Late,
            (false, _) if is_late && (is_heard || !member.was_silent) => Fate::Late,
            (false, _) => Fate::Pending,
        }
    }

    /// Why a box does not have it: what nobody vouches for has no number that one could believe.
    fn failure<'s>(&self, status: &'s Status) -> Option<&'s str> {
        let is_it = |it: &&Failure| {
            it.version == self.freight.version || it.digest.as_ref() == Some(&self.freight.digest)
        };
        let mut both = [&status.last_failure, &status.refused]
            .into_iter()
            .flatten();
        both.find(is_it).map(|it| &*it.why)
    }

    /// A box that is not heard any more so soon after it was told did not bear it: as long as its
    /// wave takes and bakes.
    fn borne_s(&self) -> i64 {
        let bakes_s = self.plan.wave_s.saturating_add(self.plan.bake_s);
        i64::try_from(bakes_s).map_or(i64::MAX, |it| it.max(BORNE_SECONDS))
    }

    /// Whether a box that confirmed was not heard since its wave has baked, and is not known to be
    /// silent yet: it is waited for before more boxes are told.
    pub(super) fn is_quiet(&self, baked_s: i64, now_s: i64, boxes: &Boxes) -> bool {
        self.members.iter().any(|(name, member)| {
            let Some((told_s, known)) = member.told_s.zip(boxes.get(name)) else {
                return false;
            };
            let is_due = member.fate == Fate::Confirmed && !boxes.is_silent(known, now_s);
            let is_new = known.seen_s - told_s < self.borne_s();
            is_due && is_new && known.seen_s < baked_s
        })
    }
}

/// Letters of a box's words that are kept.
const WHY_CHARS: usize = 120;

fn has(status: &Status, digest: &str) -> bool {
    status.trial.is_none() && status.active.digest.as_deref() == Some(digest)
}
