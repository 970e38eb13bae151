//! Clusters that change while they run: reloads, servers that lead their clients away, accounts that come.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use futures_util::StreamExt as _;
use interop::link::{connect, connect_as, echo, reaches};
use interop::mesh::Mesh;
use interop::{Kind, Signal, wait_for};

const BOUND: Duration = Duration::from_secs(20);

pub(crate) fn config_of(mesh: &Mesh, at: usize) -> String {
    let path = mesh.servers[at].dir().join("server.conf");
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_changes_the_cluster_as_a_restart_does() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub, Kind::Hub],
    ] {
        let mesh = Mesh::new(&kinds, "", "");
        mesh.meshed();
        let (here, there) = (
            connect(&mesh.servers[0]).await,
            connect(&mesh.servers[1]).await,
        );
        echo(&there, "ready").await;
        reaches(&here, "ready").await;
        let former = config_of(&mesh, 0);
        // Nobody is dialed from here, and the others find it again.
        let alone = former.replace("cluster {", "cluster { pool_size: 5\n");
        mesh.servers[0].reload(&alone);
        wait_for("the larger pool", BOUND, || {
            let pooled = mesh.routes(0);
            let pooled = pooled.iter().filter(|route| route.get("account").is_none());
            (pooled.count() == 10).then_some(())
        });
        mesh.meshed();
        reaches(&here, "ready").await;
        mesh.servers[0].reload(&former);
        mesh.meshed();
        reaches(&here, "ready").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_comes_by_reload_crosses_routes() {
    let user =
        |name: &str| format!("{name}: {{ users: [ {{ user: {name}, password: {name} }} ] }}");
    let accounts = |names: &[&str]| {
        let users: Vec<_> = names.iter().map(|name| user(name)).collect();
        format!("accounts {{ {} }}", users.join(", "))
    };
    // A real server forgets interest in accounts that it doesn't know, ours keeps it.
    for kinds in [[Kind::Hub, Kind::Real], [Kind::Hub, Kind::Hub]] {
        let mesh = Mesh::new(&kinds, "", &accounts(&["old"]));
        mesh.meshed();
        let reload = |at: usize| {
            let text = config_of(&mesh, at);
            let text = text.replace(&accounts(&["old"]), &accounts(&["old", "new"]));
            mesh.reload(at, &text);
        };
        // The other one knows it first, and somebody there wants something of it.
        reload(1);
        let early = connect_as(&mesh.servers[1], "new").await;
        echo(&early, "ready").await;
        early.flush().await.unwrap();
        reload(0);
        let late = connect_as(&mesh.servers[0], "new").await;
        reaches(&late, "ready").await;
    }
}

/// `max_payload` is a rule for clients.
#[tokio::test(flavor = "multi_thread")]
async fn servers_tell_each_other_messages_of_any_size_also_after_a_reload() {
    for kinds in [[Kind::Hub, Kind::Real], [Kind::Hub, Kind::Hub]] {
        let mesh = Mesh::of(&kinds, |at| {
            let more = ["max_payload: 100000", "max_payload: 4000000"][at];
            (String::new(), more.to_owned())
        });
        mesh.meshed();
        let (small, large) = (
            connect(&mesh.servers[0]).await,
            connect(&mesh.servers[1]).await,
        );
        let mut heard = small.subscribe("big").await.unwrap();
        small.flush().await.unwrap();
        mesh.hears_of(1, "big");
        let text = config_of(&mesh, 0);
        mesh.servers[0].reload(&format!("{text}\nmax_connections: 1000\n"));
        wait_for("the reload", BOUND, || {
            let told = mesh.look(0, "/varz");
            (told["max_connections"] == 1000).then_some(())
        });
        large
            .publish("big", vec![1; 3_000_000].into())
            .await
            .unwrap();
        let came = tokio::time::timeout(BOUND, heard.next()).await;
        assert_eq!(came.unwrap().unwrap().payload.len(), 3_000_000, "{kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_server_that_goes_are_led_to_the_others() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Hub],
        [Kind::Real, Kind::Hub, Kind::Hub],
    ] {
        let extra = "lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"10s\"";
        let mesh = Mesh::new(&kinds, "", extra);
        mesh.meshed();
        for at in [1, 2] {
            wait_for("all three are told", BOUND, || {
                let told = mesh.look(at, "/varz");
                let urls = told["connect_urls"].as_array().map(Vec::len);
                (urls == Some(3)).then_some(())
            });
        }
        mesh.servers[0].signal(Signal::USR2);
        for at in [1, 2] {
            wait_for(
                &format!("{kinds:?}: s{at} tells of it no more"),
                BOUND,
                || {
                    let told = mesh.look(at, "/varz");
                    let urls = told["connect_urls"].as_array()?.clone();
                    let gone = mesh.servers[0].addr();
                    (urls.len() == 2 && !urls.iter().any(|url| *url == gone)).then_some(())
                },
            );
        }
    }
}

/// The numbers of the connections between a server and another one.
pub(crate) fn numbers(mesh: &Mesh, at: usize, other: &str) -> Vec<u64> {
    let rows = mesh.routes(at);
    let rows = rows.iter().filter(|row| row["remote_name"] == other);
    let mut numbers: Vec<u64> = rows.filter_map(|row| row["rid"].as_u64()).collect();
    numbers.sort_unstable();
    numbers
}

/// Other servers to dial are no reason to leave those that are there.
#[tokio::test(flavor = "multi_thread")]
async fn another_list_of_servers_leaves_other_routes_alone() {
    for kinds in [
        [Kind::Hub, Kind::Hub, Kind::Hub],
        [Kind::Real, Kind::Hub, Kind::Real],
    ] {
        let mesh = Mesh::new(&kinds, "", "");
        mesh.meshed();
        let pooled = |other: &str| {
            wait_for("the whole pool", BOUND, || {
                let numbers = numbers(&mesh, 1, other);
                (numbers.len() >= 4).then_some(numbers)
            })
        };
        let before = (pooled("s0"), pooled("s2"));
        let former = config_of(&mesh, 1);
        let [first, last] = [0, 2].map(|at| format!("\"nats://127.0.0.1:{}\"", mesh.ports[at]));
        assert!(former.contains(&first), "{former}");
        mesh.reload(1, &former.replace(&first, &format!("{first}, {last}")));
        assert_eq!((pooled("s0"), pooled("s2")), before, "{kinds:?}");
        mesh.reload(1, &former.replace(&first, &last));
        assert_eq!(pooled("s2"), before.1, "{kinds:?}");
    }
}

/// What a server gives by a reload is asked of it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_gives_more_is_asked_for_it() {
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        let few = "permissions { import: [ \">\" ], export: [ \"a.>\", \"ready\" ] }";
        let many = "permissions { import: [ \">\" ], export: [ \"a.>\", \"ready\", \"b.>\" ] }";
        let mesh = Mesh::of(&kinds, |at| {
            let words = if at == 1 { few } else { "" };
            (words.to_owned(), String::new())
        });
        mesh.meshed();
        let (here, there) = (
            connect(&mesh.servers[0]).await,
            connect(&mesh.servers[1]).await,
        );
        echo(&here, "b.more").await;
        echo(&here, "ready").await;
        reaches(&there, "ready").await;
        let refused = there.request("b.more", "x".into()).await;
        assert!(refused.is_err(), "{kinds:?}");
        mesh.reload(1, &config_of(&mesh, 1).replace(few, many));
        reaches(&there, "b.more").await;
    }
}

/// What servers take over while they run is no reason to leave each other.
#[tokio::test(flavor = "multi_thread")]
async fn what_can_change_in_place_leaves_routes_alone() {
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        let mesh = Mesh::new(&kinds, "", "");
        mesh.meshed();
        let pooled = || {
            wait_for(&format!("{kinds:?}: the whole pool"), BOUND, || {
                let numbers = numbers(&mesh, 1, "s0");
                (numbers.len() >= 4).then_some(numbers)
            })
        };
        let before = pooled();
        let former = config_of(&mesh, 1);
        for words in [
            "connect_retries: 5, connect_backoff: true",
            "no_advertise: true",
            "advertise: \"127.0.0.1\"",
            "ping_interval: \"3s\", ping_max: 5",
            "permissions { import: \"a.>\", export: \"b.>\" }",
        ] {
            let changed = former.replace("cluster {", &format!("cluster {{ {words}\n"));
            mesh.reload(1, &changed);
            assert_eq!(pooled(), before, "{kinds:?} {words}");
        }
        mesh.reload(1, &former);
        assert_eq!(pooled(), before, "{kinds:?}");
    }
}

/// Interest that a server may no longer take or give ends, and comes back with the right to it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_and_given_follows_a_reload() {
    for kinds in [
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
        [Kind::Hub, Kind::Real],
    ] {
        let mesh = Mesh::new(&kinds, "", "");
        mesh.meshed();
        let (far, near) = (
            connect(&mesh.servers[0]).await,
            connect(&mesh.servers[1]).await,
        );
        echo(&far, "out.x").await;
        echo(&near, "in.x").await;
        reaches(&near, "out.x").await;
        reaches(&far, "in.x").await;
        let former = config_of(&mesh, 1);
        let rules =
            "permissions { import: { deny: [ \"in.>\" ] }, export: { deny: [ \"out.>\" ] } }";
        mesh.reload(
            1,
            &former.replace("cluster {", &format!("cluster {{ {rules}\n")),
        );
        for (asker, subject) in [(&near, "out.x"), (&far, "in.x")] {
            interop::wait_for_async(
                &format!("{kinds:?}: nobody on {subject}"),
                BOUND,
                async || {
                    let answer = asker.request(subject, "x".into());
                    let answer = tokio::time::timeout(Duration::from_secs(2), answer).await;
                    matches!(answer, Ok(Err(_)) | Err(_)).then_some(())
                },
            )
            .await;
        }
        mesh.reload(1, &former);
        reaches(&near, "out.x").await;
        reaches(&far, "in.x").await;
    }
}

/// Callers that show what was right before go; who calls others itself stays with them.
#[test]
fn callers_have_to_show_what_is_asked_now() {
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        let auth = "authorization { user: r, password: first }\n\
                    routes: [ \"nats://r:first@127.0.0.1:$SEED\" ]";
        let mesh = Mesh::new(&kinds, auth, "");
        mesh.meshed();
        let former = config_of(&mesh, 0);
        mesh.reload(
            0,
            &former.replace("cluster {", "cluster { ping_interval: \"9s\"\n"),
        );
        mesh.meshed();
        // Its own calls, to itself, say so too: nobody else is called from here.
        mesh.reload(0, &former.replace("first", "second"));
        wait_for(&format!("{kinds:?}: the caller is gone"), BOUND, || {
            (mesh.known(0).is_empty() && mesh.known(1).is_empty()).then_some(())
        });
        mesh.reload(1, &config_of(&mesh, 1).replace("first", "second"));
        mesh.meshed();
    }
}

/// More or less of it is taken over by routes that are up; none at all they have to agree on.
#[test]
fn another_compression_is_taken_over_or_agreed_on_anew() {
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        let mesh = Mesh::new(&kinds, "compression: s2_fast", "");
        mesh.meshed();
        let pooled = |compression: &str| {
            wait_for(&format!("the whole pool with {compression}"), BOUND, || {
                let rows = mesh.routes(1);
                let is_so = rows.iter().all(|row| row["compression"] == compression);
                let numbers = numbers(&mesh, 1, "s0");
                (is_so && numbers.len() >= 4).then_some(numbers)
            })
        };
        let before = pooled("s2_fast");
        let former = config_of(&mesh, 1);
        mesh.reload(1, &former.replace("s2_fast", "s2_best"));
        assert_eq!(pooled("s2_best"), before, "{kinds:?}");
        mesh.reload(1, &former.replace("s2_fast", "off"));
        assert!(
            pooled("off").iter().all(|number| !before.contains(number)),
            "{kinds:?}"
        );
    }
}
