//! What a client that is in notices of floods.

use bench::{Flood, under_flood};
use interop::Kind;

/// Requests at rest and under each flood, at both servers. The flood and the client share the
/// machine with the server: some of what is seen is theirs.
pub(crate) fn print(only: Option<&str>) {
    println!("request-reply of a client that is in, while others flood");
    for kind in [Kind::Hub, Kind::Real] {
        let mut calm = None;
        for flood in Flood::ALL {
            if flood != Flood::None && only.is_some_and(|only| !flood.name().contains(only)) {
                continue;
            }
            let seen = under_flood(kind, flood);
            let calm = *calm.get_or_insert(seen.p99);
            println!(
                "{:<12} {:<26} p50 {:>10.1?} p99 {:>10.1?} = {:>6.2}x, {:>7} requests, {:>8} times, {:>4} MiB",
                kind.name(),
                flood.name(),
                seen.p50,
                seen.p99,
                seen.p99.as_secs_f64() / calm.as_secs_f64(),
                seen.requests,
                seen.flooded,
                seen.rss_bytes >> 20
            );
        }
    }
}
