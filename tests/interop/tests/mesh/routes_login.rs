//! Which servers may join a cluster, and which clusters others: by certificate, by the name of a known host, by a password
//! that is only known by its hash.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use interop::mesh::Mesh;
use interop::supercluster::{Supercluster, Words};
use interop::{Kind, Pki, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const PAIRS: [[Kind; 2]; 3] = [
    [Kind::Hub, Kind::Real],
    [Kind::Real, Kind::Hub],
    [Kind::Hub, Kind::Hub],
];

/// bcrypt of `secret`.
const SECRET_HASH: &str = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";

/// The second one dials the first, which lets it in or does not.
fn joins(cluster: &str, may: bool) {
    for kinds in PAIRS {
        let mesh = Mesh::new(&kinds, cluster, "");
        if may {
            mesh.meshed();
            continue;
        }
        wait_for("the first one to refuse", BOUND, || {
            let log = mesh.servers[0].log() + &mesh.servers[1].log();
            let refused = log.to_lowercase().contains("authorization violation");
            refused.then_some(())
        });
        assert!(mesh.known(0).is_empty(), "{kinds:?}: {cluster}");
    }
}

#[test]
fn a_certificate_says_which_servers_may_join() {
    let pki = Pki::new("authority");
    pki.server("node");
    for (user, may) in [("localhost", true), ("somebody", false)] {
        let cluster = format!(
            "authorization {{ user: {user}, password: unused }}\n\
             tls {{ {}, verify_and_map: true }}",
            pki.block("node")
        );
        joins(&cluster, may);
    }
}

#[test]
fn only_hosts_of_configured_routes_may_join() {
    let pki = Pki::new("authority");
    pki.server("node");
    for (host, may) in [("localhost", true), ("127.0.0.1", false)] {
        let cluster = format!(
            "routes: [ \"nats://{host}:$SEED\" ]\n\
             tls {{ {}, verify_cert_and_check_known_urls: true }}",
            pki.block("node")
        );
        joins(&cluster, may);
    }
}

#[test]
fn a_password_may_be_known_by_its_hash() {
    for (password, may) in [("secret", true), ("other", false)] {
        let cluster = format!(
            "routes: [ \"nats://route:{password}@127.0.0.1:$SEED\" ]\n\
             authorization {{ user: route, password: \"{SECRET_HASH}\" }}"
        );
        joins(&cluster, may);
    }
}

#[test]
fn clusters_are_let_in_by_a_certificate_or_by_a_hash() {
    let pki = Pki::new("authority");
    pki.server("node");
    let by_certificate = |user: &str| Words {
        gateway: format!(
            "authorization {{ user: {user}, password: unused }}\n\
             tls {{ {}, verify_and_map: true }}",
            pki.block("node")
        ),
        ..Words::default()
    };
    let by_hash = |password: &str| Words {
        gateway: format!("authorization {{ user: gate, password: \"{SECRET_HASH}\" }}"),
        user: format!("gate:{password}@"),
        ..Words::default()
    };
    for (words, may) in [
        (by_certificate("localhost"), true),
        (by_certificate("somebody"), false),
        (by_hash("secret"), true),
        (by_hash("other"), false),
    ] {
        for kinds in PAIRS {
            let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| words.clone());
            if may {
                world.joined();
                continue;
            }
            wait_for(&format!("{kinds:?}: nobody to be let in"), BOUND, || {
                let logs = world.clusters.iter().map(|cluster| cluster[0].log());
                let mut logs = logs.map(|log| log.to_lowercase());
                logs.all(|log| log.contains("authorization violation"))
                    .then_some(())
            });
            // One that is dialed again is there until it is refused again.
            wait_for(&format!("{kinds:?}: nobody to be there"), BOUND, || {
                let reached = [0, 1].map(|c| world.reached(c, 0));
                reached.iter().all(|it| it.is_empty()).then_some(())
            });
        }
    }
}
