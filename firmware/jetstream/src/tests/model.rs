//! A stream against a list with limits: random work, and now and then the power goes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use frond_clock::{Rng, Timestamp};

use super::world::{TENANT, World};

#[derive(Clone, Debug)]
struct Kept {
    subject: String,
    payload: String,
    time: Timestamp,
}

/// What nats-server's documentation says a stream with these limits holds.
#[derive(Clone, Debug, Default)]
struct Model {
    messages: BTreeMap<u64, Kept>,
    last: u64,
    ids: BTreeMap<String, (u64, Timestamp)>,
    unsure: BTreeSet<String>,
    max_messages: usize,
    max_bytes: usize,
    max_per_subject: usize,
    max_age: Duration,
}

const WINDOW: Duration = Duration::from_secs(20);

impl Model {
    fn publish(&mut self, now: Timestamp, subject: &str, payload: &str, id: &str) -> (u64, bool) {
        self.ids.retain(|_, (_, time)| now.since(*time) < WINDOW);
        if let Some((seq, _)) = self.ids.get(id) {
            return (*seq, true);
        }
        self.last += 1;
        self.ids.insert(id.to_owned(), (self.last, now));
        let kept = Kept {
            subject: subject.into(),
            payload: payload.into(),
            time: now,
        };
        self.messages.insert(self.last, kept);
        self.keep_limits(now);
        (self.last, false)
    }

    fn keep_limits(&mut self, now: Timestamp) {
        self.messages
            .retain(|_, kept| now.since(kept.time) < self.max_age);
        let subjects: Vec<String> = self.messages.values().map(|k| k.subject.clone()).collect();
        for subject in subjects {
            let of: Vec<u64> = self.seqs(&subject);
            let over = of.len().saturating_sub(self.max_per_subject);
            of.iter()
                .take(over)
                .for_each(|seq| drop(self.messages.remove(seq)));
        }
        while self.messages.len() > self.max_messages || self.bytes() > self.max_bytes {
            self.messages.pop_first();
        }
    }

    fn seqs(&self, subject: &str) -> Vec<u64> {
        let of = self
            .messages
            .iter()
            .filter(|(_, kept)| kept.subject == subject);
        of.map(|(seq, _)| *seq).collect()
    }

    /// Every message has a header: its id.
    fn bytes(&self) -> usize {
        let header = |id: &str| format!("NATS/1.0\r\nNats-Msg-Id: {id}\r\n\r\n").len();
        let size =
            |kept: &Kept| 22 + kept.subject.len() + 4 + header("0000") + kept.payload.len() + 8;
        self.messages.values().map(size).sum()
    }

    fn first(&self) -> u64 {
        self.messages
            .keys()
            .next()
            .copied()
            .unwrap_or(self.last + 1)
    }
}

#[test]
fn a_stream_is_a_list_with_limits() {
    for seed in 0..12 {
        let mut rng = Rng::seeded(seed);
        let mut model = Model {
            max_messages: 5 + rng.below(40) as usize,
            max_bytes: 500 + rng.below(4000) as usize,
            max_per_subject: 1 + rng.below(10) as usize,
            max_age: Duration::from_secs(20 + rng.below(60)),
            ..Model::default()
        };
        let mut world = World::new();
        world.create("S", &format!(
            r#""subjects":["s.*"],"max_msgs":{},"max_bytes":{},"max_msgs_per_subject":{},"max_age":{},"duplicate_window":{}"#,
            model.max_messages,
            model.max_bytes,
            model.max_per_subject,
            model.max_age.as_nanos(),
            WINDOW.as_nanos(),
        ));
        for _ in 0..400 {
            step(&mut rng, &mut world, &mut model);
            check(seed, &mut world, &model);
        }
    }
}

fn step(rng: &mut Rng, world: &mut World, model: &mut Model) {
    let subject = format!("s.{}", rng.below(6));
    match rng.below(20) {
        0 => {
            // Nothing waits, so nothing is lost; but whether ids of messages that are gone are
            // still known depends on what was written of their going, as in nats-server.
            world.restart();
            let gone = model
                .ids
                .iter()
                .filter(|(_, (seq, _))| !model.messages.contains_key(seq));
            let gone: Vec<String> = gone.map(|(id, _)| id.clone()).collect();
            model.ids.retain(|id, _| !gone.contains(id));
            model.unsure.extend(gone);
        }
        1 => {
            world.pass(Duration::from_secs(rng.below(15)));
            model.keep_limits(world.now.wall);
        }
        2 => {
            let seq = rng.below(model.last + 2);
            let body = format!("{{\"seq\":{seq}}}");
            let answer = world.ask("$JS.API.STREAM.MSG.DELETE.S", &body);
            assert_eq!(
                answer.contains("success"),
                model.messages.remove(&seq).is_some()
            );
        }
        3 if rng.below(3) == 0 => {
            let keep = rng.below(4) as usize;
            let body = format!("{{\"filter\":\"{subject}\",\"keep\":{keep}}}");
            let of = model.seqs(&subject);
            let gone = of.len().saturating_sub(keep);
            of.iter()
                .take(gone)
                .for_each(|seq| drop(model.messages.remove(seq)));
            let answer = world.ask("$JS.API.STREAM.PURGE.S", &body);
            assert!(answer.contains(&format!("\"purged\":{gone}")), "{answer}");
        }
        _ => {
            let id = format!("{:04}", rng.below(500));
            if model.unsure.contains(&id) {
                return;
            }
            let payload = "x".repeat(rng.below(60) as usize);
            let answer = world.ask_with(&subject, &[("Nats-Msg-Id", &id)], &payload);
            let (seq, again) = model.publish(world.now.wall, &subject, &payload, &id);
            let duplicate = if again { ",\"duplicate\": true" } else { "" };
            assert_eq!(
                answer,
                format!("{{\"stream\":\"S\",\"seq\":{seq}{duplicate}}}")
            );
        }
    }
}

fn check(seed: u64, world: &mut World, model: &Model) {
    let got: Vec<u64> = {
        let view = world.streams.view();
        let stream = view.streams(TENANT).next().unwrap();
        assert_eq!(
            (
                stream.messages,
                stream.bytes,
                stream.first_seq,
                stream.last_seq
            ),
            (
                model.messages.len() as u64,
                model.bytes() as u64,
                model.first(),
                model.last
            ),
            "seed {seed}"
        );
        assert!(stream.messages <= model.max_messages as u64);
        let host = world.streams.hosts.values().next().unwrap();
        host.stream.contents.from(0).map(|(seq, _)| seq).collect()
    };
    assert_eq!(
        got,
        model.messages.keys().copied().collect::<Vec<_>>(),
        "seed {seed}"
    );
    for subject in ["s.0", "s.3"] {
        let of = model.seqs(subject);
        let contents = &world.streams.hosts.values().next().unwrap().stream.contents;
        let filter = [Box::from(subject)];
        assert_eq!(contents.count(0, &filter), of.len() as u64);
        assert_eq!(contents.last_match(&filter), of.last().copied());
        let from = model.last / 2;
        let after = of.iter().filter(|seq| **seq >= from).count() as u64;
        assert_eq!(contents.count(from, &filter), after);
        for seq in of.iter().copied() {
            let next = of.iter().copied().find(|other| *other > seq);
            assert_eq!(contents.next(seq + 1, &filter), next);
        }
        assert_eq!(
            contents.next(from, &filter),
            of.iter().copied().find(|seq| *seq >= from)
        );
        let wild = [Box::from("s.*")];
        let expected = model.messages.range(from..).next().map(|(seq, _)| *seq);
        assert_eq!(contents.next(from, &wild), expected);
        let upto = of.iter().copied().rfind(|seq| *seq <= from);
        assert_eq!(
            contents.last_by_subject(from, &filter),
            Vec::from_iter(upto)
        );
    }
    if let Some((seq, kept)) = model.messages.iter().next_back() {
        let answer = world.ask("$JS.API.STREAM.MSG.GET.S", &format!("{{\"seq\":{seq}}}"));
        let data = data_encoding::BASE64.encode(kept.payload.as_bytes());
        let has_data = data.is_empty() || answer.contains(&format!("\"data\":\"{data}\""));
        assert!(has_data && answer.contains(&kept.subject), "{answer}");
    }
}
