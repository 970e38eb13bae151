//! Priority groups against a simple model: who may be given a message.

use frond_clock::Rng;

use super::*;
use crate::consumer::config::PriorityPolicy;

/// A request as the model remembers it.
#[derive(Clone, Debug)]
struct Asked {
    left: i64,
    until: Instant,
    id: String,
    min_pending: u64,
    min_ack_pending: u64,
    number: u64,
}

struct Model {
    world: World,
    rng: Rng,
    policy: PriorityPolicy,
    open: BTreeMap<String, Asked>,
    requests: u64,
    pin: Option<(String, Instant)>,
    delivered: u64,
    stored: u64,
}

const PIN_NS: i64 = 4_000_000_000;
const WAIT_NS: u64 = 5_000_000_000;
const STEP: Duration = Duration::from_millis(100);

impl Model {
    fn new(policy: PriorityPolicy, seed: u64) -> Self {
        let config = ConsumerConfig {
            priority_policy: policy,
            priority_groups: vec!["g".into()],
            priority_timeout: match policy {
                PriorityPolicy::PinnedClient => PIN_NS,
                PriorityPolicy::None | PriorityPolicy::Overflow | PriorityPolicy::Prioritized => 0,
            },
            ack_wait: 3_600_000_000_000,
            max_ack_pending: -1,
            ..explicit()
        };
        Self {
            world: World::new(config, &[]),
            rng: Rng::seeded(seed),
            policy,
            open: BTreeMap::new(),
            requests: 0,
            pin: None,
            delivered: 0,
            stored: 0,
        }
    }

    fn step(&mut self) {
        match self.rng.below(8) {
            0..3 => {
                self.stored += 1;
                self.world.publish("a.1", "x");
            }
            3..6 => self.ask(),
            6 => self.pass(),
            _ => self.unpin(),
        }
        self.look();
        self.check();
    }

    fn ask(&mut self) {
        self.requests += 1;
        let reply = format!("r{}", self.requests);
        let mut asked = Asked {
            left: 1 + self.rng.below(3) as i64,
            until: self.world.now.mono + Duration::from_nanos(WAIT_NS),
            id: String::new(),
            min_pending: 0,
            min_ack_pending: 0,
            number: 0,
        };
        match self.policy {
            PriorityPolicy::None => {}
            PriorityPolicy::Overflow => {
                asked.min_pending = self.rng.below(4);
                asked.min_ack_pending = self.rng.below(20);
            }
            PriorityPolicy::PinnedClient => {
                let pin = self.pin.as_ref().filter(|_| self.rng.below(2) == 0);
                asked.id = pin.map(|(id, _)| id.clone()).unwrap_or_default();
            }
            PriorityPolicy::Prioritized => asked.number = self.rng.below(10),
        }
        let body = format!(
            r#"{{"batch":{},"expires":{WAIT_NS},"group":"g","id":"{}","min_pending":{},"min_ack_pending":{},"priority":{}}}"#,
            asked.left, asked.id, asked.min_pending, asked.min_ack_pending, asked.number
        );
        if let Some((_, until)) = self.pin.as_mut().filter(|(id, _)| *id == asked.id) {
            *until = self.world.now.mono + Duration::from_nanos(PIN_NS as u64);
        }
        self.open.insert(reply.clone(), asked);
        self.world.pull(&reply, &body);
        self.world.time();
    }

    /// Time passes in small steps, so that the order of things shows.
    fn pass(&mut self) {
        for _ in 0..self.rng.below(30) {
            self.world.pass(STEP);
            self.look();
        }
    }

    fn unpin(&mut self) {
        if self.policy == PriorityPolicy::PinnedClient && self.rng.below(3) == 0 {
            let (now, everybody) = (self.world.now, |_: &str| true);
            self.world.consumer.unpin(now, "g", &everybody);
            self.world.time();
        }
    }

    fn look(&mut self) {
        for seen in self.world.take() {
            if seen.to.contains("UNPINNED") {
                let (_, until) = self.pin.take().unwrap_or_default();
                let by_time = seen.payload.contains("timeout");
                assert!(
                    !by_time || until <= self.world.now.mono,
                    "unpinned too early"
                );
            } else if seen.to.contains("PINNED") {
                assert_eq!(self.pin, None, "two are pinned");
                let id = seen.payload.split(r#""pinned_id":""#).nth(1).unwrap();
                let until = self.world.now.mono + Duration::from_nanos(PIN_NS as u64);
                self.pin = Some((id[..22].to_owned(), until));
            } else if seen.reply.starts_with("$JS.ACK") {
                self.delivered_to(&seen);
            } else if let Some(asked) = self.open.remove(&seen.to) {
                let over = seen.header.contains("408") && asked.until <= self.world.now.mono;
                let wrong = seen.header.contains("423");
                assert!(over || wrong, "{} ended by {}", seen.to, seen.header);
            }
        }
    }

    fn delivered_to(&mut self, seen: &Seen) {
        let pending = self.stored - self.delivered;
        let on_the_way = self.delivered;
        self.delivered += 1;
        let asked = self.open.get_mut(&seen.to).expect("a request that is open");
        match self.policy {
            PriorityPolicy::None => {}
            PriorityPolicy::Overflow => {
                let bound = asked.min_pending > 0 || asked.min_ack_pending > 0;
                let much = (asked.min_pending > 0 && pending >= asked.min_pending)
                    || (asked.min_ack_pending > 0 && on_the_way >= asked.min_ack_pending);
                assert!(!bound || much, "{asked:?} with {pending} and {on_the_way}");
            }
            PriorityPolicy::PinnedClient => {
                let (pin, _) = self.pin.as_ref().expect("somebody is pinned");
                assert!(seen.header.contains(&format!("Nats-Pin-Id: {pin}\r\n")));
                assert!(asked.id.is_empty() || asked.id == *pin);
                asked.id.clone_from(pin);
            }
            PriorityPolicy::Prioritized => {
                let number = asked.number;
                let better = self.open.values().filter(|other| other.number < number);
                assert_eq!(better.count(), 0, "a better one waits");
            }
        }
        let asked = self.open.get_mut(&seen.to).expect("a request that is open");
        asked.left -= 1;
        if asked.left == 0 {
            self.open.remove(&seen.to);
        }
    }

    /// A message waits only while nobody may have it.
    fn check(&self) {
        let pending = self.stored - self.delivered;
        if pending == 0 {
            return;
        }
        for (reply, asked) in &self.open {
            let served = match self.policy {
                PriorityPolicy::None | PriorityPolicy::Prioritized => true,
                PriorityPolicy::Overflow => {
                    (asked.min_pending == 0 && asked.min_ack_pending == 0)
                        || (asked.min_pending > 0 && pending >= asked.min_pending)
                        || (asked.min_ack_pending > 0 && self.delivered >= asked.min_ack_pending)
                }
                PriorityPolicy::PinnedClient => match &self.pin {
                    None => true,
                    Some((pin, _)) => asked.id == *pin,
                },
            };
            assert!(!served, "{reply} waits for {pending}");
        }
    }
}

#[test]
fn groups_keep_to_the_model() {
    for policy in [
        PriorityPolicy::Overflow,
        PriorityPolicy::PinnedClient,
        PriorityPolicy::Prioritized,
    ] {
        for seed in 0..60 {
            // Shown when the test fails.
            println!("{policy:?}, seed {seed}");
            let mut model = Model::new(policy, seed);
            for _ in 0..300 {
                model.step();
            }
            assert!(
                model.delivered > 50,
                "too little happened to prove anything"
            );
        }
    }
}
