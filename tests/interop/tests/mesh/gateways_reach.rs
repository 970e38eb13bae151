//! What reaches across gateways besides plain messages: leafnodes behind a cluster, imports, operators; and who is kept out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use interop::link::{connect, connect_as, echo, reaches};
use interop::supercluster::{Supercluster, Words};
use interop::{Kind, Pki, Server, Setup, free_port, nats, run, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// Frond at either end.
const PAIRS: &[[Kind; 2]] = &[
    [Kind::Hub, Kind::Real],
    [Kind::Real, Kind::Hub],
    [Kind::Hub, Kind::Hub],
];

const SYSTEM: &str =
    "accounts { SYS: { users: [ { user: sys, password: sys } ] } }\nsystem_account: SYS\n";

async fn next(sub: &mut Subscriber) -> async_nats::Message {
    let next = tokio::time::timeout(BOUND, sub.next()).await;
    next.expect("in time").expect("open")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leafnode_answers_and_asks_other_clusters() {
    for (kinds, leaf) in [
        ([Kind::Hub, Kind::Real], Kind::Leaf),
        ([Kind::Real, Kind::Hub], Kind::Leaf),
        ([Kind::Real, Kind::Hub], Kind::Real),
        ([Kind::Hub, Kind::Hub], Kind::Leaf),
    ] {
        let users = "accounts { SYS: { users: [ { user: sys, password: sys } ] }, A: { users: [ { user: a, password: a } ] } }\nsystem_account: SYS\n";
        let port = free_port();
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |c| Words {
            more: match c {
                0 => users.to_owned(),
                _ => format!("{users}leafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"),
            },
            ..Words::default()
        });
        world.joined();
        let leaf = Server::start(
            leaf,
            &Setup::config(&format!(
                "server_name: shop\nlisten: \"127.0.0.1:-1\"\n\
                 leafnodes {{ remotes: [ {{ url: \"nats-leaf://a:a@127.0.0.1:{port}\" }} ] }}\n"
            )),
        );
        let at_leaf = connect(&leaf).await;
        echo(&at_leaf, "till").await;
        world.knows((0, 0), 1, "till", true);
        // Each with an inbox that nobody knows yet.
        for _ in 0..3 {
            let far = connect_as(&world.clusters[0][0], "a").await;
            let answer = far.request("till", "?".into()).await;
            assert_eq!(&*answer.expect("an answer").payload, b"?", "{kinds:?}");
        }
        let far = connect_as(&world.clusters[0][0], "a").await;
        echo(&far, "head").await;
        world.knows((1, 0), 0, "head", true);
        reaches(&at_leaf, "head").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_work_wherever_the_exporter_is() {
    let accounts = "accounts {
        A: { users: [ { user: a, password: a } ], exports: [ { service: \"svc\" }, { stream: \"ev.>\" } ] }
        B: { users: [ { user: b, password: b } ],
             imports: [ { service: { account: A, subject: \"svc\" } }, { stream: { account: A, subject: \"ev.>\" } } ] } }";
    for kinds in PAIRS {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| Words {
            more: accounts.to_owned(),
            ..Words::default()
        });
        world.joined();
        let exporter = connect_as(&world.clusters[1][0], "a").await;
        echo(&exporter, "svc").await;
        world.knows((0, 0), 1, "svc", true);
        let importer = connect_as(&world.clusters[0][0], "b").await;
        for _ in 0..2 {
            let answer = importer.request("svc", "?".into()).await;
            assert_eq!(&*answer.expect("an answer").payload, b"?", "{kinds:?}");
        }
        let mut heard = importer.subscribe("ev.*").await.unwrap();
        importer.flush().await.unwrap();
        wait_for("the exporter's cluster to hear of it", BOUND, || {
            let gatewayz = world.look(1, 0, "/gatewayz?accs=1&subs=1");
            gatewayz.to_string().contains("\"ev.").then_some(())
        });
        exporter.publish("ev.1", "x".into()).await.unwrap();
        next(&mut heard).await;
        let again = tokio::time::timeout(QUIET, heard.next()).await;
        assert!(again.is_err(), "{kinds:?}: it came twice");
    }
}

#[test]
fn encrypted_clusters_meet_and_plain_ones_stay_outside() {
    let pki = Pki::new("authority");
    pki.server("node");
    let tls = format!("tls {{ {} }}", pki.block("node"));
    for kinds in PAIRS {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| Words {
            gateway: tls.clone(),
            ..Words::default()
        });
        world.joined();
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| Words {
            gateway: tls.clone(),
            entry: tls.clone(),
            ..Words::default()
        });
        world.joined();
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |c| Words {
            gateway: if c == 0 { tls.clone() } else { String::new() },
            ..Words::default()
        });
        wait_for("the encrypted one to give up its first dial", BOUND, || {
            let log = world.clusters[0][0].log();
            let signs = ["Error connecting to", "TLS gateway handshake error"];
            signs.iter().any(|sign| log.contains(sign)).then_some(())
        });
        for c in [0, 1] {
            assert!(world.reached(c, 0).is_empty(), "{kinds:?}");
        }
    }
}

/// Clusters that were only heard of are met with the certificates that the last reload brought,
/// under the authority that it brought.
#[test]
fn g3_renewed_certificates_are_used_by_gateways_that_were_only_heard_of() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Real],
        [Kind::Real, Kind::Hub, Kind::Hub],
        [Kind::Hub, Kind::Hub, Kind::Hub],
    ] {
        let (pki, renewed) = (Pki::new("first"), Pki::new("second"));
        pki.server("node");
        renewed.server("node");
        let tls = format!("tls {{ {} }}", pki.block("node"));
        let kinds = kinds.map(|kind| [kind]);
        let kinds: Vec<&[Kind]> = kinds.iter().map(<[Kind; 1]>::as_slice).collect();
        // The first and the last know the one in the middle; of each other they hear.
        let mut world = Supercluster::of(&kinds, |_| Words {
            gateway: tls.clone(),
            knows: Some(vec![1]),
            ..Words::default()
        });
        world.joined();
        pki.take(&renewed, "node", "node");
        std::fs::copy(renewed.file("ca.pem"), pki.file("ca.pem")).unwrap();
        for (c, cluster) in world.clusters.iter().enumerate() {
            let path = cluster[0].dir().join("server.conf");
            let config = std::fs::read_to_string(path).unwrap();
            let former = world.look(c, 0, "/varz")["config_load_time"].clone();
            cluster[0].reload(&format!("{config}# again\n"));
            wait_for("the reload", BOUND, || {
                (world.look(c, 0, "/varz")["config_load_time"] != former).then_some(())
            });
        }
        // Who starts now trusts nobody with the former certificate.
        world.clusters[2][0].kill();
        wait_for("the others to miss it", BOUND, || {
            (world.reached(0, 0) == ["C1"]).then_some(())
        });
        world.clusters[2][0].restart();
        world.joined();
    }
}

#[test]
fn unknown_clusters_are_turned_away_by_those_who_say_so() {
    for kinds in PAIRS {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |c| Words {
            gateway: match c {
                0 => "reject_unknown_cluster: true".to_owned(),
                _ => String::new(),
            },
            knows: Some(if c == 0 { Vec::new() } else { vec![0] }),
            ..Words::default()
        });
        wait_for("the caller to be turned away", BOUND, || {
            let log = world.clusters[0][0].log();
            let sign = "Rejecting connection from gateway \"C1\"";
            log.contains(sign).then_some(())
        });
        wait_for("the caller to hear why", BOUND, || {
            let log = world.clusters[1][0].log();
            log.contains("Connection to gateway \"C0\" rejected")
                .then_some(())
        });
        assert!(world.reached(0, 0).is_empty(), "{kinds:?}");
    }
}

#[test]
fn the_nats_cli_sees_all_clusters() {
    for kinds in [
        [[Kind::Hub, Kind::Real], [Kind::Real, Kind::Hub]],
        [[Kind::Hub, Kind::Hub], [Kind::Hub, Kind::Hub]],
    ] {
        let world = Supercluster::of(&[&kinds[0], &kinds[1]], |_| Words {
            more: SYSTEM.to_owned(),
            ..Words::default()
        });
        world.joined();
        for server in world.clusters.iter().flatten() {
            let list = wait_for("the CLI to find all", BOUND, || {
                let mut command = nats(server, &["--user", "sys", "--password", "sys"]);
                let ended = run(command.args(["server", "list", "4"]));
                let names = ["c0s0", "c0s1", "c1s0", "c1s1"];
                let all = names.iter().all(|name| ended.text.contains(name));
                all.then_some(ended.text)
            });
            assert!(list.contains("C0") && list.contains("C1"), "{list}");
            let mut command = nats(server, &["--user", "sys", "--password", "sys"]);
            let report = run(command.args(["server", "report", "gateways", "4"]));
            assert!(report.text.contains("C1"), "{report:?}");
        }
    }
}
