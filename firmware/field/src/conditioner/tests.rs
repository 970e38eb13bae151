use std::time::Duration;

use frond_board::Quality;
use frond_clock::Instant;
use frond_config::{Conditioning, Number};

use super::{Conditioner, Said, Value};

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

const fn good(number: f64) -> Value {
    Value {
        number,
        quality: Quality::Good,
    }
}

const BAD: Value = Value {
    number: 0.0,
    quality: Quality::Bad,
};

/// What is said of readings at these moments, the clock driven to each deadline in between.
fn said(options: &Conditioning, readings: &[(u64, Value)], until: u64) -> Vec<(u64, Said)> {
    let mut it = Conditioner::new(options);
    let mut all = Vec::new();
    let mut readings = readings.iter().peekable();
    for ms in 0..=until {
        while let Some((_, value)) = readings.next_if(|(when, _)| *when == ms) {
            all.extend(it.take(at(ms), *value).map(|said| (ms, said)));
        }
        if it.deadline().is_some_and(|deadline| deadline <= at(ms)) {
            all.extend(it.time(at(ms)).map(|said| (ms, said)));
            assert!(
                it.deadline().is_none_or(|next| next > at(ms)),
                "it wakes forever"
            );
        }
    }
    all
}

fn numbers(said: &[(u64, Said)]) -> Vec<(u64, f64)> {
    said.iter()
        .map(|(ms, said)| (*ms, said.value.number))
        .collect()
}

#[test]
fn without_options_everything_is_said() {
    let readings = [(0, good(1.0)), (10, good(1.0)), (20, BAD), (30, good(2.0))];
    assert_eq!(said(&Conditioning::default(), &readings, 50).len(), 4);
}

#[test]
fn within_the_band_nothing_is_new_but_another_quality_is() {
    let options = Conditioning {
        deadband: Some(Number(0.5)),
        ..Conditioning::default()
    };
    let readings = [
        (0, good(20.0)),
        (10, good(20.5)),
        (20, good(20.6)),
        (30, BAD),
        (40, BAD),
        (50, good(20.6)),
        (60, good(20.2)),
    ];
    let all = said(&options, &readings, 100);
    assert_eq!(
        numbers(&all),
        [(0, 20.0), (20, 20.6), (30, 0.0), (50, 20.6)]
    );
    let left_out: Vec<u64> = all.iter().map(|(_, said)| said.left_out).collect();
    assert_eq!(left_out, [0, 1, 0, 1]);
}

#[test]
fn the_last_of_too_many_is_said_when_its_time_comes() {
    let options = Conditioning {
        rate: Some(Duration::from_millis(100)),
        ..Conditioning::default()
    };
    let readings: Vec<_> = (0..5_u8)
        .map(|n| (u64::from(n) * 10, good(f64::from(n))))
        .collect();
    let all = said(&options, &readings, 500);
    assert_eq!(numbers(&all), [(0, 0.0), (100, 4.0)]);
    assert_eq!(all[1].1.left_out, 3);
}

#[test]
fn silence_is_broken_while_there_are_readings() {
    let options = Conditioning {
        deadband: Some(Number(1.0)),
        heartbeat: Some(Duration::from_millis(100)),
        ..Conditioning::default()
    };
    let readings: Vec<_> = (0..30_u8).map(|n| (u64::from(n) * 10, good(5.0))).collect();
    let all = said(&options, &readings, 2_000);
    let moments: Vec<u64> = all.iter().map(|(ms, _)| *ms).collect();
    assert_eq!(
        moments,
        [0, 100, 200, 300],
        "and none once the sensor is silent itself"
    );
}

#[test]
fn a_window_is_one_message_that_hides_no_peak() {
    let options = Conditioning {
        window: Some(Duration::from_millis(100)),
        deadband: Some(Number(0.5)),
        ..Conditioning::default()
    };
    let mut readings: Vec<_> = (0..30_u8).map(|n| (u64::from(n) * 10, good(4.0))).collect();
    readings[15].1 = good(9.0);
    let all = said(&options, &readings, 500);
    assert_eq!(all.len(), 2, "the first and the one with the peak: {all:?}");
    let stats = all[1].1.stats.unwrap();
    assert_eq!((stats.min, stats.max, stats.count), (4.0, 9.0, 10));
    assert!((all[1].1.value.number - 4.5).abs() < 1e-9);
}

/// A day of a cold room as its sensor gave it each ten seconds: a compressor that cycles, a door
/// that is opened now and then, and noise of the last digit.
fn trace() -> Vec<f64> {
    let mut noise: u64 = 7;
    let mut warm = 0.0;
    (0..8_640_u32)
        .map(|n| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let hiss = f64::from(u32::try_from(noise >> 40).unwrap()) / f64::from(1 << 24) - 0.5;
            let cycle = (f64::from(n) / 180.0 * std::f64::consts::TAU).sin() * 0.4;
            if n % 1_440 == 700 {
                warm += 3.0;
            }
            warm *= 0.985;
            ((4.0 + cycle + warm + hiss * 0.125) * 16.0).round() / 16.0
        })
        .collect()
}

#[test]
fn a_day_of_a_cold_room_takes_a_tenth_and_hides_nothing() {
    let options = Conditioning {
        deadband: Some(Number(0.5)),
        heartbeat: Some(Duration::from_secs(900)),
        ..Conditioning::default()
    };
    let mut it = Conditioner::new(&options);
    let (mut bytes, mut bytes_all) = (0, 0);
    let mut known = f64::NAN;
    for (n, number) in (0_u64..).zip(trace()) {
        let value = good(number);
        let stamp = crate::reading::Stamp {
            seq: n,
            time: frond_clock::Timestamp::from_nanos(1_800_000_000_000_000_000),
            is_trusted: true,
        };
        let whole = Said {
            value,
            stats: None,
            left_out: 0,
        };
        let size = |said: &Said| crate::reading::reading(said, "C", "", stamp).len();
        bytes_all += size(&whole);
        if let Some(said) = it.take(at(n * 10_000), value) {
            known = said.value.number;
            bytes += size(&said);
        }
        assert!(
            (known - number).abs() <= 0.5,
            "{known} is told, {number} is so"
        );
    }
    let factor = bytes_all / bytes;
    println!("uplink: {bytes} of {bytes_all} bytes, {factor} times fewer");
    assert!(factor >= 10, "{bytes} of {bytes_all} bytes");
}
