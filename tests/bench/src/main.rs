//! `cargo run --release -p bench [core|idle|links|streams|floods]… [rounds=N]`: Frond beside nats-server 2.15.1, in one run on this
//! machine.

#![allow(clippy::print_stdout, reason = "a report on stdout")]

mod core_table;
mod flood_table;
mod link_table;
mod stream_table;

const ROUNDS: usize = 3;

fn main() {
    let mut groups: Vec<String> = std::env::args().skip(1).collect();
    let rounds = groups
        .iter()
        .find_map(|arg| arg.strip_prefix("rounds=")?.parse().ok());
    let only = groups
        .iter()
        .find_map(|arg| Some(arg.strip_prefix("only=")?.to_owned()));
    groups.retain(|arg| !arg.contains('='));
    let wants = |group: &str| groups.is_empty() || groups.iter().any(|wanted| wanted == group);
    if wants("idle") {
        core_table::idle();
    }
    if wants("core") {
        core_table::flows(rounds.unwrap_or(ROUNDS), only.as_deref());
    }
    if wants("links") {
        link_table::print(rounds.unwrap_or(ROUNDS), only.as_deref());
    }
    if wants("floods") {
        flood_table::print(only.as_deref());
    }
    if wants("streams") {
        stream_table::print(rounds.unwrap_or(1), only.as_deref());
    }
}
