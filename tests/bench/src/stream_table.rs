//! Streams: publishes that wait for the disk.

use std::time::Duration;

use bench::{
    Contender, Lone, Sample, contenders, counted, create_stream, lone_publishes, monitored,
    publish_pipelined, publish_synchronous,
};
use interop::{Kind, Server, say};

const TIME: Duration = Duration::from_secs(2);
const LONE_MESSAGES: u32 = 300;
const BYTES_PER_MIB: u64 = 1024 * 1024;

type Load = fn(&Server) -> Sample;

/// What is run.
const LOADS: &[(&str, Load)] = &[
    ("JetStream publish, 1 connection, each acked", |server| {
        publish_synchronous(server, 1, TIME)
    }),
    ("JetStream publish, 16 connections, each acked", |server| {
        publish_synchronous(server, 16, TIME)
    }),
    ("JetStream publish, window of 100", |server| {
        publish_pipelined(server, 100, TIME)
    }),
    ("JetStream publish, window of 1000", |server| {
        publish_pipelined(server, 1000, TIME)
    }),
];

pub(crate) fn print() {
    let contenders = contenders();
    println!("\nidle, JetStream on");
    for contender in &contenders {
        let server = Server::start(contender.kind, &contender.setup);
        println!(
            "  {:<26} {:>6} MiB resident",
            contender.name,
            mib(server.usage().rss_bytes)
        );
    }
    for (name, load) in LOADS {
        println!("\n{name}");
        for contender in &contenders {
            say(&format!("running: {name}, {}", contender.name));
            row(contender, &measured(contender, *load));
        }
    }
    println!(
        "\none durable message alone ({LONE_MESSAGES} of them; the device's figures include everything on this machine)"
    );
    for contender in &contenders {
        let (monitored, http) = monitored();
        let counts = contender.kind == Kind::Leaf;
        let setup = if counts { &monitored } else { &contender.setup };
        let server = Server::start(contender.kind, setup);
        create_stream(&server);
        let by_itself = || if counts { counted(&http) } else { None };
        lone_row(contender, lone_publishes(&server, LONE_MESSAGES, by_itself));
    }
}

fn measured(contender: &Contender, load: Load) -> Sample {
    let server = Server::start(contender.kind, &contender.setup);
    create_stream(&server);
    load(&server)
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
