use std::collections::VecDeque;
use std::sync::Arc;

use frond_clock::{Instant, Now};

use crate::leaves::Leaves;
use crate::limits::{ANSWER_BYTES_MAX, PAGE_BOXES, SILENT_SECONDS, WITHDRAWALS_MAX};
use crate::plan::Freight;
use crate::rollout::Want;
use crate::{
    BoxView, Boxes, Bucket, FleetView, Input, Leaf, LeafView, Output, Phase, Pin, Plan, Question,
    Refused, Rollout, RolloutView,
};

mod driving;
#[cfg(test)]
mod tests;

use driving::{BundleIs, Errand, Former, wake};

/// The boxes of a hub, and the one rollout there may be.
#[derive(Debug)]
pub struct Fleet {
    boxes: Boxes,
    leaves: Leaves,
    is_caught_up: bool,
    rollout: Option<Rollout>,
    bundle: Option<Arc<[u8]>>,
    bundle_is: BundleIs,
    next_ticket: u64,
    /// Puts that are under way.
    puts: Vec<(u64, Errand)>,
    /// The turn of the rollout that is being written down: until it is, nothing is done about it,
    /// and who asked for it is not answered.
    turn: Option<u64>,
    unanswered: Vec<(u64, Result<String, Refused>)>,
    withdrawals_left: u32,
    /// When all members were looked at last.
    looked_s: i64,
    /// Who is told next, or what is taken away.
    wants: VecDeque<Want>,
    /// Saves of the rollout that were put, and the last one that is on the hub's disk.
    saves: (u64, u64),
    /// Who waits to be told waits for that save, which says so.
    told_by: u64,
    /// What was there before the rollout that is yet to be written down.
    former: Option<Former>,
    /// When the rollout was last written down, in seconds since 1970; whether it changed since.
    saved_s: i64,
    saved_phase: Option<Phase>,
    is_dirty: bool,
    wake: Option<Instant>,
    out: VecDeque<Output>,
}

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
            leaves: Leaves::default(),
            is_caught_up: false,
            rollout: None,
            bundle: None,
            bundle_is: BundleIs::Kept,
            next_ticket: 1,
            puts: Vec::new(),
            turn: None,
            unanswered: Vec::new(),
            withdrawals_left: WITHDRAWALS_MAX,
            looked_s: i64::MIN,
            wants: VecDeque::new(),
            saves: (0, 0),
            told_by: 0,
            former: None,
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
        let is_of_one = matches!(input, Input::Report { .. } | Input::Wrote(..));
        match input {
            Input::Report { name, said, .. } if Leaves::is_key(&name) => {
                self.leaves.take(&name, &said);
            }
            Input::Lines(lines) => self.see(lines),
            Input::Report { name, seen_s, said } => self.hear(now_s, &name, seen_s, &said),
            Input::CaughtUp => self.is_caught_up = true,
            Input::Kept { rollout, bundle } => self.go_on_with(&rollout, bundle),
            Input::Asked(ask, question) => {
                let changes = question.changes();
                let answer = self.answer(now_s, question);
                if changes && answer.is_ok() {
                    self.unanswered.push((ask, answer));
                } else {
                    self.out.push_back(Output::Answer(ask, answer));
                }
            }
            Input::Wrote(ticket, result) => self.wrote(ticket, result),
            Input::Time => {}
        }
        // A thousand boxes speak in ten seconds, and are told in one: what becomes of all of them is
        // looked at each second.
        if is_of_one && self.looked_s == now_s && self.unanswered.is_empty() {
            if self.is_written() {
                self.carry_out();
            }
            let next = wake(now, 1);
            self.wake = Some(self.wake.map_or(next, |wake| wake.min(next)));
            return;
        }
        self.looked_s = now_s;
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
            leaves: self.leaves(now_s).collect(),
            rollout: rollout.map(|it| RolloutView::of(it, now_s)),
        }
    }

    /// Servers with a line to this hub that say nothing of themselves.
    fn leaves(&self, now_s: i64) -> impl Iterator<Item = LeafView<'_>> {
        let plain = self.leaves.plain(&self.boxes);
        plain.map(move |it| LeafView::of(it, now_s))
    }

    fn hear(&mut self, now_s: i64, name: &str, seen_s: i64, said: &[u8]) {
        if let Some(name) = Pin::name_of(name) {
            return self.boxes.take_pin(name, said);
        }
        if said.is_empty() {
            return self.boxes.forget(name);
        }
        if !self.boxes.take(name, seen_s, said) {
            return;
        }
        let attempt = self.boxes.attempt(name);
        self.out.extend(attempt.map(Output::Confirm));
        // Before that it is not known what the registry has of its key.
        if !self.is_caught_up {
            return;
        }
        if let Some((key, value)) = self.boxes.pin_to_put(name, now_s) {
            self.out.push_back(Output::Put {
                // Nobody waits for it: it is written again.
                ticket: 0,
                bucket: Bucket::Registry,
                key,
                value: Some(value.into()),
                replaces: None,
            });
        }
    }

    fn see(&mut self, lines: Vec<Leaf>) {
        for (key, said) in self.leaves.see(lines) {
            self.out.push_back(Output::Put {
                // Nobody waits for it: it is written again.
                ticket: 0,
                bucket: Bucket::Registry,
                key,
                value: Some(said.into()),
                replaces: None,
            });
        }
    }

    fn answer(&mut self, now_s: i64, question: Question) -> Result<String, Refused> {
        let rollout = self.rollout.as_ref();
        let view = |it| BoxView::of(&self.boxes, rollout, it, now_s);
        match question {
            Question::Boxes { after, limit } => {
                let boxes = self.boxes.after(&after).map(view);
                Ok(page(boxes.take(limit.min(PAGE_BOXES))))
            }
            Question::Box(name) => match self.boxes.get(&name) {
                Some(known) => Ok(json(&view((&name, known)))),
                None => Err(refused(404, "there is no such box")),
            },
            Question::Alarms => {
                let boxes = self.boxes.iter().map(view);
                let wrong = boxes.filter(|it| !it.alarms.is_empty()).take(PAGE_BOXES);
                Ok(page(wrong))
            }
            Question::Leaves => Ok(page(self.leaves(now_s))),
            Question::Rollout => self.shown(now_s),
            Question::Start(plan, bundle) => self.start(now_s, *plan, bundle),
            Question::Pause(by) => self.change(now_s, |it| it.pause(&by).map(|()| Vec::new())),
            Question::Resume => self.change(now_s, |it| it.resume().map(|()| it.tell_again())),
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
        if self.takes_back() {
            let why = "what the last rollout told is still taken back: ask again";
            return Err(refused(409, why));
        }
        let freight = Freight::read(&bundle).map_err(|why| refused(400, &why))?;
        let rollout = Rollout::begin(freight, plan, &self.boxes, now_s);
        let rollout = rollout.map_err(|why| refused(400, &why))?;
        let (version, all) = (rollout.version(), rollout.counts().all);
        self.former = Some(Former {
            rollout: self.rollout.replace(rollout),
            bundle: self.bundle.replace(bundle.into()),
            saved_phase: self.saved_phase.take(),
        });
        self.bundle_is = BundleIs::New;
        self.withdrawals_left = WITHDRAWALS_MAX;
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
        self.tell_no_more();
        let rollout = self.rollout.as_mut().ok_or_else(none)?;
        let wants = change(rollout).map_err(|why| refused(409, &why))?;
        self.wants.extend(wants);
        self.is_dirty = true;
        self.tell_phase();
        self.shown(now_s)
    }

    /// Another one drove it before.
    fn go_on_with(&mut self, rollout: &[u8], bundle: Vec<u8>) {
        let rollout = match serde_json::from_slice::<Rollout>(rollout) {
            Ok(rollout) => rollout,
            Err(error) => {
                let text = format!("what was kept of a rollout cannot be read: {error}");
                return self.tell("lost", 0, text, true);
            }
        };
        let is_it = Freight::read(&bundle).is_ok_and(|it| it.digest == rollout.freight.digest);
        if !rollout.is_over() && !is_it {
            let text = "what was kept beside a rollout is not its bundle: nobody goes on with it";
            return self.tell("lost", rollout.version(), text.to_owned(), true);
        }
        self.bundle = Some(bundle.into());
        // It is as it was written down.
        self.saved_phase = Some(rollout.phase.clone());
        // What was to be taken back may not be yet, nor may those be told who were to be.
        if matches!(rollout.phase, Phase::Stopped(_) | Phase::Aborted(_)) {
            self.wants.extend(rollout.withdraw());
        } else {
            self.wants.extend(rollout.tell_again());
        }
        self.rollout = Some(rollout);
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

/// As many as an answer has room for, and at least one.
fn page<T: serde::Serialize>(all: impl Iterator<Item = T>) -> String {
    let mut page = String::from("[");
    for one in all {
        let one = json(&one);
        if page.len() > 1 && page.len() + one.len() + 2 > ANSWER_BYTES_MAX {
            break;
        }
        if page.len() > 1 {
            page.push(',');
        }
        page.push_str(&one);
    }
    page.push(']');
    page
}

/// Since 1970.
fn seconds(now: Now) -> i64 {
    now.wall.as_nanos().div_euclid(1_000_000_000)
}
