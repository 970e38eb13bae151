//! Streams: publishes that wait for the disk.

use std::time::Duration;

use bench::{
    Contender, Lone, Sample, consume_ordered, consume_pull, contenders, counted, create_stream,
    get_keys, lone_publishes, monitored, publish_pipelined, publish_synchronous,
};
use interop::{Kind, Server, say};

const TIME: Duration = Duration::from_secs(2);
const CONSUMED: u64 = 300_000;
const LONE_MESSAGES: u32 = 300;
const BYTES_PER_MIB: u64 = 1024 * 1024;

type Load = fn(&Server) -> Sample;

/// What is run.
const LOADS: &[(&str, Load)] = &[
    ("JetStream publish, 1 connection, each acked", |server| {
        create_stream(server);
        publish_synchronous(server, 1, TIME)
    }),
    ("JetStream publish, 16 connections, each acked", |server| {
        create_stream(server);
        publish_synchronous(server, 16, TIME)
    }),
    ("JetStream publish, window of 100", |server| {
        create_stream(server);
        publish_pipelined(server, 100, TIME)
    }),
    ("JetStream publish, window of 1000", |server| {
        create_stream(server);
        publish_pipelined(server, 1000, TIME)
    }),
    ("JetStream pull consumer, each acked", |server| {
        consume_pull(server, CONSUMED)
    }),
    ("JetStream ordered consumer", |server| {
        consume_ordered(server, CONSUMED)
    }),
    ("KV get, one after another", |server| {
        get_keys(server, 1, TIME)
    }),
    ("KV get, window of 100", |server| {
        get_keys(server, 100, TIME)
    }),
];

/// Of several rounds the one with the median rate counts.
pub(crate) fn print(rounds: usize, only: Option<&str>) {
    let contenders = contenders();
    let wanted = |name: &str| only.is_none_or(|only| name.contains(only));
    if wanted("idle") {
        print_idle(&contenders);
    }
    for (name, load) in LOADS.iter().filter(|(name, _)| wanted(name)) {
        println!("\n{name}");
        let mut samples = vec![Vec::new(); contenders.len()];
        for round in 1..=rounds {
            for (contender, samples) in contenders.iter().zip(&mut samples) {
                say(&format!("running: {name}, {}, {round}", contender.name));
                samples.push(load(&Server::start(contender.kind, &contender.setup)));
            }
        }
        for (contender, mut samples) in contenders.iter().zip(samples) {
            samples.sort_by(|one, two| one.rate().total_cmp(&two.rate()));
            row(contender, &samples[samples.len() / 2]);
        }
    }
    if wanted("lone") {
        print_lone(&contenders);
    }
}

fn print_idle(contenders: &[Contender]) {
    println!("\nidle, JetStream on");
    for contender in contenders {
        let server = Server::start(contender.kind, &contender.setup);
        println!(
            "  {:<26} {:>6} MiB resident",
            contender.name,
            mib(server.usage().rss_bytes)
        );
    }
}

fn print_lone(contenders: &[Contender]) {
    println!(
        "\none durable message alone ({LONE_MESSAGES} of them; the device's figures include everything on this machine)"
    );
    for contender in contenders {
        let (monitored, http) = monitored();
        let counts = contender.kind == Kind::Leaf;
        let setup = if counts { &monitored } else { &contender.setup };
        let server = Server::start(contender.kind, setup);
        create_stream(&server);
        let by_itself = || if counts { counted(&http) } else { None };
        lone_row(contender, lone_publishes(&server, LONE_MESSAGES, by_itself));
    }
}

fn row(contender: &Contender, sample: &Sample) {
    let latency = if sample.latency.is_empty() {
        String::new()
    } else {
        let at = |quantile| sample.latency.value_at_quantile(quantile);
        format!("p50 {:>6} us  p99 {:>6} us", at(0.5), at(0.99))
    };
    println!(
        "  {:<26} {:>9.0} msgs/s  {:>6.2} CPU s per million  {:>5} MiB  {latency}",
        contender.name,
        sample.rate(),
        sample.cpu_s_per_million(),
        mib(sample.rss_bytes)
    );
}

fn lone_row(contender: &Contender, lone: Lone) {
    let shown = |pair: Option<(f64, f64)>, unit: &str| match pair {
        Some((bytes, syncs)) => format!("{bytes:.0} B and {syncs:.2} {unit}"),
        None => "not shown".to_owned(),
    };
    println!(
        "  {:<26} device: {}; counted by itself: {}",
        contender.name,
        shown(lone.device, "flushes"),
        shown(lone.counted, "syncs")
    );
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_MIB)
}
