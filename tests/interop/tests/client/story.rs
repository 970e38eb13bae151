//! The story, with its casts. (nats-server as leaf under nats-server takes the better part of a minute and tells nothing
//! about Frond: `cargo run -p interop --example story` prints it beside the others.)

use interop::Kind;
use interop::story::{tell, tell_core};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frond_under_nats_server() {
    tell(Kind::Leaf, Kind::Real).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frond_under_frond_hub() {
    tell(Kind::Leaf, Kind::Hub).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_server_under_frond_hub() {
    tell_core(Kind::Real, Kind::Hub).await;
}
