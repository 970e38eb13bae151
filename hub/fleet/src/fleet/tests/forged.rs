//! Somebody else speaks in the names of boxes.

use frond_ota::report;

use super::*;
use crate::Pin;

fn pair(at: usize) -> KeyPair {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&at.to_be_bytes());
    KeyPair::from_random(Role::User, &seed)
}

pub(super) fn signed(at: usize, round: u64, said: &Value) -> Vec<u8> {
    let mut said = said.clone();
    let all = said.as_object_mut().unwrap();
    all.insert("identity".into(), json!(pair(at).public_key()));
    all.insert("start".into(), json!(1));
    all.insert("round".into(), json!(round));
    report::sign(&name(at), &said.to_string(), &pair(at)).into_bytes()
}

fn claim(world: &mut World, at: usize) {
    let pin = Pin {
        identity: pair(at).public_key(),
        is_claimed: true,
        start: 0,
    };
    world.hear(&Pin::key_of(&name(at)), MONDAY, pin.to_json());
}

/// So many boxes of the group, which sign; nobody is told of by themselves.
fn world(natures: Vec<Nature>, claimed: std::ops::Range<usize>) -> World {
    let mut world = World::with(natures, 60);
    world.signs = Some(0);
    let all = world.natures.len();
    for at in 0..all {
        let said = json!({ "groups": ["shops"], "state": "idle" });
        world.say(at, MONDAY, &said);
    }
    for at in claimed {
        claim(&mut world, at);
    }
    world
}

fn confirmed(world: &World) -> Value {
    let digest = &world.fleet.rollout().unwrap().freight.digest;
    json!({ "groups": ["shops"], "active": { "version": 7, "digest": digest } })
}

#[test]
fn forged_confirmations_bring_a_killing_configuration_to_nobody() {
    let mut world = world(vec![Nature::Dies; 20], 0..0);
    let waves = vec![Wave::Count(1), Wave::Percent(50), Wave::Percent(100)];
    world.start(Plan { waves, ..quick() });
    for _ in 0..400 {
        world.second();
        // Somebody says of each box that it has it, as well as it can be said without its key.
        for at in 0..20 {
            let said = confirmed(&world);
            world.hear(&name(at), world.now_s, said.to_string().into_bytes());
            let said = signed(at + 100, world.now_s.unsigned_abs(), &said);
            world.hear(&name(at), world.now_s, said);
        }
    }
    let rollout = world.fleet.rollout().unwrap();
    assert!(
        matches!(rollout.phase, Phase::Stopped(_)),
        "{:?}",
        rollout.phase
    );
    assert_eq!(rollout.counts().told, 1);
}

#[test]
fn boxes_that_somebody_made_up_prove_nothing_where_others_were_claimed() {
    // 20 real ones that it kills, and 400 that say what is wanted.
    let mut natures = vec![Nature::Dies; 20];
    natures.extend([Nature::Good; 400]);
    let mut world = world(natures, 0..20);
    world.start(quick());
    for _ in 0..400 {
        world.second();
    }
    let rollout = world.fleet.rollout().unwrap();
    assert!(
        matches!(rollout.phase, Phase::Stopped(_)),
        "{:?}",
        rollout.phase
    );
    let [claimed, others] = rollout.counts_by_claim();
    assert_eq!((claimed.all, claimed.told, others.told), (20, 1, 1));
}

#[test]
fn boxes_that_were_not_claimed_have_their_share_of_each_wave() {
    let mut world = world(vec![Nature::Good; 100], 0..20);
    world.start(quick());
    let mut told = Vec::new();
    for _ in 0..4 {
        world.seconds_until(200, |it| {
            it.is_over() || matches!(it.phase, Phase::Baking(_))
        });
        let both = world.fleet.rollout().unwrap().counts_by_claim();
        told.push(both.map(|it| it.told));
        world.seconds_until(200, |it| it.is_over() || it.phase == Phase::Telling);
    }
    assert_eq!(told, [[1, 1], [1, 4], [5, 20], [20, 80]]);
    assert_eq!(world.counts().confirmed, 100);
}

#[test]
fn the_key_of_a_box_is_kept_and_put_once() {
    let mut world = World::new(Vec::new());
    let mut puts = Vec::new();
    for round in 1..5 {
        let said = signed(3, round, &json!({ "state": "idle" }));
        let report = Input::Report {
            name: name(3),
            seen_s: world.now_s,
            said,
        };
        world.fleet.handle(world.now(), report);
        while let Some(output) = world.fleet.poll() {
            if let Output::Put { key, value, .. } = output {
                puts.push((key, value.unwrap()));
            }
        }
        world.now_s += 1;
    }
    let [(key, value)] = &puts[..] else {
        panic!("{puts:?}");
    };
    let pin: Pin = serde_json::from_slice(value).unwrap();
    assert_eq!(
        (&**key, pin.identity),
        ("key.till-0003", pair(3).public_key())
    );
    assert!(!pin.is_claimed && pin.start == 1);
}
