use std::time::Duration;

use frond_broker::name_hash;

use crate::testing::{World, greeting, own_prefix};

type Change = fn(&mut crate::Plan);

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_dialer_waits_for_the_greeting_and_says_who_it_is() {
    let mut world = World::new(&["GB"], |_| {});
    let (conn, to) = world.answer_dial();
    assert_eq!((to.as_str(), world.read(conn)), ("gb:7222", String::new()));
    let said = world.ask(conn, &greeting("GB"));
    let (connect, info) = said.split_once("\r\n").unwrap();
    let expected = "CONNECT {\"echo\":false,\"verbose\":false,\"pedantic\":false,\
        \"tls_required\":false,\"headers\":false,\"name\":\"NA\",\"cluster\":\"\",\"gateway\":\"GA\"}";
    assert_eq!(connect, expected);
    for part in [
        "\"gateway\":\"GA\",\"gateway_urls\":[\"127.0.0.1:7222\"]",
        "\"gateway_url\":\"127.0.0.1:7222\",\"gateway_nrp\":true,\"gateway_iom\":true}",
    ] {
        assert!(info.contains(part), "{info}");
    }
}

#[test]
fn a_dialer_leaves_whom_it_did_not_look_for_in_the_words_of_nats_server() {
    for (info, said, cause, logged) in [
        (
            greeting("GX"),
            "-ERR 'Connection from \"GA\" rejected, wanted to connect to \"GB\", this is \"GX\"'\r\n",
            "Wrong Gateway",
            "Failing connection to gateway \"GB\", remote gateway name is \"GX\"",
        ),
        (
            "INFO {\"server_id\":\"NX\"}\r\n".to_owned(),
            "-ERR 'Attempt to connect to gateway \"GB\" using wrong port'\r\n",
            "Incorrect Port",
            "Attempt to connect to gateway \"GB\" using wrong port",
        ),
        (
            greeting("GB").replace("\"gb\"", "\"a\""),
            "",
            "Duplicate Server Name",
            "Remote server has a duplicate name: \"a\"",
        ),
    ] {
        for is_late in [false, true] {
            let mut world = World::new(&["GB"], |_| {});
            let conn = match is_late {
                true => world.reach("GB"),
                false => world.answer_dial().0,
            };
            assert_eq!(world.ask(conn, &info), said);
            assert_eq!(world.closed[&conn], cause);
            assert!(
                world.logs.iter().any(|log| log.contains(logged)),
                "{:?}",
                world.logs
            );
            world.pass(2 * SECOND);
            assert_eq!(world.dials.len(), 1, "it tries again");
        }
    }
}

#[test]
fn a_caller_is_told_groups_then_clusters_then_each_account_whole() {
    let mut world = World::new(&["GB", "GC"], |_| {});
    let client = world.client();
    world.ask(client, "SUB f 1\r\nSUB f 2\r\nSUB q w 3\r\nSUB q w 4\r\n");
    let (conn, told) = world.called_by("GB");
    let at = |part: &str| {
        told.find(part)
            .unwrap_or_else(|| panic!("{part} in {told}"))
    };
    let group = at("RS+ $G q w 1\r\n");
    let gossip = at("\"gateway\":\"GC\",\"gateway_urls\":[\"gc:7222\"],\"gateway_cmd\":1}");
    let begins = at("\"gateway\":\"GA\",\"gateway_cmd\":2,\"gateway_cmd_payload\":\"JEc=\"}");
    let plain = at("RS+ $G f\r\n");
    let complete = at("\"gateway\":\"GA\",\"gateway_cmd\":3,\"gateway_cmd_payload\":\"JEc=\"}");
    assert!(group < gossip && gossip < begins && begins < plain && plain < complete);
    assert_eq!(told.matches("RS+").count(), 2);
    world.ask(client, "UNSUB 1\r\nUNSUB 3\r\n");
    assert_eq!(world.read(conn), "");
    world.ask(client, "UNSUB 2\r\nUNSUB 4\r\nSUB g 5\r\n");
    let later = world.read(conn);
    assert_eq!(later, "RS- $G f\r\nRS- $G q w\r\nRS+ $G g\r\n");
}

#[test]
fn callers_that_may_not_come_are_told_why() {
    let user: Change = |plan| plan.login.user = Some("u".to_owned());
    let strict: Change = |plan| plan.reject_unknown = true;
    let open: Change = |_| {};
    let changes: [(Change, _, _, _); 4] = [
        (
            user,
            "CONNECT {\"gateway\":\"GB\"}",
            "Authorization Violation",
            "Authentication Failure",
        ),
        (
            open,
            "CONNECT {}",
            "attempted to connect to gateway port",
            "Incorrect Port",
        ),
        (
            strict,
            "CONNECT {\"gateway\":\"GX\"}",
            "Connection to gateway \"GA\" rejected",
            "Wrong Gateway",
        ),
        (
            open,
            "PING",
            "Authorization Violation",
            "Authentication Failure",
        ),
    ];
    for (change, line, text, cause) in changes {
        let mut world = World::new(&["GB"], change);
        let conn = world.accept();
        world.read(conn);
        let said = world.ask(conn, &format!("{line}\r\n"));
        assert_eq!(said, format!("-ERR '{text}'\r\n"));
        assert_eq!(world.closed[&conn], cause);
    }
}

#[test]
fn the_name_that_counts_is_looked_at_too() {
    let mut world = World::new(&["GB"], |plan| plan.reject_unknown = true);
    let conn = world.accept();
    world.read(conn);
    let hello = "CONNECT {\"gateway\":\"GB\"}\r\n".to_owned();
    let said = world.ask(conn, &(hello + &greeting("GX")));
    assert_eq!(said, "-ERR 'Connection to gateway \"GA\" rejected'\r\n");
    assert_eq!(world.closed[&conn], "Wrong Gateway");
    assert!(!world.clusters.is_called_by("GX"));
}

#[test]
fn accounts_that_others_speak_of_are_looked_up_once() {
    let mut world = World::new(&["GB"], |_| {});
    let (conn, _) = world.called_by("GB");
    let said = world.ask(conn, "RMSG X f 1\r\nm\r\nRMSG X f 1\r\nm\r\n");
    assert_eq!(
        (said.as_str(), world.looked_up.as_slice()),
        ("A- X\r\n", &["X".to_owned()][..])
    );
}

#[test]
fn interest_that_comes_over_the_wrong_end_closes_it() {
    let mut world = World::new(&["GB"], |_| {});
    let (conn, _) = world.called_by("GB");
    world.ask(conn, "RS+ $G f\r\n");
    assert_eq!(world.closed[&conn], "Protocol Violation");
}

#[test]
fn a_message_goes_to_the_clusters_that_want_it_and_to_no_other() {
    let mut world = World::new(&["GB", "GC"], |_| {});
    let (b, c) = (world.reach("GB"), world.reach("GC"));
    world.ask(b, "RS+ $G f.*\r\n");
    let client = world.client();
    assert_eq!(world.ask(client, "PUB f.1 2\r\nhi\r\nPUB g 1\r\nx\r\n"), "");
    assert_eq!(
        (world.read(b), world.read(c)),
        ("RMSG $G f.1 2\r\nhi\r\n".into(), "".into())
    );
    world.ask(b, "RS- $G f.*\r\n");
    world.ask(client, "PUB f.1 2\r\nhi\r\n");
    assert_eq!(world.read(b), "");
}

#[test]
fn a_group_is_served_here_first_then_by_the_nearest_cluster_alone() {
    let mut world = World::new(&["GB", "GC"], |_| {});
    let (b, c) = (world.reach("GB"), world.reach("GC"));
    world.clusters.measure("GB", 9 * SECOND);
    world.pass(2 * SECOND);
    world.ask(b, "PONG\r\nRS+ $G q w 1\r\nRS+ $G q other 1\r\n");
    world.ask(c, "RS+ $G q w 1\r\n");
    world.clusters.measure("GB", 9 * SECOND);
    world.ask(c, "PONG\r\n");
    world.read(b);
    world.read(c);
    let client = world.client();
    world.ask(client, "PUB q 1\r\n1\r\n");
    assert_eq!(world.read(c), "RMSG $G q | w 1\r\n1\r\n");
    assert_eq!(world.read(b), "RMSG $G q | other 1\r\n1\r\n");
    world.ask(client, "SUB q w 1\r\n");
    assert_eq!(world.ask(client, "PUB q 1\r\n2\r\n"), "MSG q 1 1\r\n2\r\n");
    assert_eq!(world.read(c), "");
    assert_eq!(world.read(b), "RMSG $G q | other 1\r\n2\r\n");
}

#[test]
fn what_comes_from_a_cluster_goes_to_no_other_and_only_to_the_groups_it_names() {
    let mut world = World::new(&["GB"], |_| {});
    let out = world.reach("GB");
    world.ask(out, "RS+ $G >\r\n");
    let client = world.client();
    world.ask(client, "SUB f 1\r\nSUB f w 2\r\nSUB f v 3\r\n");
    world.read(out);
    let (conn, _) = world.called_by("GC");
    world.ask(conn, "RMSG $G f | w 1\r\nx\r\n");
    let mut lines = world.read(client);
    assert_eq!(lines.matches("MSG f").count(), 2);
    assert!(
        lines.contains("MSG f 1 1") && lines.contains("MSG f 2 1"),
        "{lines}"
    );
    assert_eq!(world.read(out), "");
    assert_eq!(
        world.ask(conn, "RMSG NOACC f 1\r\nx\r\nRMSG NOACC f 1\r\nx\r\n"),
        "A- NOACC\r\n"
    );
    lines.clear();
}

#[test]
fn a_request_carries_the_way_back_while_its_inbox_is_new() {
    let mut world = World::new(&["GB"], |_| {});
    let out = world.reach("GB");
    world.ask(out, "RS+ $G svc\r\n");
    world.pass(2 * SECOND);
    let client = world.client();
    world.ask(client, "SUB inb.* 1\r\n");
    world.read(out);
    world.ask(client, "PUB svc inb.1 1\r\n?\r\n");
    let mapped = format!("{}inb.1", own_prefix());
    assert_eq!(world.read(out), format!("RMSG $G svc {mapped} 1\r\n?\r\n"));
    let (conn, _) = world.called_by("GB");
    world.ask(conn, &format!("RMSG $G {mapped} 3\r\nyes\r\n"));
    assert_eq!(world.read(client), "MSG inb.1 1 3\r\nyes\r\n");
    let elsewhere = format!("_GR_.{}.{}.inb.1", name_hash("GX"), name_hash("NA"));
    world.ask(conn, &format!("RMSG $G {elsewhere} 2\r\nno\r\n"));
    assert_eq!(world.read(client), "");
    world.pass(2 * SECOND);
    world.read(out);
    world.ask(client, "PUB svc inb.2 1\r\n?\r\n");
    assert_eq!(world.read(out), "RMSG $G svc inb.2 1\r\n?\r\n");
}

#[test]
fn an_answer_goes_straight_back_to_the_cluster_that_asked_and_to_nobody_else() {
    let mut world = World::new(&["GB", "GC"], |_| {});
    let (b, c) = (world.reach("GB"), world.reach("GC"));
    let (responder, spy) = (world.client(), world.client());
    world.ask(responder, "SUB svc 1\r\n");
    world.ask(spy, "SUB > 1\r\n");
    let (conn, _) = world.called_by("GB");
    let mapped = format!("_GR_.{}.{}.inb.1", name_hash("GB"), name_hash("NGB"));
    world.ask(conn, &format!("RMSG $G svc {mapped} 1\r\n?\r\n"));
    assert_eq!(world.read(responder), "MSG svc 1 inb.1 1\r\n?\r\n");
    for conn in [spy, b, c] {
        world.read(conn);
    }
    world.ask(responder, "PUB inb.1 3\r\nyes\r\n");
    assert_eq!(world.read(b), format!("RMSG $G {mapped} 3\r\nyes\r\n"));
    assert_eq!(
        (world.read(c), world.read(spy)),
        (String::new(), String::new())
    );
    world.pass(2 * SECOND);
    world.read(b);
    world.ask(responder, "PUB inb.1 3\r\nold\r\n");
    assert_eq!(world.read(b), "");
}

#[test]
fn nobody_anywhere_is_told_as_such() {
    let mut world = World::new(&["GB"], |_| {});
    let out = world.reach("GB");
    let client = world.client();
    world.ask(client, "SUB inb.* 1\r\n");
    let none = world.ask(client, "PUB svc inb.1 0\r\n\r\n");
    assert!(none.contains("NATS/1.0 503"), "{none}");
    world.ask(out, "RS+ $G svc\r\n");
    assert_eq!(world.ask(client, "PUB svc inb.1 0\r\n\r\n"), "");
}

#[test]
fn an_old_peer_gets_everything_until_it_says_what_it_does_not_want() {
    let mut world = World::new(&["GB"], |_| {});
    let (conn, _) = world.answer_dial();
    world.ask(
        conn,
        &greeting("GB").replace("\"gateway_iom\":true", "\"x\":1"),
    );
    let client = world.client();
    let crosses = |world: &mut World, subject: &str| {
        world.ask(client, &format!("PUB {subject} 1\r\nx\r\n"));
        !world.read(conn).is_empty()
    };
    assert!(crosses(&mut world, "f"));
    world.ask(conn, "RS- $G f\r\n");
    assert!(!crosses(&mut world, "f") && crosses(&mut world, "g"));
    world.ask(conn, "RS+ $G *\r\n");
    assert!(crosses(&mut world, "f"));
    world.ask(conn, "A- $G\r\nRS- $G *\r\n");
    world.ask(conn, "A- $G\r\n");
    assert!(!crosses(&mut world, "h"));
    world.ask(conn, "A+ $G\r\n");
    assert!(crosses(&mut world, "h"));
    let only = "INFO {\"gateway\":\"GB\",\"gateway_cmd\":3,\"gateway_cmd_payload\":\"JEc=\"}\r\n";
    world.ask(conn, only);
    assert!(!crosses(&mut world, "h"));
}

#[test]
fn a_cluster_that_was_told_of_or_called_is_dialed_and_forgotten_when_it_is_gone() {
    let mut world = World::new(&["GB"], |_| {});
    let out = world.reach("GB");
    world.ask(
        out,
        "INFO {\"gateway\":\"GC\",\"gateway_urls\":[\"c:1\"],\"gateway_cmd\":1}\r\n",
    );
    world.pass(SECOND / 10);
    assert_eq!(world.dials.front().unwrap().1, "c:1");
    world.fail_dial();
    world.pass(8 * SECOND);
    assert!(world.dials.is_empty());
    let (caller, _) = world.called_by("GD");
    world.pass(SECOND / 10);
    assert_eq!(world.dials.front().unwrap().1, "gd:7222");
    world.fail_dial();
    world.pass(2 * SECOND);
    assert_eq!(world.dials.len(), 1, "it is dialed as long as it calls");
    world.hang_up(caller);
    world.fail_dial();
    world.pass(8 * SECOND);
    assert!(world.dials.is_empty());
}

#[test]
fn a_configured_cluster_is_dialed_again_and_its_interest_goes_with_the_line() {
    let mut world = World::new(&["GB"], |_| {});
    let out = world.reach("GB");
    world.ask(out, "RS+ $G f\r\n");
    world.hang_up(out);
    for _ in 0..3 {
        world.pass(2 * SECOND);
        world.fail_dial();
    }
    world.pass(2 * SECOND);
    let out = world.reach("GB");
    let client = world.client();
    world.ask(client, "PUB f 1\r\nx\r\n");
    assert_eq!(world.read(out), "");
    world.ask(out, "RS+ $G f\r\n");
    world.ask(client, "PUB f 1\r\nx\r\n");
    assert_eq!(world.read(out), "RMSG $G f 1\r\nx\r\n");
}

#[test]
fn a_dead_line_is_left() {
    let mut world = World::new(&["GB"], |_| {});
    let out = world.reach("GB");
    world.pass(60 * SECOND);
    assert_eq!(world.closed[&out], "Stale Connection");
}

#[test]
fn only_the_own_end_is_no_reason_to_complain() {
    for says in ["", "-ERR 'Server Shutdown'\r\n"] {
        let mut world = World::new(&["GB"], |_| {});
        let conn = world.reach("GB");
        world.logs.clear();
        if says.is_empty() {
            world.end();
        } else {
            world.ask(conn, says);
            world.hang_up(conn);
        }
        let complains = world
            .logs
            .iter()
            .any(|log| log.contains("Error connecting"));
        assert_eq!(complains, !says.is_empty(), "{:?}", world.logs);
    }
}
