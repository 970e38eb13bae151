//! What conditioning leaves of a day of readings, and what a reading costs. The day is made, not
//! recorded: a fridge that cools and warms, a meter whose loads come and go, and air in a room,
//! each read every second with a sensor's noise and steps.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests fail by panicking, and look at clocks"
)]

use std::alloc::System;
use std::time::Duration;

use frond_clock::{Instant, Now, Rng, Timestamp};
use frond_config::{Nothing, load_text};
use frond_field::{Field, Input, Setup, Wish};
use interop::say;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const DAY_S: u64 = 24 * 3_600;
/// Of each sensor in one read of the connection.
const BATCH_S: u64 = 20;
/// How many times fewer bytes go over the line at least.
const LESS_MIN: usize = 10;
/// Allocations for a hundred readings at most, those that are sent on included.
const ALLOCATIONS_PER_HUNDRED_MAX: usize = 40;

const RULES: &str = "appliance { conditions: [\
    { from: \"raw.temp.*\", to: \"up.temp.$1\", field: value, deadband: 0.5, heartbeat: \"10m\" },\
    { from: \"raw.power.*\", to: \"up.power.$1\", field: value, window: \"1m\", deadband: 50, heartbeat: \"10m\" } ] }";

/// A day of readings.
struct Day {
    rng: Rng,
    fridge: f64,
    is_cooling: bool,
    load: f64,
    seq: u64,
}

impl Day {
    const fn new(rng: Rng) -> Self {
        Self {
            rng,
            fridge: 5.0,
            is_cooling: false,
            load: 300.0,
            seq: 0,
        }
    }

    /// About normal, within plus and minus three.
    fn noise(&mut self) -> f64 {
        let sum: u64 = (0..12).map(|_| self.rng.below(1_000_000)).sum();
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let sum = sum as f64;
        sum / 1e6 - 6.0
    }

    /// What is read in a second.
    fn second(&mut self, second: u64) -> [(&'static str, f64); 3] {
        if self.fridge > 7.0 {
            self.is_cooling = true;
        } else if self.fridge < 3.0 {
            self.is_cooling = false;
        }
        // A quarter of an hour up, ten minutes down.
        self.fridge += if self.is_cooling {
            -4.0 / 600.0
        } else {
            4.0 / 900.0
        };
        if self.rng.below(300) == 0 {
            self.load = [300.0, 450.0, 1_900.0, 2_300.0]
                .get(usize::try_from(self.rng.below(4)).unwrap_or(0))
                .copied()
                .unwrap_or(300.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds of a day")]
        let turn = second as f64 / DAY_S as f64 * std::f64::consts::TAU;
        let step = |value: f64, step: f64| (value / step).round() * step;
        let (a, b, c) = (self.noise(), self.noise(), self.noise());
        [
            ("raw.temp.fridge", step(self.fridge + 0.06 * a, 0.0625)),
            (
                "raw.temp.room",
                step(20.0 - 3.0 * turn.cos() + 0.05 * b, 0.01),
            ),
            ("raw.power.all", step(self.load + 4.0 * c, 0.1)),
        ]
    }

    /// As whoever reads the sensor publishes it, and as the field side hears it.
    fn hear(&mut self, second: u64, heard: &mut Vec<u8>) -> usize {
        let mut bytes = 0;
        for (subject, value) in self.second(second) {
            self.seq += 1;
            let sid = if subject.starts_with("raw.temp") {
                100_000
            } else {
                100_001
            };
            let json = format!(
                "{{\"value\":{value:.4},\"unit\":\"C\",\"quality\":\"good\",\"seq\":{},\
                 \"time\":\"2026-11-30T12:00:00.123Z\",\"trusted\":true}}",
                self.seq
            );
            bytes += "PUB  \r\n\r\n".len() + subject.len() + 3 + json.len();
            heard.extend_from_slice(
                format!("MSG {subject} {sid} {}\r\n{json}\r\n", json.len()).as_bytes(),
            );
        }
        bytes
    }
}

fn at(second: u64) -> Now {
    let wall = 1_800_000_000 + i64::try_from(second).unwrap_or(0);
    Now {
        mono: Instant::START + Duration::from_secs(second),
        wall: Timestamp::from_nanos(wall * 1_000_000_000),
    }
}

fn field() -> Field {
    let options = load_text(RULES, "x.conf", &Nothing).expect("rules");
    let setup = Setup {
        options: options.config.appliance.expect("a block"),
        probe_every: None,
        patience: Duration::from_secs(15),
        has_streams: false,
        token: "x".to_owned(),
    };
    let mut field = Field::new(at(0), setup);
    field.handle(at(0), Input::Connected);
    field.handle(at(0), Input::Bytes(b"INFO {}\r\n"));
    said(&mut field);
    field
}

/// Bytes that it says.
fn said(field: &mut Field) -> usize {
    let mut bytes = 0;
    while let Some(wish) = field.poll() {
        if let Wish::Send(said) = wish {
            bytes += said.len();
        }
    }
    bytes
}

/// How long this thread has worked, whoever else did meanwhile.
fn worked() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// One test: the counters are the process's.
#[test]
fn a_day_of_readings_becomes_a_tenth_and_costs_next_to_nothing() {
    let (mut field, mut day) = (field(), Day::new(Rng::seeded(7)));
    let (mut raw, mut up, mut took, mut allocations) = (0, 0, Duration::ZERO, 0);
    let mut heard = Vec::new();
    for second in 0..DAY_S {
        raw += day.hear(second, &mut heard);
        if second % BATCH_S != BATCH_S - 1 {
            continue;
        }
        let region = Region::new(COUNTED);
        let start = worked();
        field.handle(at(second), Input::Bytes(&heard));
        up += said(&mut field);
        took += worked().saturating_sub(start);
        allocations += region.change().allocations;
        heard.clear();
    }
    let count = u32::try_from(DAY_S * 3).expect("fits");
    let less = raw / up.max(1);
    say(&format!(
        "conditioning: {count} readings, {raw} bytes become {up} ({less} times less), {:?} of a core a reading, {} \
         allocations for a hundred",
        took / count,
        allocations * 100 / count as usize
    ));
    assert!(less >= LESS_MIN, "{raw} bytes become {up}");
    let each = allocations * 100 / count as usize;
    assert!(each <= ALLOCATIONS_PER_HUNDRED_MAX, "{each} for a hundred");
}
