use std::time::Duration;

use frond_account::{AllowResponses, Directory, Permissions, SubjectRules};

use super::world::{World, login, plan, user};
use crate::{Conn, Limits};

fn rules(allow: &[&str], deny: &[&str]) -> SubjectRules {
    SubjectRules {
        allow: allow.iter().map(|text| (*text).into()).collect(),
        deny: deny.iter().map(|text| (*text).into()).collect(),
    }
}

/// A world with the free user `a` and the bound user `p`.
fn world(permissions: Permissions) -> (World, Conn, Conn) {
    let plan = plan(vec![
        user("a", "A", None),
        user("p", "A", Some(permissions)),
    ]);
    let mut world = World::new(Directory::build(&plan, None).unwrap(), Limits::default());
    let (a, p) = (world.client(&login("a")), world.client(&login("p")));
    (world, a, p)
}

#[test]
fn what_is_refused_came_all_the_same() {
    let (mut world, _, p) = world(Permissions {
        publish: rules(&["ok"], &[]),
        ..Permissions::default()
    });
    world.say(p, "PUB ok 2\r\nab\r\nPUB no 3\r\nabc\r\n");
    let account = world.broker.client(p).unwrap().account.unwrap();
    let view = world.broker.account_view(account).unwrap();
    assert_eq!((view.traffic.in_msgs, view.traffic.in_bytes), (2, 5));
}

#[test]
fn what_is_not_allowed_is_refused_and_named() {
    let (mut world, a, p) = world(Permissions {
        publish: rules(&["ok.>"], &["ok.no"]),
        subscribe: rules(&["ok.>", "w.* grp"], &[]),
        allow_responses: None,
    });
    world.say(a, "SUB > 1\r\n");
    for (said, answer) in [
        (
            "PUB no 0\r\n\r\n",
            "-ERR 'Permissions Violation for Publish to \"no\"'\r\n",
        ),
        (
            "PUB ok.no 0\r\n\r\n",
            "-ERR 'Permissions Violation for Publish to \"ok.no\"'\r\n",
        ),
        ("PUB ok.yes 0\r\n\r\n", ""),
        (
            "SUB no 1\r\n",
            "-ERR 'Permissions Violation for Subscription to \"no\"'\r\n",
        ),
        (
            "SUB w.a 2\r\n",
            "-ERR 'Permissions Violation for Subscription to \"w.a\"'\r\n",
        ),
        (
            "SUB w.a other 3\r\n",
            "-ERR 'Permissions Violation for Subscription to \"w.a\" using queue \"other\"'\r\n",
        ),
        ("SUB w.a grp 4\r\n", ""),
        ("SUB ok.* 5\r\n", ""),
    ] {
        assert_eq!(world.ask(p, said), answer, "{said}");
    }
    assert_eq!(world.read(a), "MSG ok.yes 1 0\r\n\r\n");
    world.say(a, "PUB w.a 0\r\n\r\nPUB ok.x 0\r\n\r\n");
    assert_eq!(world.read(p), "MSG w.a 4 0\r\n\r\nMSG ok.x 5 0\r\n\r\n");
}

#[test]
fn what_servers_use_is_not_for_clients() {
    let (mut world, a, _) = world(Permissions::default());
    for (said, answer) in [
        ("PUB _GR_.x 0\r\n\r\n", "Publish to \"_GR_.x\""),
        ("PUB $NRG.x 0\r\n\r\n", "Publish to \"$NRG.x\""),
        ("PUB x _R_.z 0\r\n\r\n", "Publish with Reply of \"_R_.z\""),
        (
            "PUB x $JS.ACK.z 0\r\n\r\n",
            "Publish with Reply of \"$JS.ACK.z\"",
        ),
        ("PUB x _GR_.q 0\r\n\r\n", "Publish with Reply of \"_GR_.q\""),
        (
            "SUB a _sys_ 1\r\n",
            "Subscription to \"a\" using queue \"_sys_\"",
        ),
    ] {
        let answer = format!("-ERR 'Permissions Violation for {answer}'\r\n");
        assert_eq!(world.ask(a, said), answer);
    }
}

#[test]
fn a_wildcard_over_a_denied_subject_hears_the_rest() {
    let (mut world, a, p) = world(Permissions {
        subscribe: rules(&[], &["s.secret"]),
        ..Permissions::default()
    });
    assert_eq!(world.ask(p, "SUB s.* 1\r\nSUB s.* q 2\r\n"), "");
    world.say(a, "SUB s.* q 9\r\nPUB s.secret 0\r\n\r\n");
    assert_eq!(world.read(p), "");
    // The group's other member gets what the first one may not.
    assert_eq!(world.read(a), "MSG s.secret 9 0\r\n\r\n");
    world.say(a, "UNSUB 9\r\nPUB s.open 0\r\n\r\n");
    assert_eq!(
        world.read(p),
        "MSG s.open 1 0\r\n\r\nMSG s.open 2 0\r\n\r\n"
    );
}

#[test]
fn answers_are_allowed_so_often_and_so_long() {
    let (mut world, a, p) = world(Permissions {
        allow_responses: Some(AllowResponses {
            max_msgs: Some(2),
            expires: Some(Duration::from_secs(10)),
        }),
        ..Permissions::default()
    });
    world.say(p, "SUB req 1\r\n");
    world.say(
        a,
        "SUB rr.* 2\r\nPUB req rr.1 0\r\n\r\nPUB req rr.2 0\r\n\r\n",
    );
    world.read(p);
    let refusal =
        |reply: &str| format!("-ERR 'Permissions Violation for Publish to \"{reply}\"'\r\n");
    assert_eq!(world.ask(p, "PUB rr.1 0\r\n\r\nPUB rr.1 0\r\n\r\n"), "");
    assert_eq!(world.ask(p, "PUB rr.1 0\r\n\r\n"), refusal("rr.1"));
    world.pass(Duration::from_secs(11));
    world.read(p);
    assert_eq!(world.ask(p, "PUB rr.2 0\r\n\r\n"), refusal("rr.2"));
    assert_eq!(world.ask(p, "PUB other 0\r\n\r\n"), refusal("other"));
    assert_eq!(world.read(a).matches("MSG rr.1 2 0").count(), 2);
}
