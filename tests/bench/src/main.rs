//! `cargo run --release -p bench`: Frond beside nats-server 2.15.1, in one run on this machine.

#![allow(clippy::print_stdout, reason = "a report on stdout")]

use std::time::Duration;

use bench::{
    Contender, Lone, Sample, contenders, counted, create_stream, fan_out, lone_publishes,
    monitored, publish_pipelined, publish_synchronous, request_reply,
};
use interop::{Kind, Server, say};

const TIME: Duration = Duration::from_secs(2);
const LONE_MESSAGES: u32 = 300;
const BYTES_PER_MIB: u64 = 1024 * 1024;

type Load = fn(&Server) -> Sample;

/// What is run, and whether it needs a stream.
const LOADS: &[(&str, bool, Load)] = &[
    ("core, 1 publisher, 1 subscriber, 128 B", false, |server| {
        fan_out(server, 1, 2_000_000)
    }),
    ("core, 1 publisher, 5 subscribers, 128 B", false, |server| {
        fan_out(server, 5, 500_000)
    }),
    ("request and reply, one at a time", false, |server| {
        request_reply(server, 30_000)
    }),
    (
        "JetStream publish, 1 connection, each acked",
        true,
        |server| publish_synchronous(server, 1, TIME),
    ),
    (
        "JetStream publish, 16 connections, each acked",
        true,
        |server| publish_synchronous(server, 16, TIME),
    ),
    ("JetStream publish, window of 100", true, |server| {
        publish_pipelined(server, 100, TIME)
    }),
    ("JetStream publish, window of 1000", true, |server| {
        publish_pipelined(server, 1000, TIME)
    }),
];

fn main() {
    let contenders = contenders();
    println!("idle, JetStream on");
    for contender in &contenders {
        let server = Server::start(contender.kind, &contender.setup);
        println!(
            "  {:<26} {:>6} MiB resident",
            contender.name,
            mib(server.usage().rss_bytes)
        );
    }
    for (name, stored, load) in LOADS {
        println!("\n{name}");
        for contender in contenders
            .iter()
            .filter(|c| *stored || !c.name.contains("sync"))
        {
            say(&format!("running: {name}, {}", contender.name));
            row(contender, &measured(contender, *stored, *load));
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

fn measured(contender: &Contender, stored: bool, load: Load) -> Sample {
    let server = Server::start(contender.kind, &contender.setup);
    if stored {
        create_stream(&server);
    }
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
