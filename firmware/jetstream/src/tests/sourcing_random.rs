//! Whatever happens to either side and to the link between them, in the end the hub has what
//! the leaf has: each message once and in order.

use std::collections::BTreeMap;
use std::time::Duration;

use frond_ledger::Recovered;
use frond_wire::Headers;

use super::pair::{HUB, LEAF, Pair};

const SUBJECTS: [&str; 4] = ["orders.a", "orders.b", "orders.c.d", "returns"];
const SEEDS: u64 = 60;

/// What the hub has of the leaf.
#[derive(Clone, Copy)]
enum How {
    Source,
    Filtered,
    Mirror,
    /// From a stream that lets go what was sourced.
    WorkQueue,
}

/// What the hub's disk gives back after the power went.
type Spoil = fn(&mut Recovered);

const SOUND: Spoil = |_| {};
/// A hub that forgets how far it came.
const FORGETFUL: Spoil = |recovered| recovered.values.clear();

fn world(seed: u64, how: How) -> Pair {
    let mut pair = Pair::new(seed);
    let retention = match how {
        How::Source | How::Filtered | How::Mirror => "",
        How::WorkQueue => r#","retention":"workqueue""#,
    };
    let subjects = format!(r#""subjects":["orders.>","returns"]{retention}"#);
    pair.create(LEAF, "ORDERS", &subjects);
    let origin = r#""name":"ORDERS","external":{"api":"$JS.shop-1.API"}"#;
    let config = match how {
        How::Source | How::WorkQueue => format!(r#""sources":[{{{origin}}}]"#),
        How::Filtered => format!(r#""sources":[{{{origin},"filter_subject":"orders.>"}}]"#),
        How::Mirror => format!(r#""mirror":{{{origin}}}"#),
    };
    pair.create(HUB, "ALL", &config);
    pair
}

/// Faults for a while; then none, and time to recover. What was acknowledged at the leaf.
fn live(seed: u64, how: How, spoil: Spoil) -> (Pair, Vec<(String, String)>) {
    let mut pair = world(seed, how);
    let mut promised = Vec::new();
    let mut number = 0;
    for _ in 0..150 {
        match pair.rng.below(20) {
            0..=7 => {
                number += 1;
                let subject = SUBJECTS[pair.rng.below(4) as usize];
                promised.push((
                    pair.send(LEAF, subject, number.to_string().as_bytes()),
                    subject,
                ));
            }
            8..=11 => {
                for _ in 0..pair.rng.below(40) {
                    pair.step();
                }
            }
            12 => pair.cut(),
            13 | 14 => pair.heal(),
            15 => {
                let ms = pair.rng.below(6000);
                pair.run(Duration::from_millis(ms));
            }
            16 => pair.restart(LEAF, SOUND),
            17 => pair.restart(HUB, spoil),
            18 => pair.refuse(HUB),
            _ => pair.loss = pair.rng.below(3) * 10,
        }
    }
    pair.loss = 0;
    pair.heal();
    pair.run(Duration::from_secs(60));
    let acked = |number: u64| {
        let to = format!("_R.{number}");
        let mut sent = pair.nodes[LEAF].sent.iter();
        sent.any(|m| m.subject() == to && m.message().payload.starts_with(b"{\"stream\""))
    };
    let kept = promised.iter().enumerate().filter(|(_, (n, _))| acked(*n));
    let kept = kept.map(|(at, (_, subject))| ((*subject).to_owned(), (at + 1).to_string()));
    let kept = kept.collect();
    (pair, kept)
}

type BySubject = BTreeMap<String, Vec<String>>;

fn by_subject<'a>(messages: impl Iterator<Item = &'a (String, String)>) -> BySubject {
    let mut found = BySubject::new();
    for (subject, payload) in messages {
        found
            .entry(subject.clone())
            .or_default()
            .push(payload.clone());
    }
    found
}

fn held(pair: &Pair, side: usize) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stored = pair.stored(side);
    let pairs = stored
        .iter()
        .map(|m| (m.body.subject().to_owned(), text(m.body.payload())));
    pairs.collect()
}

/// Where the hub differs from the leaf.
fn difference(pair: &Pair, how: How, acked: &[(String, String)]) -> Option<String> {
    let here = held(pair, HUB);
    let differs = match how {
        How::Source => held(pair, LEAF) != here,
        How::Filtered => {
            let mut wanted = held(pair, LEAF);
            wanted.retain(|(subject, _)| subject.starts_with("orders."));
            wanted != here
        }
        How::Mirror => {
            let facts = |side| {
                let stored = pair.stored(side).into_iter();
                stored
                    .map(|m| (m.seq, m.time, m.body.bytes().clone()))
                    .collect::<Vec<_>>()
            };
            facts(LEAF) != facts(HUB)
        }
        // What is gone at the leaf is no longer there to compare with.
        How::WorkQueue => by_subject(acked.iter()) != by_subject(here.iter()),
    };
    let mut counts = BTreeMap::new();
    for (_, payload) in &here {
        *counts.entry(payload).or_insert(0) += 1;
    }
    let twice = counts.values().any(|count| *count > 1);
    let missing = matches!(how, How::Source | How::Mirror)
        && acked.iter().any(|message| !here.contains(message));
    (differs || twice || missing).then(|| {
        let there = held(pair, LEAF);
        let logs = &pair.nodes[HUB].logs;
        format!("acked {acked:?}\nleaf {there:?}\nhub {here:?}\nlogs {logs:?}")
    })
}

fn holds(how: How) {
    for seed in 0..SEEDS {
        let (pair, acked) = live(seed, how, SOUND);
        assert!(acked.len() > 10, "seed {seed}: too little happened");
        if let Some(words) = difference(&pair, how, &acked) {
            panic!("seed {seed}: {words}");
        }
    }
}

#[test]
fn a_source_is_exactly_once_and_in_order() {
    holds(How::Source);
}

#[test]
fn a_filtered_source_is_exactly_once_and_in_order() {
    holds(How::Filtered);
}

#[test]
fn a_mirror_becomes_its_origin() {
    holds(How::Mirror);
}

#[test]
fn a_work_queue_is_carried_off() {
    holds(How::WorkQueue);
}

#[test]
fn a_hub_that_forgets_its_place_is_found_out() {
    let found = (0..SEEDS).find(|seed| {
        let (pair, acked) = live(*seed, How::Source, FORGETFUL);
        difference(&pair, How::Source, &acked).is_some()
    });
    assert!(found.is_some());
}

#[test]
fn headers_tell_where_each_message_came_from() {
    let (pair, _) = live(3, How::Source, SOUND);
    let there = pair.stored(LEAF);
    for (message, origin) in pair.stored(HUB).iter().zip(&there) {
        let told = Headers::new(message.body.header()).get("Nats-Stream-Source");
        let subject = origin.body.subject();
        let start = format!("ORDERS:vCSic1A5 {} > > {subject}", origin.seq);
        assert!(
            told.is_some_and(|value| value.starts_with(&start)),
            "{told:?}"
        );
    }
}
