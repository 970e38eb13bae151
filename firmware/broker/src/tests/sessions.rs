use std::time::Duration;

use frond_account::{Answer, Directory, Login, Plan, Secret, UserPlan, nkey};

use super::world::{PEER, QUIET, World, info, login, plan, user};
use crate::{Limits, Next, Output};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn with_users() -> World {
    let plan = plan(vec![user("a", "A", None), user("b", "B", None)]);
    World::new(Directory::build(&plan, None).unwrap(), Limits::default())
}

#[test]
fn the_first_info_says_what_the_client_needs() {
    let mut world = with_users();
    let conn = world.connect();
    assert_eq!(
        world.read(conn),
        "INFO {\"server_id\":\"NTEST\",\"server_name\":\"t1\",\"version\":\"2.15.1\",\"proto\":1,\"go\":\"\",\"host\":\"\",\"port\":0,\"headers\":true,\"auth_required\":true,\"max_payload\":1048576,\"client_id\":1,\"client_ip\":\"127.0.0.1\"} \r\n"
    );
}

#[test]
fn the_second_info_follows_the_first_pong_once() {
    let mut world = with_users();
    let a = world.client(&login("a"));
    let answer = world.ask(a, "PING\r\nPING\r\n");
    assert!(answer.starts_with("PONG\r\nINFO {"), "{answer}");
    assert!(answer.contains(r#""connect_info":true,"remote_account":"A""#));
    assert!(answer.ends_with("} \r\nPONG\r\n"));
    let old = world.client(&login("a").replace(r#""protocol":1,"#, ""));
    assert_eq!(world.ask(old, "PING\r\n"), "PONG\r\n");
}

#[test]
fn refusals_are_worded_as_nats_server_words_them() {
    let connect = |what: &str| format!("CONNECT {what}\r\n");
    let bad = login("a");
    for (said, answer, cause) in [
        (
            "PING\r\n".to_owned(),
            "-ERR 'Authorization Violation'\r\n",
            "Authentication Failure",
        ),
        (
            connect("{}"),
            "-ERR 'Authorization Violation'\r\n",
            "Authentication Failure",
        ),
        (
            connect(&login("zz")),
            "-ERR 'Authorization Violation'\r\n",
            "Authentication Failure",
        ),
        (
            connect(&bad.replace(r#""protocol":1"#, r#""protocol":7"#)),
            "-ERR 'invalid client protocol'\r\n",
            "Bad Client Protocol Version",
        ),
        (
            connect(&bad.replace(r#""headers":true"#, r#""headers":false"#)),
            "-ERR 'no responders requires headers support'\r\n",
            "No Responders Requires Headers",
        ),
        (
            connect(&bad.replace(r#""user""#, r#""account":"x","user""#)),
            "-ERR 'Authorization Violation'\r\n",
            "Authentication Failure",
        ),
        (connect("{bad"), "", "Protocol Violation"),
    ] {
        let mut world = with_users();
        let conn = world.connect();
        world.read(conn);
        assert_eq!(world.say(conn, &said), Next::Never);
        assert_eq!(world.read(conn), answer, "{said}");
        assert_eq!(world.closed.get(&conn).unwrap(), cause, "{said}");
        assert_eq!(world.broker.client_count(), 0);
    }
}

#[test]
fn silence_is_not_waited_for_longer_than_the_limit() {
    let mut world = with_users();
    let conn = world.connect();
    world.read(conn);
    world.pass(Duration::from_millis(1999));
    assert!(world.closed.is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(world.read(conn), "-ERR 'Authentication Timeout'\r\n");
    assert_eq!(world.closed.get(&conn).unwrap(), "Authentication Timeout");
    let known = world.client(&login("a"));
    world.pass(secs(2));
    assert!(!world.closed.contains_key(&known));
}

#[test]
fn a_client_that_answers_no_ping_is_stale() {
    let mut world = World::open_to_all();
    let conn = world.quiet();
    world.pass(Duration::from_millis(1999));
    assert_eq!(world.read(conn), "");
    world.pass(Duration::from_millis(401));
    assert_eq!(world.read(conn), "PING\r\n");
    world.pass(Duration::from_millis(100));
    world.say(conn, "PONG\r\n");
    let rtt = world.broker.client(conn).unwrap().rtt.unwrap();
    assert!(rtt >= Duration::from_millis(100) && rtt < Duration::from_millis(600));
    // Whoever talks isn't pinged.
    for _ in 0..10 {
        world.pass(secs(60));
        world.say(conn, "PUB a 0\r\n\r\n");
    }
    assert_eq!(world.read(conn), "");
    world.pass(secs(4 * 120));
    assert_eq!(
        world.read(conn),
        "PING\r\nPING\r\n-ERR 'Stale Connection'\r\n"
    );
    assert_eq!(world.closed.get(&conn).unwrap(), "Stale Connection");
    assert_eq!(world.broker.totals().stale_connections, 1);
}

#[test]
fn there_is_no_room_for_one_more() {
    let limits = Limits {
        connections_max: 1,
        ..Limits::default()
    };
    let mut world = World::new(Directory::open_to_all(), limits);
    let first = world.quiet();
    let second = world.connect();
    assert!(
        world
            .read(second)
            .ends_with("} \r\n-ERR 'maximum connections exceeded'\r\n")
    );
    assert_eq!(
        world.closed.get(&second).unwrap(),
        "Maximum Connections Exceeded"
    );
    world.broker.closed(world.now, first, "Client Closed");
    let third = world.quiet();
    assert!(!world.closed.contains_key(&third));
}

#[test]
fn subscriptions_are_counted() {
    let limits = Limits {
        subscriptions_max: Some(2),
        subscription_tokens_max: Some(3),
        ..Limits::default()
    };
    let mut world = World::new(Directory::open_to_all(), limits);
    let conn = world.quiet();
    assert_eq!(world.ask(conn, "SUB a 1\r\nSUB b 2\r\n"), "");
    let full = "-ERR 'maximum subscriptions exceeded'\r\n";
    assert_eq!(world.ask(conn, "SUB c 3\r\n"), full);
    assert_eq!(world.ask(conn, "UNSUB 1\r\nSUB c 3\r\n"), "");
    assert_eq!(
        world.ask(conn, "SUB a.b.c.d 4\r\n"),
        "-ERR 'Permissions Violation for Subscription to \"a.b.c.d\", too many tokens'\r\n"
    );
}

#[test]
fn an_account_has_room_for_so_many() {
    let mut plan = plan(vec![user("a", "A", None)]);
    plan.accounts[0].limits.connections_max = Some(1);
    plan.accounts[0].limits.payload_bytes_max = Some(8);
    let mut world = World::new(Directory::build(&plan, None).unwrap(), Limits::default());
    let first = world.client(&login("a"));
    assert_eq!(
        world.ask(first, "PUB x 9\r\n"),
        "-ERR 'Maximum Payload Violation'\r\n"
    );
    let second = world.client(&login("a"));
    let third = world.connect();
    world.read(third);
    assert_eq!(
        world.ask(third, &format!("CONNECT {}\r\n", login("a"))),
        "-ERR 'maximum account active connections exceeded'\r\n"
    );
    assert!(!world.closed.contains_key(&second));
}

#[test]
fn nothing_is_read_while_a_password_is_being_checked() {
    let hash = "$2a$04$ootaaL3ZM9MnQmqcuF5MGu2OoI4mNOxSF2DlyU3n6zo5h1fhrVTOu";
    let plan = Plan {
        users: vec![UserPlan {
            only: None,
            proxy_required: false,
            login: Login::Password {
                user: "a".into(),
                secret: Secret::new(hash),
            },
            account: None,
            permissions: None,
        }],
        ..Plan::default()
    };
    for fits in [true, false] {
        let directory = Directory::build(&plan, None).unwrap();
        let mut world = World::new(directory, Limits::default());
        let conn = world.connect();
        world.read(conn);
        let said = format!("CONNECT {}\r\nPING\r\n", login("a"));
        assert_eq!(world.say(conn, &said), Next::Verify);
        assert_eq!(world.say(conn, "PING\r\n"), Next::Verify);
        assert_eq!(world.read(conn), "");
        let (token, of, password, then) = world.bcrypt().unwrap();
        assert_eq!((of.as_str(), password.as_str()), (hash, "a"));
        let accept = Answer::Accept(then);
        world
            .broker
            .answered(world.now, conn, token + 1, accept.clone());
        assert_eq!(world.say(conn, ""), Next::Verify);
        let answer = if fits {
            accept
        } else {
            Answer::Refuse(String::new())
        };
        world.broker.answered(world.now, conn, token, answer);
        world.drain();
        if fits {
            assert!(world.ask(conn, "").starts_with("PONG\r\nINFO"));
        } else {
            assert_eq!(world.read(conn), "-ERR 'Authorization Violation'\r\n");
        }
    }
}

#[test]
fn an_answer_may_be_to_judge_again() {
    let with = |secret: &str| Plan {
        users: vec![UserPlan {
            only: None,
            proxy_required: false,
            login: Login::Password {
                user: "a".into(),
                secret: Secret::new(secret),
            },
            account: None,
            permissions: None,
        }],
        ..Plan::default()
    };
    for (secret, welcome) in [("a", true), ("b", false)] {
        let directory = Directory::build(&with("$2a$04$x"), None).unwrap();
        let mut world = World::new(directory, Limits::default());
        let conn = world.connect();
        world.read(conn);
        world.say(conn, &format!("CONNECT {}\r\nPING\r\n", login("a")));
        let (token, ..) = world.bcrypt().unwrap();
        let former = world.broker.directory();
        let directory = Directory::build(&with(secret), Some(former)).unwrap();
        let facts = world.broker.facts().clone();
        world
            .broker
            .reload(world.now, directory, Limits::default(), facts, info());
        world.broker.answered(world.now, conn, token, Answer::Again);
        world.drain();
        assert_eq!(world.ask(conn, "").starts_with("PONG\r\n"), welcome);
        assert_eq!(world.closed.contains_key(&conn), !welcome);
    }
}

#[test]
fn an_nkey_client_signs_its_own_nonce() {
    let key = nkey::KeyPair::from_random(nkey::Role::User, &[3; 32]);
    let plan = Plan {
        users: vec![UserPlan {
            only: None,
            proxy_required: false,
            login: Login::Nkey(key.public_key()),
            account: None,
            permissions: None,
        }],
        ..Plan::default()
    };
    let mut world = World::new(Directory::build(&plan, None).unwrap(), Limits::default());
    let nonce_of = |info: &str| {
        let (_, rest) = info.split_once(r#""nonce":""#).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let connect = |nonce: &str| {
        let (public, seed) = (key.public_key(), key.seed());
        let sig = nkey::sign(&seed, nonce.as_bytes()).unwrap();
        format!("CONNECT {{\"verbose\":true,\"nkey\":\"{public}\",\"sig\":\"{sig}\"}}\r\n")
    };
    let (good, bad) = (world.connect(), world.connect());
    let (mine, other) = (nonce_of(&world.read(good)), nonce_of(&world.read(bad)));
    assert_ne!(mine, other);
    assert_eq!(mine.len(), 15);
    assert_eq!(world.ask(good, &connect(&mine)), "+OK\r\n");
    assert_eq!(
        world.ask(bad, &connect(&mine)),
        "-ERR 'Authorization Violation'\r\n"
    );
}

#[test]
fn a_second_connect_starts_over() {
    let mut world = with_users();
    let a = world.client(&login("a"));
    world.say(a, "SUB x 1\r\n");
    world.say(a, &format!("CONNECT {}\r\n", login("b")));
    assert_eq!(world.broker.subscription_count(), 0);
    assert_eq!(world.ask(a, "PUB x 0\r\n\r\n"), "");
    let view = world.broker.client(a).unwrap();
    assert_eq!((view.user.as_str(), view.subscriptions), ("b", 0));
}

#[test]
fn without_users_the_first_word_may_be_anything() {
    let mut world = World::open_to_all();
    let conn = world.connect();
    world.read(conn);
    assert_eq!(
        world.ask(conn, "PING\r\nSUB a 1\r\nPUB a 0\r\n\r\n"),
        "PONG\r\n+OK\r\n+OK\r\nMSG a 1 0\r\n\r\n"
    );
}

#[test]
fn the_no_auth_user_needs_no_connect() {
    let mut plan = plan(vec![user("a", "A", None)]);
    plan.no_auth_user = Some("a".into());
    let mut world = World::new(Directory::build(&plan, None).unwrap(), Limits::default());
    let conn = world.connect();
    assert!(!world.read(conn).contains("auth_required"));
    assert_eq!(world.ask(conn, "PING\r\n"), "PONG\r\n");
    assert_eq!(world.broker.client(conn).unwrap().user, "a");
    let quiet = world.client(QUIET);
    assert!(
        world
            .ask(quiet, "PING\r\n")
            .contains(r#""auth_required":true"#)
    );
}

#[test]
fn lame_duck_is_told_to_those_who_understand() {
    let mut world = World::open_to_all();
    let (new, old) = (world.quiet(), world.client(r#"{"verbose":false}"#));
    world.broker.lame_duck(world.now);
    world.drain();
    assert!(world.read(new).contains(r#""ldm":true"#));
    assert_eq!(world.read(old), "");
}

#[test]
fn who_is_gone_is_remembered_up_to_a_limit() {
    let limits = Limits {
        closed_clients_max: 3,
        ..Limits::default()
    };
    let mut world = World::new(Directory::open_to_all(), limits);
    for _ in 0..5 {
        let conn = world.quiet();
        world.say(conn, "PUB a 3\r\nabc\r\n");
        world.broker.closed(world.now, conn, "Client Closed");
    }
    let kept: Vec<_> = world.broker.closed_clients().collect();
    assert_eq!(kept.len(), 3);
    let last = &kept.last().unwrap().closed;
    assert_eq!((last.client.cid, &*last.reason), (5, "Client Closed"));
    assert_eq!(
        (last.client.traffic.in_msgs, last.client.traffic.in_bytes),
        (1, 3)
    );
    assert_eq!(last.client.peer, Some(PEER));
}

#[test]
fn strangers_have_bounded_room_and_the_oldest_leaves_it() {
    let limits = Limits {
        strangers_max: 3,
        ..Limits::default()
    };
    let mut world = World::new(Directory::open_to_all(), limits);
    let known: Vec<_> = (0..5).map(|_| world.quiet()).collect();
    let strangers: Vec<_> = (0..8).map(|_| world.connect()).collect();
    let closed: Vec<_> = world.closed.keys().copied().collect();
    assert_eq!(closed, strangers[..5]);
    assert!(
        world
            .read(strangers[0])
            .contains("-ERR 'Authentication Timeout'")
    );
    assert_eq!(
        world
            .ask(strangers[5], "CONNECT {\"verbose\":false}\r\nPING\r\n")
            .matches("PONG")
            .count(),
        1
    );
    world.connect();
    assert_eq!(world.closed.len(), 5, "who said who it is leaves room");
    assert_eq!(world.broker.shed_strangers(world.now, 10), 3);
    world.drain();
    assert_eq!(world.broker.clients().count(), known.len() + 1);
    assert_eq!(world.broker.totals().strangers_shed, 8);
    let told = world.outputs.iter().filter(|output| {
        matches!(output, Output::Log { text, .. } if text.contains("before they said who they are"))
    });
    assert_eq!(told.count(), 1);
}
