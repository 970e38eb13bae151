//! A consumer against a simple model: for each message, what has happened to it.

use frond_clock::Rng;

use super::*;

/// What the model knows of one message that was delivered.
#[derive(Clone, Debug)]
struct Sent {
    count: u64,
    at: Instant,
    /// It may come again before its wait is over.
    naked: bool,
    acked: bool,
    ack: String,
}

struct Model {
    world: World,
    rng: Rng,
    sent: BTreeMap<Seq, Sent>,
    max_deliver: u64,
    max_pending: usize,
    wait: Duration,
    /// Acks that were answered: they hold over a restart.
    answered: BTreeSet<Seq>,
    requests: u64,
}

const WAIT_NS: i64 = 2_000_000_000;
const STEP: Duration = Duration::from_millis(100);

impl Model {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::seeded(seed);
        let max_pending = 1 + rng.below(6);
        let max_deliver = rng.below(4);
        let filters: &[&str] = [&[][..], &["a.1"], &["a.1", "a.2"]][rng.below(3) as usize];
        let config = ConsumerConfig {
            ack_wait: WAIT_NS,
            max_ack_pending: max_pending as i64,
            max_deliver: max_deliver as i64,
            filter_subjects: filters.iter().map(|f| (*f).to_owned()).collect(),
            ..explicit()
        };
        let mut world = World::new(config, &[("a.1", "1"), ("a.2", "2"), ("a.3", "3")]);
        world.shelf.on_disk = rng.below(2) == 0;
        Self {
            world,
            rng,
            sent: BTreeMap::new(),
            max_deliver,
            max_pending: max_pending as usize,
            wait: Duration::from_nanos(WAIT_NS as u64),
            answered: BTreeSet::new(),
            requests: 0,
        }
    }

    fn step(&mut self) {
        match self.rng.below(12) {
            0..3 => {
                let subject = format!("a.{}", 1 + self.rng.below(3));
                self.world.publish(&subject, "x");
            }
            3..5 => {
                self.requests += 1;
                let batch = 1 + self.rng.below(4);
                let body = format!(r#"{{"batch":{batch},"expires":3000000000}}"#);
                self.world.pull(&format!("r{}", self.requests), &body);
            }
            5..7 => self.ack(),
            7 => self.nak(),
            8 => self.remove(),
            9 => {
                let nanos = self.rng.below(1_500_000_000);
                self.pass(Duration::from_nanos(nanos));
            }
            10 => self.read(),
            _ => self.restart(),
        }
        self.look();
        self.check();
    }

    fn any_sent(&mut self) -> Option<Seq> {
        let open: Vec<Seq> = self.sent.keys().copied().collect();
        let index = self.rng.below(open.len() as u64) as usize;
        open.get(index).copied()
    }

    fn ack(&mut self) {
        let Some(seq) = self.any_sent() else { return };
        let ack = self.sent[&seq].ack.clone();
        let reply = (self.rng.below(2) == 0).then(|| format!("answer.{seq}"));
        let pending = self.world.consumer.progress.pending.contains_key(&seq);
        self.world.ack(&ack, reply.as_deref(), "+ACK");
        if pending {
            self.sent.get_mut(&seq).unwrap().acked = true;
        }
    }

    fn nak(&mut self) {
        let Some(seq) = self.any_sent() else { return };
        let ack = self.sent[&seq].ack.clone();
        self.sent.get_mut(&seq).unwrap().naked = true;
        self.world.ack(&ack, None, "-NAK");
    }

    fn remove(&mut self) {
        let present: Vec<Seq> = self.world.shelf.messages.keys().copied().collect();
        let index = self.rng.below(present.len() as u64) as usize;
        if let Some(seq) = present.get(index) {
            self.world.remove(*seq);
        }
    }

    /// Time passes in small steps, so that the order of things shows.
    fn pass(&mut self, duration: Duration) {
        let mut left = duration;
        while left > Duration::ZERO {
            self.world.pass(STEP.min(left));
            left = left.saturating_sub(STEP);
            self.look();
        }
    }

    fn read(&mut self) {
        while !self.world.fetched.is_empty() {
            self.world.disk_read();
        }
    }

    fn restart(&mut self) {
        if self.rng.below(3) != 0 {
            return;
        }
        self.look();
        let before = self.world.consumer.progress.clone();
        if !before.is_dirty() {
            self.world.restart();
            let after = &self.world.consumer.progress;
            assert_eq!(after.pending.len(), before.pending.len());
            assert_eq!(after.redelivered, before.redelivered);
            assert_eq!(after.floor.delivery, before.floor.delivery);
        } else {
            self.world.restart();
        }
        self.sent.retain(|seq, _| self.answered.contains(seq));
        for (seq, pending) in &self.world.consumer.progress.pending {
            self.sent.insert(
                *seq,
                Sent {
                    count: self.world.consumer.progress.deliveries(*seq),
                    at: self.world.now.mono,
                    naked: true,
                    acked: false,
                    ack: format!("$JS.ACK.S.C.1.{seq}.{}.0.0", pending.delivery),
                },
            );
        }
    }

    /// Judges what came.
    fn look(&mut self) {
        for seen in self.world.take() {
            if let Some(seq) = seen.to.strip_prefix("answer.") {
                self.answered.insert(seq.parse().unwrap());
                continue;
            }
            let Some(tail) = seen.reply.strip_prefix("$JS.ACK.S.C.") else {
                continue;
            };
            let parts: Vec<u64> = tail.split('.').map(|t| t.parse().unwrap()).collect();
            let (count, seq) = (parts[0], parts[1]);
            let ack = seen.reply.clone();
            let now = self.world.now.mono;
            let sent = self.sent.entry(seq).or_insert_with(|| Sent {
                count: 0,
                at: now,
                naked: true,
                acked: false,
                ack: ack.clone(),
            });
            assert!(!sent.acked, "{seq} came after its ack");
            assert_eq!(count, sent.count + 1, "{seq}");
            // Time passes in steps: what came may have come a step before it was seen.
            let waited = now.since(sent.at) + STEP >= self.wait;
            assert!(sent.naked || waited, "{seq} came too early");
            assert!(
                self.max_deliver == 0 || count <= self.max_deliver,
                "{seq} came too often"
            );
            *sent = Sent {
                count,
                at: now,
                naked: false,
                acked: false,
                ack,
            };
        }
    }

    fn check(&self) {
        let consumer = &self.world.consumer;
        let progress = &consumer.progress;
        assert!(progress.pending.len() <= self.max_pending);
        let waiting = self
            .world
            .shelf
            .count(progress.next_stream, &consumer.filters);
        assert_eq!(consumer.num_pending(), waiting);
        assert!(progress.floor.stream < progress.next_stream);
        assert!(progress.floor.delivery < progress.next_delivery);
        for (seq, pending) in &progress.pending {
            assert!(*seq > progress.floor.stream && *seq < progress.next_stream);
            assert!(pending.delivery < progress.next_delivery);
            assert!(self.world.shelf.messages.contains_key(seq));
        }
        for seq in &self.answered {
            assert!(
                !progress.pending.contains_key(seq),
                "an answered ack was forgotten"
            );
        }
    }

    /// Everything that is there is delivered in the end.
    fn finish(&mut self) {
        for _ in 0..80 {
            self.requests += 1;
            self.world.pull(
                &format!("r{}", self.requests),
                r#"{"batch":50,"expires":1000000000}"#,
            );
            self.read();
            self.look();
            let open: Vec<String> = self.sent.values().map(|s| s.ack.clone()).collect();
            for (seq, ack) in self
                .sent
                .keys()
                .copied()
                .collect::<Vec<_>>()
                .into_iter()
                .zip(open)
            {
                self.world.ack(&ack, None, "");
                self.sent.get_mut(&seq).unwrap().acked = true;
                self.look();
            }
            self.pass(Duration::from_millis(300));
        }
        let info = self.world.consumer.info(self.world.now);
        assert_eq!((info.num_pending, info.num_ack_pending), (0, 0));
        assert_eq!(info.ack_floor.consumer_seq, info.delivered.consumer_seq);
    }
}

#[test]
fn it_keeps_to_the_model() {
    for seed in 0..60 {
        // Shown when the test fails.
        println!("seed {seed}");
        let mut model = Model::new(seed);
        for _ in 0..200 {
            model.step();
        }
        model.finish();
    }
}
