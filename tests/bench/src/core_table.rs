//! Core messaging: rates, processor time, system calls, latency, memory; no JetStream.

use bench::{
    Door, Flow, Place, Sample, Sharing, flow, idle_bytes_per_connection, request_reply,
    syscalls_per_message,
};
use interop::{Kind, Server, Setup, say};

const IDLE_CONNECTIONS: usize = 10_000;
const KINDS: [Kind; 2] = [Kind::Leaf, Kind::Real];
/// The part of a load that is run to count system calls.
const COUNTED_PART: u64 = 4;

type Load = fn(&Place, u64) -> Sample;

/// What is run, and how many messages.
const LOADS: &[(&str, Door, u64, Load)] = &[
    ("1:1, 128 B", Door::Plain, 3_000_000, |place, messages| {
        flow(&place.server, &place.carrier, Flow::to(1), messages)
    }),
    (
        "fan-out 1:5, 128 B",
        Door::Plain,
        1_000_000,
        |place, messages| flow(&place.server, &place.carrier, Flow::to(5), messages),
    ),
    ("4:4, 128 B", Door::Plain, 6_000_000, |place, messages| {
        let four = Flow {
            lanes: 4,
            ..Flow::to(1)
        };
        flow(&place.server, &place.carrier, four, messages)
    }),
    (
        "no subscriber, 128 B",
        Door::Plain,
        6_000_000,
        |place, messages| flow(&place.server, &place.carrier, Flow::to(0), messages),
    ),
    ("1:1, 16 B", Door::Plain, 4_000_000, |place, messages| {
        let small = Flow {
            payload_bytes: 16,
            ..Flow::to(1)
        };
        flow(&place.server, &place.carrier, small, messages)
    }),
    (
        "1:1, 128 B, headers",
        Door::Plain,
        2_000_000,
        |place, messages| {
            let with_headers = Flow {
                headers: true,
                ..Flow::to(1)
            };
            flow(&place.server, &place.carrier, with_headers, messages)
        },
    ),
    (
        "queue group of 4, 128 B",
        Door::Plain,
        2_000_000,
        |place, messages| {
            let shared = Flow {
                sharing: Sharing::Queue,
                ..Flow::to(4)
            };
            flow(&place.server, &place.carrier, shared, messages)
        },
    ),
    (
        "1:1, 1000 subjects",
        Door::Plain,
        2_000_000,
        |place, messages| {
            let many = Flow {
                many_subjects: true,
                ..Flow::to(1)
            };
            flow(&place.server, &place.carrier, many, messages)
        },
    ),
    ("1:1, 4 KiB", Door::Plain, 500_000, |place, messages| {
        let page = Flow {
            payload_bytes: 4096,
            ..Flow::to(1)
        };
        flow(&place.server, &place.carrier, page, messages)
    }),
    ("1:1, 64 KiB", Door::Plain, 60_000, |place, messages| {
        let large = Flow {
            payload_bytes: 65_536,
            ..Flow::to(1)
        };
        flow(&place.server, &place.carrier, large, messages)
    }),
    ("1:1, 1 MiB", Door::Plain, 4_000, |place, messages| {
        let huge = Flow {
            payload_bytes: 1 << 20,
            ..Flow::to(1)
        };
        flow(&place.server, &place.carrier, huge, messages)
    }),
    (
        "1:1 over TLS, 128 B",
        Door::Tls,
        1_000_000,
        |place, messages| flow(&place.server, &place.carrier, Flow::to(1), messages),
    ),
    (
        "1:1 over WebSocket, 128 B",
        Door::WebSocket,
        1_000_000,
        |place, messages| flow(&place.server, &place.carrier, Flow::to(1), messages),
    ),
    (
        "request-reply, alone",
        Door::Plain,
        30_000,
        |place, messages| request_reply(&place.server, &place.carrier, messages, 1),
    ),
    (
        "request-reply, 256 under way",
        Door::Plain,
        500_000,
        |place, messages| request_reply(&place.server, &place.carrier, messages, 256),
    ),
];

/// One load on one server, the median of several runs.
struct Row {
    rate: f64,
    cpu: f64,
    syscalls: Option<f64>,
    p50: f64,
    p99: f64,
    rss: f64,
}

pub(crate) fn idle() {
    let cells = KINDS.map(|kind| {
        let server = Server::start(kind, &Setup::core());
        let rss = server.usage().rss_bytes;
        say(&format!(
            "running: {IDLE_CONNECTIONS} idle connections, {}",
            kind.name()
        ));
        (
            to_f64(rss),
            idle_bytes_per_connection(&server, IDLE_CONNECTIONS),
        )
    });
    let [ours, theirs] = cells;
    println!(
        "{:<40} {:>12} {:>12} {:>7}",
        "core, idle", "frond", "nats-server", "ratio"
    );
    line("resident, KiB", ours.0 / 1024.0, theirs.0 / 1024.0);
    line("per idle connection of 10,000, bytes", ours.1, theirs.1);
}

pub(crate) fn flows(rounds: usize, only: Option<&str>) {
    let wanted = LOADS
        .iter()
        .filter(|(name, ..)| only.is_none_or(|only| name.contains(only)));
    for (name, door, messages, load) in wanted {
        let mut samples: [Vec<Sample>; 2] = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            for (kind, samples) in KINDS.iter().zip(&mut samples) {
                say(&format!(
                    "running: {name}, {}, round {}",
                    kind.name(),
                    round + 1
                ));
                samples.push(load(&Place::open(*kind, *door), *messages));
            }
        }
        let [ours, theirs] = samples;
        let calls = KINDS.map(|kind| {
            let place = Place::open(kind, *door);
            syscalls_per_message(&place.server, || {
                load(&place, messages / COUNTED_PART).messages
            })
        });
        print(name, &row(&ours, calls[0]), &row(&theirs, calls[1]));
    }
}

fn print(name: &str, ours: &Row, theirs: &Row) {
    println!(
        "\n{name:<40} {:>12} {:>12} {:>7}",
        "frond", "nats-server", "ratio"
    );
    line("messages per second", ours.rate, theirs.rate);
    line("CPU s per million", ours.cpu, theirs.cpu);
    line("messages per CPU s", 1e6 / ours.cpu, 1e6 / theirs.cpu);
    if let (Some(ours), Some(theirs)) = (ours.syscalls, theirs.syscalls) {
        line("system calls per message", ours, theirs);
    }
    if ours.p99 > 0.0 {
        line("p50, us", ours.p50, theirs.p50);
        line("p99, us", ours.p99, theirs.p99);
    }
    line(
        "resident at the end, KiB",
        ours.rss / 1024.0,
        theirs.rss / 1024.0,
    );
}

fn line(what: &str, ours: f64, theirs: f64) {
    let shown = |value: f64| match value {
        value if value < 10.0 => format!("{value:.4}"),
        value => format!("{value:.0}"),
    };
    println!(
        "  {what:<38} {:>12} {:>12} {:>7.2}",
        shown(ours),
        shown(theirs),
        ours / theirs
    );
}

fn row(samples: &[Sample], syscalls: Option<f64>) -> Row {
    let of = |value: &dyn Fn(&Sample) -> f64| median(samples.iter().map(value).collect());
    let at = |sample: &Sample, quantile| match sample.latency.is_empty() {
        true => 0.0,
        false => to_f64(sample.latency.value_at_quantile(quantile)),
    };
    Row {
        rate: of(&Sample::rate),
        cpu: of(&Sample::cpu_s_per_million),
        syscalls,
        p50: of(&|sample| at(sample, 0.5)),
        p99: of(&|sample| at(sample, 0.99)),
        rss: of(&|sample| to_f64(sample.rss_bytes)),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a run are far below 2^52"
)]
fn to_f64(value: u64) -> f64 {
    value as f64
}
