use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use frond_clock::{Instant, Now};

use crate::limits::{PAGE_BOXES, PUTS_MAX, SAVE_EVERY_SECONDS, SILENT_SECONDS};
use crate::plan::Freight;
use crate::rollout::Want;
use crate::{
    BoxView, Boxes, Bucket, FleetView, Input, Output, Phase, Plan, Question, Refused, Rollout,
    RolloutView, Step,
};

#[cfg(test)]
mod tests;

/// The boxes of a hub, and the one rollout there may be.
#[derive(Debug)]
pub struct Fleet {
    boxes: Boxes,
    is_caught_up: bool,
    rollout: Option<Rollout>,
    bundle: Option<Arc<[u8]>>,
    next_ticket: u64,
    /// Puts that are under way; whom they tell.
    puts: Vec<(u64, Option<String>)>,
    /// Who is told next, or what is taken away.
    wants: VecDeque<Want>,
    /// When the rollout was last written down, in seconds since 1970; whether it changed since.
    saved_s: i64,
    saved_phase: Option<Phase>,
    is_dirty: bool,
    wake: Option<Instant>,
    out: VecDeque<Output>,
}

/// The key under which a rollout is kept.
const KEY: &str = "current";
/// And the bundle it brings.
const BUNDLE_KEY: &str = "bundle";

impl Default for Fleet {
    fn default() -> Self {
        Self::new(SILENT_SECONDS)
    }
}

impl Fleet {
    /// Without boxes yet; who says nothing for so many seconds is silent.
    #[must_use]
    pub fn new(silent_s: i64) -> Self {
        Self {
            boxes: Boxes::new(silent_s),
            is_caught_up: false,
            rollout: None,
            bundle: None,
            next_ticket: 1,
            puts: Vec::new(),
            wants: VecDeque::new(),
            saved_s: i64::MIN,
            saved_phase: None,
            is_dirty: false,
            wake: None,
            out: VecDeque::new(),
        }
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input) {
        let now_s = seconds(now);
        match input {
            Input::Report { name, said, .. } if said.is_empty() => self.boxes.forget(&name),
            Input::Report { name, seen_s, said } => self.boxes.take(&name, seen_s, &said),
            Input::CaughtUp => self.is_caught_up = true,
            Input::Kept { rollout, bundle } => self.go_on_with(&rollout, bundle),
            Input::Asked(ask, question) => {
                let answer = self.answer(now_s, question);
                self.out.push_back(Output::Answer(ask, answer));
            }
            Input::Wrote(ticket, result) => self.wrote(ticket, result),
            Input::Time => {}
        }
        self.look(now, now_s);
    }

    /// The next wish.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When to wake it if nothing else happens.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.wake
    }

    /// Whether all that was kept of the boxes is known.
    #[must_use]
    pub const fn is_caught_up(&self) -> bool {
        self.is_caught_up
    }

    /// The boxes.
    #[must_use]
    pub const fn boxes(&self) -> &Boxes {
        &self.boxes
    }

    /// The last rollout.
    #[must_use]
    pub const fn rollout(&self) -> Option<&Rollout> {
        self.rollout.as_ref()
    }

    /// Whether everything it wants is done: what it decided is written down.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        !self.is_dirty && self.puts.is_empty() && self.wants.is_empty()
    }

    /// All boxes and the rollout.
    #[must_use]
    pub fn view(&self, now: Now) -> FleetView<'_> {
        let now_s = seconds(now);
        let rollout = self.rollout.as_ref();
        let boxes = self.boxes.iter();
        FleetView {
            now_s,
            boxes: boxes
                .map(|it| BoxView::of(&self.boxes, rollout, it, now_s))
                .collect(),
            rollout: rollout.map(|it| RolloutView::of(it, now_s)),
        }
    }

    fn answer(&mut self, now_s: i64, question: Question) -> Result<String, Refused> {
        let rollout = self.rollout.as_ref();
        let view = |it| BoxView::of(&self.boxes, rollout, it, now_s);
        match question {
            Question::Boxes { after, limit } => {
                let boxes = self.boxes.after(&after);
                let boxes = boxes.map(view).take(limit.min(PAGE_BOXES));
                Ok(json(&boxes.collect::<Vec<_>>()))
            }
            Question::Box(name) => match self.boxes.get(&name) {
                Some(known) => Ok(json(&view((&name, known)))),
                None => Err(refused(404, "there is no such box")),
            },
            Question::Alarms => {
                let boxes = self.boxes.iter().map(view);
                let wrong = boxes.filter(|it| !it.alarms.is_empty()).take(PAGE_BOXES);
                Ok(json(&wrong.collect::<Vec<_>>()))
            }
            Question::Rollout => self.shown(now_s),
            Question::Start(plan, bundle) => self.start(now_s, *plan, bundle),
            Question::Pause(by) => self.change(now_s, |it| it.pause(&by).map(|()| Vec::new())),
            Question::Resume => self.change(now_s, |it| it.resume().map(|()| Vec::new())),
            Question::Abort(by) => self.change(now_s, |it| it.abort(&by)),
        }
    }

    fn shown(&self, now_s: i64) -> Result<String, Refused> {
        let rollout = self.rollout.as_ref();
        let rollout = rollout.ok_or_else(|| refused(404, "nothing was ever rolled out"))?;
        Ok(json(&RolloutView::of(rollout, now_s)))
    }

    fn start(&mut self, now_s: i64, plan: Plan, bundle: Vec<u8>) -> Result<String, Refused> {
        if !self.is_caught_up {
            return Err(refused(409, "the boxes are not all known yet: ask again"));
        }
        if self.rollout.as_ref().is_some_and(|it| !it.is_over()) {
            return Err(refused(409, "another rollout is under way: abort it first"));
        }
        let freight = Freight::read(&bundle).map_err(|why| refused(400, &why))?;
        let rollout = Rollout::begin(freight, plan, &self.boxes, now_s);
        let rollout = rollout.map_err(|why| refused(400, &why))?;
        let (version, all) = (rollout.version(), rollout.counts().all);
        self.rollout = Some(rollout);
        let bundle: Arc<[u8]> = bundle.into();
        self.bundle = Some(Arc::clone(&bundle));
        self.put(Bucket::Rollouts, BUNDLE_KEY, Some(bundle), None);
        self.is_dirty = true;
        let text = format!("version {version} is brought to {all} boxes");
        self.tell("started", version, text, false);
        self.shown(now_s)
    }

    fn change(
        &mut self,
        now_s: i64,
        change: impl FnOnce(&mut Rollout) -> Result<Vec<Want>, String>,
    ) -> Result<String, Refused> {
        let none = || refused(404, "nothing was ever rolled out");
        let rollout = self.rollout.as_mut().ok_or_else(none)?;
        let wants = change(rollout).map_err(|why| refused(409, &why))?;
        self.wants.extend(wants);
        self.is_dirty = true;
        self.tell_phase();
        self.shown(now_s)
    }

    /// Another one drove it before.
    fn go_on_with(&mut self, rollout: &[u8], bundle: Vec<u8>) {
        let Ok(rollout) = serde_json::from_slice::<Rollout>(rollout) else {
            return;
        };
        let is_it = Freight::read(&bundle).is_ok_and(|it| it.digest == rollout.freight.digest);
        if !rollout.is_over() && !is_it {
            return;
        }
        self.bundle = Some(bundle.into());
        self.rollout = Some(rollout);
    }

    fn look(&mut self, now: Now, now_s: i64) {
        self.wake = None;
        let free = PUTS_MAX.saturating_sub(self.puts.len() + self.wants.len());
        if self.is_caught_up
            && let Some(rollout) = &mut self.rollout
        {
            let (before, wave) = (rollout.phase.clone(), rollout.wave);
            let (wants, is_news) = rollout.step(now_s, &self.boxes, free);
            let is_other = rollout.phase != before || rollout.wave != wave;
            self.wake = rollout.wakes_s(now_s).map(|at| wake(now, at - now_s));
            self.wants.extend(wants);
            self.is_dirty |= is_news;
            if is_other {
                // The next phase may want something at once.
                self.wake = Some(now.mono);
                self.tell_phase();
            }
            self.told_wave(free);
        }
        self.carry_out();
        self.save(now, now_s);
    }

    /// Says once that all boxes of a wave are told.
    fn told_wave(&mut self, free: usize) {
        let Some(rollout) = &self.rollout else { return };
        let size = rollout.size(rollout.wave);
        let is_told = rollout.counts_of(0, size).told == size;
        if free == 0 || !is_told || self.wants.is_empty() || rollout.is_over() {
            return;
        }
        let (version, all) = (rollout.version(), rollout.order.len());
        let text = format!("wave {}: {size} of {all} boxes are told", rollout.wave + 1);
        self.tell("wave", version, text, false);
    }

    fn carry_out(&mut self) {
        while self.puts.len() < PUTS_MAX {
            match self.wants.pop_front() {
                None => return,
                Some(Want::Tell(name)) => {
                    let bundle = self.bundle.clone();
                    self.put(
                        Bucket::Configurations,
                        &format!("device.{name}"),
                        bundle,
                        Some(name),
                    );
                }
                Some(Want::Withdraw(name)) => {
                    self.put(
                        Bucket::Configurations,
                        &format!("device.{name}"),
                        None,
                        None,
                    );
                }
            }
        }
    }

    fn put(&mut self, bucket: Bucket, key: &str, value: Option<Arc<[u8]>>, tells: Option<String>) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.puts.push((ticket, tells));
        self.out.push_back(Output::Put {
            ticket,
            bucket,
            key: key.to_owned(),
            value,
        });
    }

    /// What could not be put is put again with the next look.
    fn wrote(&mut self, ticket: u64, result: Result<(), String>) {
        let Some(at) = self.puts.iter().position(|(it, _)| *it == ticket) else {
            return;
        };
        let (_, tells) = self.puts.swap_remove(at);
        let Err(why) = result else { return };
        self.is_dirty = true;
        let Some(rollout) = &mut self.rollout else {
            return;
        };
        let version = rollout.version();
        if let Some(member) = tells.and_then(|name| rollout.members.get_mut(&name)) {
            member.told_s = None;
            member.fate = crate::Fate::Untold;
        }
        self.tell(
            "hub_refused",
            version,
            format!("the hub does not take it: {why}"),
            true,
        );
    }

    /// Members change one by one: written down now and then, and at each turn of the whole.
    fn save(&mut self, now: Now, now_s: i64) {
        let Some(rollout) = &self.rollout else { return };
        if !self.is_dirty {
            return;
        }
        let next_s = self.saved_s.saturating_add(SAVE_EVERY_SECONDS);
        let is_turn = self.saved_phase.as_ref() != Some(&rollout.phase);
        if now_s < next_s && !is_turn {
            let at = wake(now, next_s - now_s);
            self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
            return;
        }
        let bytes = serde_json::to_vec(rollout).unwrap_or_default();
        self.saved_s = now_s;
        self.saved_phase = Some(rollout.phase.clone());
        self.is_dirty = false;
        self.put(Bucket::Rollouts, KEY, Some(bytes.into()), None);
    }

    fn tell_phase(&mut self) {
        let Some(rollout) = &self.rollout else { return };
        let (version, counts) = (rollout.version(), rollout.counts());
        let wave = rollout.wave + 1;
        let (kind, text, is_bad) = match &rollout.phase {
            Phase::Telling => ("telling", format!("wave {wave} begins"), false),
            Phase::Baking(_) => {
                let bake_s = rollout.plan.bake_s;
                (
                    "baking",
                    format!("wave {wave} is well; the next one in {bake_s} s"),
                    false,
                )
            }
            Phase::Paused(by) => ("paused", format!("paused{}", said_by(by)), false),
            Phase::Done => {
                let absent = match counts.absent {
                    0 => String::new(),
                    absent => format!(", {absent} take it when they are there again"),
                };
                let failed = match counts.failed {
                    0 => String::new(),
                    failed => format!(", it failed on {failed}"),
                };
                let (confirmed, all) = (counts.confirmed, counts.all);
                let on = if confirmed == all {
                    "all ".to_owned()
                } else {
                    format!("{confirmed} of ")
                };
                let text = format!("version {version} is on {on}{all} boxes{absent}{failed}");
                ("done", text, false)
            }
            Phase::Stopped(why) => ("stopped", format!("stopped: {why}"), true),
            Phase::Aborted(by) => ("aborted", format!("aborted{}", said_by(by)), true),
        };
        self.tell(kind, version, text, is_bad);
    }

    fn tell(&mut self, kind: &'static str, version: u64, text: String, is_bad: bool) {
        self.out.push_back(Output::Step(Step {
            kind,
            version,
            text,
            is_bad,
        }));
    }
}

fn said_by(by: &str) -> String {
    if by.is_empty() {
        String::new()
    } else {
        format!(" by {by}")
    }
}

fn refused(code: u16, why: &str) -> Refused {
    Refused {
        code,
        why: why.to_owned(),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn wake(now: Now, after_s: i64) -> Instant {
    now.mono + Duration::from_secs(u64::try_from(after_s).unwrap_or(0))
}

/// Since 1970.
fn seconds(now: Now) -> i64 {
    now.wall.as_nanos().div_euclid(1_000_000_000)
}
