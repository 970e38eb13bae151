//! A cluster that is given another name while it runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use interop::link::{connect, echo, reaches};
use interop::mesh::Mesh;
use interop::{Kind, wait_for};

use crate::routes_change::{config_of, numbers};

const BOUND: Duration = Duration::from_secs(20);

/// One server after the other gets the new name, and none of their routes ends for it, nor what
/// goes over them.
///
/// spec: nats-server v2.15.1 server/reload.go `clusterOption.Apply`
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_renamed_server_by_server_with_its_routes_up() {
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        let mesh = Mesh::of(&kinds, |_| ("name: first".to_owned(), String::new()));
        mesh.meshed();
        let (here, there) = (
            connect(&mesh.servers[0]).await,
            connect(&mesh.servers[1]).await,
        );
        echo(&there, "ready").await;
        reaches(&here, "ready").await;
        let before = wait_for("the whole pool", BOUND, || {
            let numbers = numbers(&mesh, 0, "s1");
            (numbers.len() >= 4).then_some(numbers)
        });
        for at in 0..2 {
            let text = config_of(&mesh, at).replace("name: first", "name: second");
            mesh.reload(at, &text);
            let server = &mesh.servers[at];
            wait_for(&format!("{kinds:?}: the new name"), BOUND, || {
                let log = server.log();
                log.contains("Cluster name updated to second").then_some(())
            });
            assert_eq!(numbers(&mesh, 0, "s1"), before, "{kinds:?}");
            reaches(&here, "ready").await;
        }
        assert_eq!(numbers(&mesh, 0, "s1"), before, "{kinds:?}");
    }
}
