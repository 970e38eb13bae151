//! Messages that live as long as they say, against a list of them.

use std::collections::BTreeMap;
use std::time::Duration;

use frond_clock::{Ages, Gap, Rng, Timestamp, Trust};

use super::world::World;

#[derive(Clone, Debug)]
struct Kept {
    subject: String,
    time: Timestamp,
    ttl: Option<u64>,
    is_endless: bool,
    is_marker: bool,
}

#[derive(Debug, Default)]
struct Model {
    messages: BTreeMap<u64, Kept>,
    last: u64,
    max_age: Option<Duration>,
    max_per_subject: Option<usize>,
    marker: Option<u64>,
}

impl Model {
    fn add(&mut self, kept: Kept, is_rollup: bool) {
        self.last += 1;
        let subject = kept.subject.clone();
        self.messages.insert(self.last, kept);
        let keep = if is_rollup {
            Some(1)
        } else {
            self.max_per_subject
        };
        while keep.is_some_and(|keep| self.of(&subject).len() > keep) {
            let first = self.of(&subject)[0];
            self.messages.remove(&first);
        }
    }

    fn of(&self, subject: &str) -> Vec<u64> {
        let of = self
            .messages
            .iter()
            .filter(|(_, kept)| kept.subject == subject);
        of.map(|(seq, _)| *seq).collect()
    }

    fn end(&self, kept: &Kept) -> Option<Timestamp> {
        let aged = self
            .max_age
            .filter(|_| !kept.is_endless)
            .map(|age| kept.time + age);
        let over = kept.ttl.map(|ttl| kept.time + Duration::from_secs(ttl));
        aged.into_iter().chain(over).min()
    }

    /// What is over leaves in the order of its time, the oldest first.
    fn pass(&mut self, now: Timestamp) {
        loop {
            let ends = self.messages.iter();
            let ends = ends.filter_map(|(seq, kept)| Some((self.end(kept)?, *seq)));
            let Some((end, seq)) = ends.min().filter(|(end, _)| *end <= now) else {
                return;
            };
            let gone = self.messages[&seq].clone();
            let is_last = self.of(&gone.subject).len() == 1;
            if let Some(ttl) = self.marker.filter(|_| is_last && !gone.is_marker) {
                let marker = Kept {
                    time: end,
                    ttl: Some(ttl),
                    is_endless: false,
                    is_marker: true,
                    ..gone
                };
                self.add(marker, true);
            } else {
                self.messages.remove(&seq);
            }
        }
    }
}

fn seqs(world: &World) -> Vec<u64> {
    let host = world.streams.hosts.values().next().unwrap();
    host.stream.contents.from(0).map(|(seq, _)| seq).collect()
}

#[test]
fn messages_live_as_long_as_they_say() {
    for seed in 0..24 {
        let mut rng = Rng::seeded(seed);
        let mut model = Model {
            max_age: (seed % 3 == 0).then(|| Duration::from_secs(5 + rng.below(20))),
            max_per_subject: (seed % 2 == 0).then(|| 1 + rng.below(4) as usize),
            marker: (seed % 4 > 1).then(|| 1 + rng.below(6)),
            ..Model::default()
        };
        let mut world = World::new();
        let storage = if seed % 5 == 4 { "memory" } else { "file" };
        world.create("S", &format!(
            r#""subjects":["s.*"],"storage":"{storage}","allow_msg_ttl":true,"duplicate_window":100000000,"max_age":{},"max_msgs_per_subject":{},"subject_delete_marker_ttl":{}"#,
            model.max_age.map_or(0, |age| age.as_nanos()),
            model.max_per_subject.map_or(-1, |max| max as i64),
            model.marker.map_or(0, |ttl| ttl * 1_000_000_000),
        ));
        for step in 0..300 {
            match rng.below(8) {
                0 if storage == "file" => {
                    world.restart();
                    world.pass(Duration::ZERO);
                }
                1 | 2 => {
                    world.pass(Duration::from_millis(rng.below(4000)));
                    model.pass(world.now.wall);
                }
                _ => publish(&mut rng, &mut world, &mut model),
            }
            let expected: Vec<u64> = model.messages.keys().copied().collect();
            assert_eq!(seqs(&world), expected, "seed {seed} step {step}");
        }
    }
}

fn publish(rng: &mut Rng, world: &mut World, model: &mut Model) {
    let subject = format!("s.{}", rng.below(5));
    let mut seconds = 1 + rng.below(8);
    let ttl = match rng.below(4) {
        0 => "never".to_owned(),
        1 => format!("{seconds}"),
        2 => format!("{seconds}s"),
        _ => String::new(),
    };
    let headers = [("Nats-TTL", ttl.as_str()), ("X", "y")];
    let answer = world.ask_with(&subject, &headers, "x");
    if model.max_per_subject != Some(1) {
        seconds = seconds.max(model.marker.unwrap_or(0));
    }
    let kept = Kept {
        subject,
        time: world.now.wall,
        ttl: Some(seconds).filter(|_| !ttl.is_empty() && ttl != "never"),
        is_endless: ttl == "never",
        is_marker: false,
    };
    model.add(kept, false);
    assert_eq!(
        answer,
        format!("{{\"stream\":\"S\",\"seq\":{}}}", model.last)
    );
}

#[test]
fn a_marker_takes_the_place_of_the_last_message_of_a_subject() {
    let mut world = World::new();
    let config = r#""subjects":["s.*"],"subject_delete_marker_ttl":2500000000"#;
    world.create("S", config);
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(info.contains("\"allow_msg_ttl\":true") && info.contains("\"allow_rollup_hdrs\":true"));
    world.ask_with("s.a", &[("Nats-TTL", "1s")], "x");
    let get = |world: &mut World, seq: u64| {
        world.ask("$JS.API.STREAM.MSG.GET.S", &format!("{{\"seq\":{seq}}}"))
    };
    let renewed = data_encoding::BASE64.encode(b"NATS/1.0\r\nNats-TTL: 2\r\n\r\n");
    assert!(get(&mut world, 1).contains(&renewed));
    world.pass(Duration::from_millis(2100));
    assert!(get(&mut world, 1).contains("10037"));
    let marker =
        b"NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: 2s\r\nNats-Rollup: sub\r\n\r\n";
    let marker = data_encoding::BASE64.encode(marker);
    let answer = get(&mut world, 2);
    assert!(
        answer.contains(&marker) && !answer.contains("\"data\""),
        "{answer}"
    );
    // The marker leaves none, also when the power goes before it is over.
    world.restart();
    world.pass(Duration::from_millis(2100));
    assert!(seqs(&world).is_empty());
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(info.contains("\"first_seq\":3"), "{info}");
}

#[test]
fn a_message_stays_until_its_marker_is_kept() {
    let mut world = World::new();
    world.create(
        "S",
        r#""subjects":["s.*"],"subject_delete_marker_ttl":1000000000"#,
    );
    world.ask_with("s.a", &[("Nats-TTL", "1s")], "x");
    world.is_prompt = false;
    world.pass(Duration::from_secs(2));
    assert_eq!(seqs(&world), [1]);
    world.disk_refuses(frond_ledger::DiskFault::Full);
    world.pass(Duration::from_secs(2));
    assert!(world.queue.is_empty() && seqs(&world) == [1]);
    world.input(crate::Input::DiskFree(1));
    world.is_prompt = true;
    world.pass(Duration::from_millis(1));
    assert_eq!(seqs(&world), [2]);
}

#[test]
fn nothing_is_over_while_nobody_knows_the_time() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.*"],"allow_msg_ttl":true"#);
    let untrusted = Ages {
        trust: Trust::Untrusted,
        gaps: Vec::new(),
    };
    world.judge_ages(untrusted, Duration::ZERO);
    let from = world.now.wall;
    world.ask_with("s.a", &[("Nats-TTL", "5s")], "x");
    world.pass(Duration::from_secs(60));
    assert_eq!(seqs(&world), [1]);
    let until = world.now.wall + Duration::from_secs(3600);
    let lag = Duration::from_secs(3600 + 56);
    let gaps = vec![Gap { from, until, lag }];
    world.judge_ages(
        Ages {
            trust: Trust::Trusted,
            gaps,
        },
        Duration::from_secs(3600),
    );
    world.pass(Duration::from_millis(900));
    assert_eq!(seqs(&world), [1]);
    world.restart();
    world.pass(Duration::from_millis(200));
    assert!(seqs(&world).is_empty());
}

#[test]
fn what_asks_for_a_life_is_refused_where_there_is_none() {
    let mut world = World::new();
    world.create("P", r#""subjects":["p"]"#);
    world.create("S", r#""subjects":["s.*"],"allow_msg_ttl":true"#);
    for (subject, ttl, code) in [
        ("p", "5s", "10166"),
        ("p", "never", "10166"),
        ("p", "soon", "10165"),
        ("s.a", "0", "10165"),
        ("s.a", "10ms", "10165"),
    ] {
        let answer = world.ask_with(subject, &[("Nats-TTL", ttl)], "");
        assert!(answer.contains(code), "{subject} {ttl}: {answer}");
    }
}

#[test]
fn a_marker_that_is_not_kept_leaves_the_others_alone() {
    let mut world = World::new();
    world.create(
        "S",
        r#""subjects":["s.*"],"max_age":10000000000,"subject_delete_marker_ttl":60000000000"#,
    );
    for subject in ["s.a", "s.b"] {
        world.ask(subject, "x");
        world.pass(Duration::from_secs(1));
    }
    world.is_prompt = false;
    world.pass(Duration::from_secs(10));
    assert_eq!(world.queue.len(), 2);
    for _ in 0..2 {
        world.disk_refuses(frond_ledger::DiskFault::Full);
        world.input(crate::Input::DiskFree(1));
        world.pass(Duration::ZERO);
        assert_eq!(seqs(&world), [1, 2]);
    }
    world.is_prompt = true;
    world.drain();
    world.pass(Duration::from_secs(1));
    let subjects = |world: &World| {
        let host = world.streams.hosts.values().next().unwrap();
        host.stream.contents.subjects().len()
    };
    assert_eq!((seqs(&world).len(), subjects(&world)), (2, 2));
    world.restart();
    assert_eq!((seqs(&world).len(), subjects(&world)), (2, 2));
}
