//! Tells the story with Frond and with nats-server as leaf, and prints how long each took.

#![allow(clippy::print_stdout, reason = "a report on stdout")]

use interop::Kind;
use interop::story::tell;

#[tokio::main(worker_threads = 2)]
async fn main() {
    println!("leaf         hub          orders   caught up after   in all");
    for (leaf, hub) in [
        (Kind::Leaf, Kind::Hub),
        (Kind::Leaf, Kind::Real),
        (Kind::Real, Kind::Real),
    ] {
        let times = tell(leaf, hub).await;
        let (resumed, whole) = (times.resumed.as_secs_f64(), times.whole.as_secs_f64());
        println!(
            "{:<12} {:<12} {:>6} {resumed:>15.1} s {whole:>6.1} s",
            leaf.name(),
            hub.name(),
            times.orders
        );
    }
}
