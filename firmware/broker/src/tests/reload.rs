use frond_account::{
    AccountLimits, Answer, ConnectionType, Directory, Login, Permissions, Plan, Secret,
    SubjectRules, UserPlan,
};

use super::world::{World, info, login, plan, user};
use crate::Limits;

fn changed(pass: &str) -> UserPlan {
    let mut user = user("c", "A", None);
    user.login = Login::Password {
        user: "c".into(),
        secret: Secret::new(pass),
    };
    user
}

#[test]
fn only_those_whom_it_concerns_notice() {
    let before = plan(vec![
        changed("old"),
        user("a", "A", None),
        user("b", "A", None),
        user("p", "A", None),
    ]);
    let directory = Directory::build(&before, None).unwrap();
    let mut world = World::new(directory, Limits::default());
    let [a, b, p] = ["a", "b", "p"].map(|name| world.client(&login(name)));
    let c = world.client(&login("c").replace(r#""pass":"c""#, r#""pass":"old""#));
    world.say(a, "SUB x 1\r\n");
    world.say(p, "SUB x 1\r\nSUB no 2\r\nSUB no q 3\r\n");
    let permissions = Permissions {
        publish: SubjectRules::default(),
        subscribe: SubjectRules {
            allow: vec!["x".into()],
            deny: Vec::new(),
        },
        allow_responses: None,
    };
    let after = plan(vec![
        changed("new"),
        user("a", "A", None),
        user("p", "A", Some(permissions)),
    ]);
    let directory = Directory::build(&after, Some(world.broker.directory())).unwrap();
    let facts = world.broker.facts().clone();
    world
        .broker
        .reload(world.now, directory, Limits::default(), facts, info());
    world.drain();
    assert_eq!(world.read(b), "");
    assert_eq!(world.closed.get(&b).unwrap(), "Client Closed");
    assert_eq!(world.read(c), "-ERR 'Authorization Violation'\r\n");
    assert_eq!(world.closed.get(&c).unwrap(), "Authentication Failure");
    let p_read = world.read(p);
    assert!(p_read.starts_with(concat!(
        "-ERR 'Permissions Violation for Subscription to \"no\" (sid \"2\")'\r\n",
        "-ERR 'Permissions Violation for Subscription to \"no\" using queue \"q\" (sid \"3\")'\r\n",
    )), "{p_read}");
    world.read(a);
    world.say(a, "PUB x 0\r\n\r\nPUB no 0\r\n\r\n");
    assert_eq!(world.read(a), "MSG x 1 0\r\n\r\n");
    assert_eq!(world.read(p), "MSG x 1 0\r\n\r\n");
}

#[test]
fn a_smaller_house_keeps_its_oldest_guests() {
    let mut world = World::open_to_all();
    let [first, second, third] = [0; 3].map(|_| world.quiet());
    let limits = Limits {
        connections_max: 1,
        payload_bytes_max: Some(10),
        ..Limits::default()
    };
    let directory = world.broker.directory().clone();
    let facts = world.broker.facts().clone();
    world
        .broker
        .reload(world.now, directory, limits, facts, info());
    world.drain();
    for gone in [second, third] {
        let read = world.read(gone);
        assert_eq!(read, "-ERR 'maximum connections exceeded'\r\n");
    }
    assert!(world.read(first).contains(r#""max_payload":10,"#));
    let answer = world.ask(first, "PUB x 11\r\n");
    assert_eq!(answer, "-ERR 'Maximum Payload Violation'\r\n");
}

#[test]
fn when_users_appear_strangers_go() {
    let mut world = World::open_to_all();
    let stranger = world.quiet();
    let after = plan(vec![user("a", "A", None)]);
    let directory = Directory::build(&after, Some(world.broker.directory())).unwrap();
    let facts = world.broker.facts().clone();
    world
        .broker
        .reload(world.now, directory, Limits::default(), facts, info());
    world.drain();
    assert!(world.closed.contains_key(&stranger));
    let known = world.client(&login("a"));
    assert!(!world.closed.contains_key(&known));
}

fn reload(world: &mut World, after: &Plan) {
    let directory = Directory::build(after, Some(world.broker.directory())).unwrap();
    let facts = world.broker.facts().clone();
    let limits = Limits::default();
    world
        .broker
        .reload(world.now, directory, limits, facts, info());
    world.drain();
}

#[test]
fn a_user_that_may_come_another_way_only_goes() {
    let before = [user("a", "A", None), user("b", "A", None)];
    let mut only = before.clone();
    only[0].only = Some(vec![ConnectionType::WebSocket]);
    let mut relayed = before.clone();
    relayed[0].proxy_required = true;
    for (after, cause) in [
        (only, "Authentication Failure"),
        (relayed, "Proxy Required"),
    ] {
        let directory = Directory::build(&plan(before.to_vec()), None).unwrap();
        let mut world = World::new(directory, Limits::default());
        let [a, b] = ["a", "b"].map(|name| world.client(&login(name)));
        reload(&mut world, &plan(after.to_vec()));
        assert_eq!(world.closed.get(&a).map(String::as_str), Some(cause));
        assert_eq!(world.read(a), "-ERR 'Authorization Violation'\r\n");
        assert!(!world.closed.contains_key(&b));
    }
}

#[test]
fn a_smaller_account_keeps_its_oldest_guests() {
    let mut plan = plan(vec![user("a", "A", None), user("b", "B", None)]);
    let mut world = World::new(Directory::build(&plan, None).unwrap(), Limits::default());
    let [first, second, other] = ["a", "a", "b"].map(|name| world.client(&login(name)));
    plan.accounts[0].limits = AccountLimits {
        connections_max: Some(1),
        ..AccountLimits::default()
    };
    reload(&mut world, &plan);
    let told = "-ERR 'maximum account active connections exceeded'\r\n";
    assert_eq!(world.read(second), told);
    for stays in [first, other] {
        assert!(!world.closed.contains_key(&stays));
    }
}

#[test]
fn what_was_said_while_nobody_asked_counts_once_somebody_does() {
    let mut world = World::open_to_all();
    let known = world.client(&login("a"));
    let wrong = world.client(&login("a").replace(r#""pass":"a""#, r#""pass":"x""#));
    let stranger = world.quiet();
    let mut a = user("a", "A", None);
    a.account = None;
    world.say(known, "SUB x 1\r\n");
    reload(&mut world, &plan(vec![a]));
    assert!(!world.closed.contains_key(&known));
    for gone in [wrong, stranger] {
        assert_eq!(world.read(gone), "-ERR 'Authorization Violation'\r\n");
        assert_eq!(world.closed.get(&gone).unwrap(), "Authentication Failure");
    }
    world.read(known);
    world.say(known, "PUB x 0\r\n\r\n");
    assert_eq!(world.read(known), "MSG x 1 0\r\n\r\n");
}

#[test]
fn a_hash_of_the_same_password_keeps_its_user_once_it_is_checked() {
    for (good, gone) in [(true, false), (false, true)] {
        let directory = Directory::build(&plan(vec![changed("old")]), None).unwrap();
        let mut world = World::new(directory, Limits::default());
        let c = world.client(&login("c").replace(r#""pass":"c""#, r#""pass":"old""#));
        world.say(c, "SUB x 1\r\n");
        reload(&mut world, &plan(vec![changed("$2a$04$hash")]));
        let (token, _, password, then) = world.bcrypt().unwrap();
        assert_eq!(password, "old");
        world.say(c, "PUB x 0\r\n\r\n");
        assert_eq!(world.read(c), "MSG x 1 0\r\n\r\n");
        let answer = match good {
            true => Answer::Accept(then),
            false => Answer::Refuse(String::new()),
        };
        world.broker.answered(world.now, c, token, answer);
        world.drain();
        assert_eq!(world.closed.contains_key(&c), gone);
    }
}
