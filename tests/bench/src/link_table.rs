//! Messages between servers, and many leafnodes of one hub.

use bench::{Flow, Sample, Way, across, herd};
use interop::{Kind, say};

const MESSAGES: u64 = 1_500_000;
const LEAFS: usize = 2_000;

/// What is sent each way.
const FLOWS: [(&str, Flow); 2] = [
    ("128 B", Flow::to(1)),
    (
        "1000 subjects, 128 B",
        Flow {
            many_subjects: true,
            ..Flow::to(1)
        },
    ),
];

pub(crate) fn print(rounds: usize, only: Option<&str>) {
    println!(
        "{:<40} {:>12} {:>12} {:>7}",
        "links, messages per CPU s of both ends", "frond", "nats-server", "ratio"
    );
    for way in Way::ALL {
        for (what, flow) in FLOWS {
            let name = format!("{}, {what}", way.name());
            if only.is_none_or(|only| name.contains(only)) {
                row(&name, way, flow, rounds);
            }
        }
    }
    if only.is_none_or(|only| "herd".contains(only)) {
        for kind in [Kind::Hub, Kind::Real] {
            let herd = herd(kind, LEAFS);
            println!(
                "{:<12} {LEAFS} leafnodes: {:>6.0} bytes each at rest; all again after {:.2?} ({:.2} CPU s), {} refused",
                kind.name(),
                herd.idle_bytes,
                herd.back_after,
                herd.back_cpu_s,
                herd.refused
            );
        }
    }
}

fn row(name: &str, way: Way, flow: Flow, rounds: usize) {
    let mut found = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for (is_real, found) in [false, true].into_iter().zip(&mut found) {
            say(&format!(
                "running: {name}, real {is_real}, round {}",
                round + 1
            ));
            found.push(across(way, is_real, flow, MESSAGES));
        }
    }
    let [ours, theirs] = found.map(|samples| {
        let of = |value: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        };
        (1e6 / of(Sample::cpu_s_per_million), of(Sample::rate))
    });
    println!(
        "{name:<40} {:>12.0} {:>12.0} {:>7.2}   ({:.0} and {:.0} a second)",
        ours.0,
        theirs.0,
        ours.0 / theirs.0,
        ours.1,
        theirs.1
    );
}
