use std::time::Duration;

use frond_account::{Credentials, Directory, DoorPlan, Login, Plan, Secret, Transport, UserPlan};

use super::world::{PEER, World};
use crate::{Arrival, Conn, Front, Limits, Output, ServerUrls, Upgrade};

fn user(name: &str, pass: &str) -> UserPlan {
    UserPlan {
        proxy_required: false,
        only: None,
        login: Login::Password {
            user: name.into(),
            secret: Secret::new(pass),
        },
        account: None,
        permissions: None,
    }
}

fn world(plan: &Plan) -> World {
    let directory = Directory::build(plan, None).unwrap();
    let mut world = World::new(directory, Limits::default());
    world.broker.set_websockets(Front {
        host: "10.0.0.1".into(),
        port: 8443,
        auth_time_max: Some(Duration::from_secs(7)),
        ping_interval: Some(Duration::from_secs(20)),
    });
    world
}

fn arrive(world: &mut World, conn: Conn, credentials: Credentials) -> String {
    let upgrade = Upgrade {
        forwarded_for: Some("192.0.2.9".parse().unwrap()),
        credentials,
    };
    let arrival = Arrival {
        transport: Transport::WebSocket,
        upgrade: Some(Box::new(upgrade)),
        ..Arrival::plain(PEER)
    };
    world.broker.open(world.now, conn, arrival);
    world.drain();
    world.read(conn)
}

#[test]
fn the_greeting_names_the_port_they_came_by() {
    let mut world = world(&Plan::default());
    let info = arrive(&mut world, Conn(1000), Credentials::default());
    assert!(
        info.contains("\"host\":\"10.0.0.1\",\"port\":8443"),
        "{info}"
    );
    let other = world.connect();
    let info = world.read(other);
    assert!(!info.contains("8443"), "{info}");
    let marked = world.outputs.iter().any(|output| {
        matches!(output, Output::Log { text, .. }
            if text == "192.0.2.9/127.0.0.1:4321 - wid:1000 - Client connection created")
    });
    assert!(marked, "{:?}", world.outputs);
}

/// spec: nats-server v2.15.1 server/client.go `generateClientInfoJSON`
#[test]
fn they_are_told_of_servers_they_can_come_to() {
    let urls = |host: &str| ServerUrls {
        tcp: vec![format!("{host}:4222")],
        websocket: vec![format!("{host}:8080")],
        leafnode: Vec::new(),
    };
    let mut world = world(&Plan::default());
    world.broker.set_own_urls(urls("a"));
    world.broker.offer("B", urls("b"));
    let told = arrive(&mut world, Conn(1000), Credentials::default());
    assert!(
        told.contains(r#""connect_urls":["a:8080","b:8080"]"#),
        "{told}"
    );
    let other = world.connect();
    let told = world.read(other);
    assert!(
        told.contains(r#""connect_urls":["a:4222","b:4222"]"#) && !told.contains("8080"),
        "{told}"
    );
}

#[test]
fn cookies_say_what_connect_leaves_out() {
    let plan = Plan {
        users: vec![user("ann", "a"), user("bob", "b")],
        ..Plan::default()
    };
    let mut world = world(&plan);
    let brought = Credentials {
        user: Some("ann".into()),
        pass: Some("a".into()),
        ..Credentials::default()
    };
    arrive(&mut world, Conn(1000), brought.clone());
    world.say(Conn(1000), "CONNECT {\"verbose\":true}\r\n");
    assert_eq!(world.read(Conn(1000)), "+OK\r\n");
    arrive(&mut world, Conn(1001), brought);
    world.say(
        Conn(1001),
        "CONNECT {\"verbose\":true,\"user\":\"bob\",\"pass\":\"b\"}\r\n",
    );
    assert_eq!(world.read(Conn(1001)), "+OK\r\n");
}

#[test]
fn they_have_times_and_users_of_their_own() {
    let plan = Plan {
        websockets: Some(DoorPlan {
            users: vec![user("web", "w")],
            no_auth_user: None,
        }),
        ..Plan::default()
    };
    let mut world = world(&plan);
    let info = arrive(&mut world, Conn(1000), Credentials::default());
    assert!(info.contains("\"auth_required\":true"), "{info}");
    world.pass(Duration::from_secs(6));
    assert_eq!(world.read(Conn(1000)), "");
    world.pass(Duration::from_secs(2));
    assert_eq!(world.read(Conn(1000)), "-ERR 'Authentication Timeout'\r\n");
    arrive(&mut world, Conn(1001), Credentials::default());
    world.say(
        Conn(1001),
        "CONNECT {\"user\":\"web\",\"pass\":\"w\",\"verbose\":false}\r\n",
    );
    world.pass(Duration::from_secs(5));
    world.say(Conn(1001), "PONG\r\n");
    world.read(Conn(1001));
    world.pass(Duration::from_secs(25));
    assert_eq!(world.read(Conn(1001)), "PING\r\n");
}
