use super::{Fate, Member, Rollout};
use crate::{Boxes, Status};

impl Rollout {
    /// What became of those that were told; whether any of that is news.
    ///
    /// Once it is over only those count that were under way: what becomes of others has nothing to
    /// do with it any more.
    pub(super) fn judge(&mut self, now_s: i64, boxes: &Boxes) -> bool {
        let mut is_news = false;
        let is_over = self.is_over();
        for (name, member) in &mut self.members {
            let known = boxes.get(name);
            let is_silent = known.is_none_or(|it| boxes.is_silent(it, now_s));
            let status = known.map(|it| &it.status);
            let fate = if status.is_some_and(|it| has(it, &self.freight.digest)) {
                Fate::Confirmed
            } else if let Some(told_s) = member.told_s {
                let is_heard = known.is_some_and(|it| it.seen_s >= told_s);
                let why = status
                    .filter(|_| is_heard)
                    .and_then(|it| failure(it, self.freight.version));
                let is_late = now_s - told_s > i64::try_from(self.plan.wave_s).unwrap_or(i64::MAX);
                of_told(member, why, is_silent, is_heard && is_late)
            } else {
                Fate::Untold
            };
            let was_open = matches!(member.fate, Fate::Pending | Fate::Absent);
            let is_decided = matches!(fate, Fate::Confirmed | Fate::Failed(_));
            if is_over && !(was_open && is_decided) {
                continue;
            }
            is_news |= member.fate != fate;
            member.fate = fate;
        }
        is_news
    }
}

fn of_told(member: &Member, why: Option<&str>, is_silent: bool, is_late: bool) -> Fate {
    match why {
        Some(why) => Fate::Failed(why.to_owned()),
        None if is_silent && member.fate != Fate::Late => Fate::Absent,
        None if is_late => Fate::Late,
        None => Fate::Pending,
    }
}

fn has(status: &Status, digest: &str) -> bool {
    status.trial.is_none() && status.active.digest.as_deref() == Some(digest)
}

fn failure(status: &Status, version: u64) -> Option<&str> {
    let both = [&status.last_failure, &status.refused];
    let found = both.into_iter().flatten().find(|it| it.version == version);
    found.map(|it| &*it.why)
}
