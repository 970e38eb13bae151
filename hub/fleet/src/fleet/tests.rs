use std::time::Duration;

use frond_account::nkey::{KeyPair, Role};
use frond_clock::Timestamp;
use frond_ota::{Purpose, Sealed, Target};
use serde_json::{Value, json};

use super::*;
use crate::{Fate, Step, Unwritten, Wave, Window};

mod forged;
mod mishaps;
mod written;

/// Monday, 2 January 2023.
const MONDAY: i64 = 1_672_617_600;

fn bundle(version: u64, target: Target) -> Vec<u8> {
    let bundle = frond_ota::Bundle {
        version,
        issued_s: MONDAY,
        expires_s: MONDAY + 3600,
        targets: vec![target],
        downgrade_from: None,
        new_floor: None,
        window_s: None,
        by: "ann".into(),
        note: String::new(),
        config: String::new(),
        files: Vec::new(),
    };
    let mut sealed = Sealed::new(&bundle, Vec::new());
    let pair = KeyPair::from_random(Role::Operator, &[1; 32]);
    sealed.bundle.sign(Purpose::Bundle, &pair);
    sealed.encode()
}

/// What a box does with what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    Good,
    /// It goes back.
    Bad,
    /// It was never there since long ago.
    Gone,
    /// It confirms, and is never heard again.
    Falls,
    /// It is never heard again once it is told.
    Dies,
    /// It is there, and never makes up its mind.
    Slow,
}

/// A hub, and boxes that take a second for everything.
struct World {
    fleet: Fleet,
    now_s: i64,
    natures: Vec<Nature>,
    /// Number of the box and what it does, at its time.
    coming: Vec<(i64, usize, Value)>,
    held: std::collections::BTreeMap<String, Option<Vec<u8>>>,
    kept: Option<(Vec<u8>, Vec<u8>)>,
    steps: Vec<Step>,
    answers: Vec<Result<String, Refused>>,
    /// The first puts fail.
    hub_says_no: usize,
    /// What is kept of the rollout is not acknowledged.
    is_stuck: bool,
    stuck: Vec<u64>,
    /// Boxes sign what they say; how much they said.
    signs: Option<u64>,
    /// Nor is what boxes are told.
    is_slow: bool,
    slow: Vec<u64>,
}

fn name(at: usize) -> String {
    format!("till-{at:04}")
}

impl World {
    fn new(natures: Vec<Nature>) -> Self {
        Self::with(natures, SILENT_SECONDS)
    }

    /// Who says nothing for so many seconds is silent.
    fn with(natures: Vec<Nature>, silent_s: i64) -> Self {
        let mut world = Self {
            fleet: Fleet::new(silent_s),
            now_s: MONDAY,
            coming: Vec::new(),
            held: std::collections::BTreeMap::new(),
            kept: None,
            steps: Vec::new(),
            answers: Vec::new(),
            hub_says_no: 0,
            is_stuck: false,
            stuck: Vec::new(),
            signs: None,
            is_slow: false,
            slow: Vec::new(),
            natures,
        };
        for (at, nature) in world.natures.clone().into_iter().enumerate() {
            let ago = if nature == Nature::Gone { 86_400 } else { 1 };
            world.say(
                at,
                MONDAY - ago,
                &json!({ "groups": ["shops"], "state": "idle" }),
            );
        }
        world.take(Input::CaughtUp);
        world
    }

    fn now(&self) -> Now {
        let since = u64::try_from(self.now_s - MONDAY).unwrap();
        Now {
            mono: Instant::START + Duration::from_secs(since),
            wall: Timestamp::from_nanos(self.now_s * 1_000_000_000),
        }
    }

    fn say(&mut self, at: usize, seen_s: i64, said: &Value) {
        let said = match &mut self.signs {
            Some(round) => {
                *round += 1;
                forged::signed(at, *round, said)
            }
            None => said.to_string().into_bytes(),
        };
        self.hear(&name(at), seen_s, said);
    }

    fn hear(&mut self, name: &str, seen_s: i64, said: Vec<u8>) {
        self.take(Input::Report {
            name: name.to_owned(),
            seen_s,
            said,
        });
    }

    fn ask(&mut self, question: Question) -> Result<String, Refused> {
        self.take(Input::Asked(1, question));
        self.answers.pop().unwrap()
    }

    fn start(&mut self, plan: Plan) {
        let bundle = bundle(7, Target::Group("shops".into()));
        self.ask(Question::Start(Box::new(plan), bundle)).unwrap();
    }

    fn take(&mut self, input: Input) {
        self.fleet.handle(self.now(), input);
        while let Some(output) = self.fleet.poll() {
            match output {
                Output::Put {
                    ticket,
                    bucket,
                    key,
                    value,
                    ..
                } => self.put(ticket, bucket, &key, value),
                Output::Answer(_, answer) => self.answers.push(answer),
                Output::Step(step) => self.steps.push(step),
                Output::Confirm(_) => {}
            }
        }
    }

    fn put(&mut self, ticket: u64, bucket: Bucket, key: &str, value: Option<Arc<[u8]>>) {
        let value = value.map(|it| it.to_vec());
        if self.is_slow && bucket == Bucket::Configurations {
            self.held.insert(key.to_owned(), value);
            return self.slow.push(ticket);
        }
        if self.hub_says_no > 0 && bucket == Bucket::Configurations {
            self.hub_says_no -= 1;
            let no = Err(Unwritten::refused("no space".to_owned()));
            return self.fleet.handle(self.now(), Input::Wrote(ticket, no));
        }
        match (bucket, key) {
            (Bucket::Configurations, key) => {
                let at = key.strip_prefix("device.till-").unwrap().parse().unwrap();
                self.told(at, value.as_deref());
                self.held.insert(key.to_owned(), value);
            }
            (Bucket::Registry, _) => {}
            (Bucket::Rollouts, _) if self.is_stuck => return self.stuck.push(ticket),
            (Bucket::Rollouts, "bundle") => {
                self.kept = Some((Vec::new(), value.unwrap()));
            }
            (Bucket::Rollouts, _) => {
                self.kept.as_mut().unwrap().0 = value.unwrap();
            }
        }
        self.fleet.handle(self.now(), Input::Wrote(ticket, Ok(1)));
    }

    fn told(&mut self, at: usize, value: Option<&[u8]>) {
        let Some(bytes) = value else { return };
        let digest = Sealed::decode(bytes).unwrap().digest().to_string();
        let done = match self.natures[at] {
            Nature::Good | Nature::Falls => json!({ "active": { "version": 7, "digest": digest } }),
            Nature::Bad => mishaps::failed(at, &digest),
            Nature::Gone | Nature::Dies => return,
            Nature::Slow => json!({ "state": "trying" }),
        };
        self.coming.push((self.now_s + 1, at, done));
    }

    /// A second, in which everybody who is there says something now and then.
    fn second(&mut self) {
        self.now_s += 1;
        let (now, later) = core::mem::take(&mut self.coming)
            .into_iter()
            .partition(|(at, ..)| *at <= self.now_s);
        self.coming = later;
        let now: Vec<_> = now;
        for (_, at, said) in now {
            self.say(at, self.now_s, &said);
        }
        if self.now_s % 10 == 0 {
            self.speak();
        }
        self.take(Input::Time);
    }

    /// Everybody who is alive says the same again.
    fn speak(&mut self) {
        for at in 0..self.natures.len() {
            let is_told = self.held.contains_key(&format!("device.{}", name(at)));
            let is_mute = match self.natures[at] {
                Nature::Gone => true,
                Nature::Falls | Nature::Dies => is_told,
                Nature::Good | Nature::Bad | Nature::Slow => false,
            };
            if !is_mute && let Some(known) = self.fleet.boxes().get(&name(at)) {
                let said = serde_json::to_value(&known.status).unwrap();
                self.say(at, self.now_s, &said);
            }
        }
    }

    fn seconds_until(&mut self, most: usize, is_so: impl Fn(&Rollout) -> bool) -> usize {
        for at in 0..most {
            if is_so(self.fleet.rollout().unwrap()) {
                return at;
            }
            self.second();
        }
        panic!(
            "not within {most} s: {:?}",
            self.fleet.rollout().unwrap().counts()
        );
    }

    fn counts(&self) -> crate::Counts {
        self.fleet.rollout().unwrap().counts()
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.steps.iter().map(|it| it.kind).collect()
    }
}

fn quick() -> Plan {
    Plan {
        bake_s: 10,
        wave_s: 30,
        ..Plan::default()
    }
}

#[test]
fn a_thousand_boxes_have_it_after_four_waves() {
    let mut world = World::new(vec![Nature::Good; 1000]);
    world.start(quick());
    let mut sizes = Vec::new();
    for _ in 0..4 {
        world.seconds_until(200, |it| {
            it.is_over() || matches!(it.phase, Phase::Baking(_))
        });
        sizes.push(world.counts().told);
        world.seconds_until(200, |it| it.is_over() || it.phase == Phase::Telling);
    }
    assert_eq!(sizes, [1, 50, 250, 1000]);
    assert_eq!(world.fleet.rollout().unwrap().phase, Phase::Done);
    assert_eq!(world.counts().confirmed, 1000);
    let last = world.steps.last().unwrap();
    assert_eq!(last.text, "version 7 is on all 1000 boxes");
    assert!(world.fleet.is_settled());
}

#[test]
fn it_stops_by_itself_at_the_failure_share_and_the_rest_hears_nothing() {
    let mut natures = vec![Nature::Good; 1000];
    for at in (60..1000).step_by(10) {
        natures[at] = Nature::Bad;
    }
    let mut world = World::new(natures);
    world.start(quick());
    world.seconds_until(300, Rollout::is_over);
    let counts = world.counts();
    let Phase::Stopped(why) = world.fleet.rollout().unwrap().phase.clone() else {
        panic!("it stopped");
    };
    assert!(why.contains(&format!(" of {} boxes", counts.told)), "{why}");
    assert!(counts.failed * 100 > counts.told * 5, "{counts:?}");
    assert!(counts.told <= 250, "{counts:?}");
    let held = world.held.len();
    for _ in 0..100 {
        world.second();
    }
    assert_eq!(world.held.len(), held);
    // Those that were under way make up their minds all the same.
    assert_eq!(world.counts().pending, 0);
}

#[test]
fn who_makes_no_decision_in_time_counts_as_failed() {
    let mut natures = vec![Nature::Good; 20];
    natures[0] = Nature::Slow;
    let mut world = World::new(natures);
    world.start(quick());
    world.seconds_until(60, Rollout::is_over);
    assert_eq!(world.counts().failed, 1);
    assert!(
        world
            .steps
            .last()
            .unwrap()
            .text
            .contains("did not confirm in time")
    );
    // And what it was told is taken from its place.
    assert_eq!(world.held[&format!("device.{}", name(0))], None);
}

#[test]
fn who_is_not_there_holds_nobody_up_and_goes_last() {
    let mut natures = vec![Nature::Gone; 5];
    natures.extend([Nature::Good; 15]);
    let mut world = World::new(natures);
    world.start(quick());
    world.seconds_until(200, Rollout::is_over);
    let counts = world.counts();
    assert_eq!((counts.confirmed, counts.absent), (15, 5));
    assert_eq!(world.fleet.rollout().unwrap().phase, Phase::Done);
    // It is there for them when they are.
    assert!(world.held[&format!("device.{}", name(0))].is_some());

    let mut world = World::new(vec![Nature::Gone; 3]);
    world.start(quick());
    world.seconds_until(200, Rollout::is_over);
    assert!(matches!(
        world.fleet.rollout().unwrap().phase,
        Phase::Stopped(_)
    ));
    let held = world.held.get(&format!("device.{}", name(0)));
    assert_eq!(held.cloned().flatten(), None);
}

#[test]
fn people_pause_it_go_on_and_end_it() {
    let mut world = World::new(vec![Nature::Good; 100]);
    world.start(quick());
    world.seconds_until(60, |it| matches!(it.phase, Phase::Baking(_)));
    world.ask(Question::Pause("ann".into())).unwrap();
    for _ in 0..100 {
        world.second();
    }
    assert_eq!(world.counts().told, 1);
    assert_eq!(
        world.ask(Question::Pause("ann".into())).unwrap_err().code,
        409
    );
    let another = bundle(8, Target::Everyone);
    let asked = world.ask(Question::Start(Box::default(), another));
    assert_eq!(asked.unwrap_err().code, 409);
    world.ask(Question::Resume).unwrap();
    world.seconds_until(60, |it| it.counts().told == 5);
    world.ask(Question::Abort("ann".into())).unwrap();
    let told = world.held.len();
    for _ in 0..100 {
        world.second();
    }
    assert_eq!(world.held.len(), told);
    assert_eq!(world.ask(Question::Resume).unwrap_err().code, 409);
    for kind in ["started", "wave", "baking", "paused", "aborted"] {
        assert!(world.kinds().contains(&kind), "{kind}: {:?}", world.kinds());
    }
}

#[test]
fn boxes_are_told_in_windows_only_and_not_all_at_once() {
    let plan = Plan {
        waves: vec![Wave::Percent(100)],
        windows: vec![Window::parse("00:10-00:20").unwrap()],
        jitter_s: 100,
        wave_s: 200,
        ..quick()
    };
    let mut world = World::new(vec![Nature::Good; 50]);
    world.start(plan);
    let shown = world.ask(Question::Rollout).unwrap();
    assert!(shown.contains("\"state\":\"waiting\""), "{shown}");
    let waited = world.seconds_until(1000, |it| it.counts().told > 0);
    assert!((599..=602).contains(&waited), "{waited}");

    let plan = Plan {
        windows: Vec::new(),
        ..Plan {
            waves: vec![Wave::Percent(100)],
            jitter_s: 100,
            wave_s: 200,
            ..quick()
        }
    };
    let mut world = World::new(vec![Nature::Good; 50]);
    world.start(plan);
    let mut most = 0;
    for _ in 0..102 {
        let before = world.counts().told;
        world.second();
        most = most.max(world.counts().told - before);
    }
    assert_eq!(world.counts().told, 50);
    assert!(most < 10, "{most} in a second");
}

#[test]
fn another_one_goes_on_where_it_was_left() {
    let mut world = World::new(vec![Nature::Good; 100]);
    world.start(quick());
    world.seconds_until(100, |it| it.counts().confirmed == 5);
    for _ in 0..3 {
        world.second();
    }
    let (rollout, bundle) = world.kept.clone().unwrap();
    let mut next = World::new(vec![Nature::Good; 100]);
    next.now_s = world.now_s;
    next.kept = world.kept.clone();
    // Those that have it say so again.
    for at in 0..100 {
        let value = world.held.get(&format!("device.{}", name(at)));
        next.told(at, value.cloned().flatten().as_deref());
    }
    next.take(Input::Kept { rollout, bundle });
    next.seconds_until(200, Rollout::is_over);
    assert_eq!(next.counts().confirmed, 100);
}

#[test]
fn questions_that_make_no_sense_are_refused_with_why() {
    let mut world = World::new(vec![Nature::Good; 3]);
    assert_eq!(world.ask(Question::Rollout).unwrap_err().code, 404);
    assert_eq!(world.ask(Question::Box("x".into())).unwrap_err().code, 404);
    let nobody = bundle(1, Target::Group("x".into()));
    for (plan, bytes) in [
        (Plan::default(), b"junk".to_vec()),
        (Plan::default(), nobody),
        (
            Plan {
                waves: Vec::new(),
                ..quick()
            },
            bundle(1, Target::Everyone),
        ),
        (
            Plan {
                first: vec!["x".into()],
                ..quick()
            },
            bundle(1, Target::Everyone),
        ),
    ] {
        let refused = world
            .ask(Question::Start(Box::new(plan), bytes))
            .unwrap_err();
        assert_eq!(refused.code, 400, "{refused:?}");
    }
    let page = Question::Boxes {
        after: name(0),
        limit: 1,
    };
    let boxes: Value = serde_json::from_str(&world.ask(page).unwrap()).unwrap();
    assert_eq!(boxes[0]["name"], name(1));
    assert_eq!(boxes.as_array().unwrap().len(), 1);
    let plan = Plan {
        first: vec![name(2)],
        ..quick()
    };
    let all = bundle(1, Target::Everyone);
    world.ask(Question::Start(Box::new(plan), all)).unwrap();
    world.second();
    let members = &world.fleet.rollout().unwrap().members;
    assert_ne!(members[&name(2)].fate, Fate::Untold);
    assert_eq!(members[&name(0)].fate, Fate::Untold);
}
