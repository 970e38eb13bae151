//! Messages, requests and answers across accounts.

use std::time::Duration;

use frond_account::{
    AccountPlan, Destination, Directory, Export, ExportAccess, ExportKind, Import, ImportKind,
    LatencyPlan, Mapping, Plan, ResponseType, Sampling, ServiceExport,
};

use super::world::{World, login, user};
use crate::{Conn, Limits};

pub(super) fn stream(subject: &str) -> Export {
    export(subject, ExportKind::Stream)
}

pub(super) fn service(subject: &str, service: ServiceExport) -> Export {
    export(subject, ExportKind::Service(service))
}

fn export(subject: &str, kind: ExportKind) -> Export {
    Export {
        subject: subject.to_owned(),
        kind,
        access: ExportAccess::Public,
        account_token_position: 0,
    }
}

pub(super) fn import(kind: ImportKind, account: &str, subject: &str, to: &str) -> Import {
    Import {
        kind,
        account: account.to_owned(),
        subject: subject.to_owned(),
        to: (!to.is_empty()).then(|| to.to_owned()),
        prefix: None,
        activation: None,
    }
}

pub(super) const STREAM: ImportKind = ImportKind::Stream { allow_trace: false };
pub(super) const SERVICE: ImportKind = ImportKind::Service { share: false };

pub(super) fn account(name: &str, exports: Vec<Export>, imports: Vec<Import>) -> AccountPlan {
    AccountPlan {
        name: name.to_owned(),
        exports,
        imports,
        ..AccountPlan::default()
    }
}

/// Each account has a user of its name in small letters.
pub(super) fn world(accounts: Vec<AccountPlan>) -> World {
    let users = accounts
        .iter()
        .map(|account| user(&account.name.to_lowercase(), &account.name, None))
        .collect();
    let plan = Plan {
        accounts,
        users,
        ..Plan::default()
    };
    World::new(Directory::build(&plan, None).unwrap(), Limits::default())
}

fn client(world: &mut World, name: &str) -> Conn {
    world.client(&login(name))
}

/// A service `s.>` of A that B knows as `l.>`, with a client of each.
fn served(plan: ServiceExport) -> (World, Conn, Conn) {
    let mut world = world(vec![
        account("A", vec![service("s.>", plan)], vec![]),
        account("B", vec![], vec![import(SERVICE, "A", "s.>", "l.>")]),
    ]);
    let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
    (world, a, b)
}

/// The reply subject of the only message in `text`.
fn reply_of(text: &str) -> String {
    let words: Vec<_> = text.lines().next().unwrap().split(' ').collect();
    words[3].to_owned()
}

#[test]
fn imported_messages_come_under_their_own_names() {
    for (to, filter, expected) in [
        ("", "s.x", "MSG s.x 1 1\r\nm\r\n"),
        ("i.>", "i.x", "MSG i.x 1 1\r\nm\r\n"),
        ("i.>", ">", "MSG i.x 1 1\r\nm\r\n"),
        ("i.>", "*.x", "MSG i.x 1 1\r\nm\r\n"),
        ("i.>", "i.y", ""),
        ("i.>", "s.x", ""),
    ] {
        let mut world = world(vec![
            account("A", vec![stream("s.>")], vec![]),
            account("B", vec![], vec![import(STREAM, "A", "s.>", to)]),
        ]);
        let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
        world.say(b, &format!("SUB {filter} 1\r\n"));
        world.say(a, "PUB s.x 1\r\nm\r\n");
        assert_eq!(world.read(b), expected, "{to} {filter}");
        world.say(b, "UNSUB 1\r\n");
        world.say(a, "PUB s.x 1\r\nm\r\n");
        assert_eq!(world.read(b), "");
    }
}

/// Subjects that are hardly used twice share the memory of their matches.
#[test]
fn a_leafnode_gets_each_message_under_the_name_of_its_own_import() {
    let imports = vec![
        import(STREAM, "A", "_A.>", "first.>"),
        import(STREAM, "A", "_B.>", "second.>"),
    ];
    let mut world = world(vec![
        account("A", vec![stream("_A.>"), stream("_B.>")], vec![]),
        account("$G", vec![], imports),
    ]);
    let a = client(&mut world, "a");
    let leaf = world.new_conn();
    let link = Box::new(super::plain_link::Plain::default());
    let arrival = crate::Arrival::plain(super::world::PEER);
    world.broker.accept(world.now, leaf, arrival, link);
    world.drain();
    world.say(leaf, "LS+ first.>\r\nLS+ second.>\r\n");
    world.read(leaf);
    for (subject, name) in [
        ("_A.1", "first.1"),
        ("_B.1", "second.1"),
        ("_A.2", "first.2"),
    ] {
        world.say(a, &format!("PUB {subject} 1\r\nm\r\n"));
        assert_eq!(world.read(leaf), format!("LMSG {name} 1\r\nm\r\n"));
    }
}

#[test]
fn one_member_of_an_importing_group_gets_a_message() {
    let mut world = world(vec![
        account("A", vec![stream("s.*")], vec![]),
        account("B", vec![], vec![import(STREAM, "A", "s.*", "i.$1")]),
    ]);
    let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
    world.say(b, "SUB i.* q 1\r\nSUB i.* q 2\r\n");
    for _ in 0..10 {
        world.say(a, "PUB s.x 1\r\nm\r\n");
    }
    assert_eq!(world.read(b).matches("MSG i.x").count(), 10);
}

#[test]
fn a_request_goes_over_and_its_answer_comes_back_once() {
    let (mut world, a, b) = served(ServiceExport::default());
    world.say(a, "SUB s.x 1\r\n");
    world.say(b, "SUB in.1 1\r\nPUB l.x in.1 1\r\nq\r\n");
    let request = world.read(a);
    let reply = reply_of(&request);
    assert!(reply.starts_with("_R_.") && reply.len() == 17, "{reply}");
    assert!(
        request.ends_with("NATS/1.0\r\nNats-Request-Info: {\"acc\":\"B\",\"rtt\":1}\r\n\r\nq\r\n")
    );
    world.say(a, &format!("PUB {reply} 2\r\nok\r\n"));
    assert_eq!(world.read(b), "MSG in.1 1 2\r\nok\r\n");
    world.say(a, &format!("PUB {reply} 2\r\nok\r\n"));
    assert_eq!(world.read(b), "");
}

#[test]
fn several_answers_end_with_an_empty_one() {
    let (mut world, a, b) = served(ServiceExport {
        response: ResponseType::Stream,
        ..ServiceExport::default()
    });
    world.say(a, "SUB s.x 1\r\n");
    world.say(b, "SUB in.1 1\r\nPUB l.x in.1 0\r\n\r\n");
    let reply = reply_of(&world.read(a));
    for _ in 0..3 {
        world.say(a, &format!("PUB {reply} 1\r\nx\r\n"));
    }
    world.say(a, &format!("PUB {reply} 0\r\n\r\nPUB {reply} 1\r\nx\r\n"));
    assert_eq!(world.read(b).matches("MSG in.1").count(), 4);
}

#[test]
fn nobody_there_is_nobody_at_all() {
    let (mut world, _, b) = served(ServiceExport::default());
    let answer = world.ask(b, "SUB in.1 1\r\nPUB l.x in.1 0\r\n\r\n");
    let block = "NATS/1.0 503\r\nNats-Subject: l.x\r\n\r\n";
    let len = block.len();
    assert_eq!(answer, format!("HMSG in.1 1 {len} {len}\r\n{block}\r\n"));
}

#[test]
fn late_answers_find_nobody() {
    let (mut world, a, b) = served(ServiceExport {
        threshold: Some(Duration::from_secs(5)),
        ..ServiceExport::default()
    });
    world.say(a, "SUB s.x 1\r\n");
    world.say(b, "SUB in.1 1\r\nPUB l.x in.1 0\r\n\r\n");
    let reply = reply_of(&world.read(a));
    world.pass(Duration::from_secs(6));
    world.read(b);
    world.say(a, &format!("PUB {reply} 1\r\nx\r\n"));
    assert_eq!(world.read(b), "");
}

/// spec: nats-server v2.15.1 server/accounts.go `setResponseThresholdTimer`, one for each export
#[test]
fn late_answers_find_nobody_while_others_are_waited_for_longer() {
    let within = |seconds| ServiceExport {
        threshold: Some(Duration::from_secs(seconds)),
        ..ServiceExport::default()
    };
    let mut world = world(vec![
        account(
            "A",
            vec![service("slow", within(120)), service("quick", within(5))],
            vec![],
        ),
        account(
            "B",
            vec![],
            vec![
                import(SERVICE, "A", "slow", "slow"),
                import(SERVICE, "A", "quick", "quick"),
            ],
        ),
    ]);
    let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
    world.say(a, "SUB * 1\r\n");
    world.say(b, "SUB in.* 1\r\nPUB slow in.1 0\r\n\r\n");
    let slow = reply_of(&world.read(a));
    world.say(b, "PUB quick in.2 0\r\n\r\n");
    let quick = reply_of(&world.read(a));
    world.pass(Duration::from_secs(6));
    world.read(b);
    world.say(a, &format!("PUB {quick} 1\r\nx\r\nPUB {slow} 1\r\ny\r\n"));
    assert_eq!(world.read(b), "MSG in.1 1 1\r\ny\r\n");
}

#[test]
fn a_request_passes_several_accounts() {
    let plan = ServiceExport::default;
    let mut world = world(vec![
        account("A", vec![service("s", plan())], vec![]),
        account(
            "B",
            vec![service("t", plan())],
            vec![import(SERVICE, "A", "s", "t")],
        ),
        account("C", vec![], vec![import(SERVICE, "B", "t", "u")]),
    ]);
    let (a, c) = (client(&mut world, "a"), client(&mut world, "c"));
    world.say(a, "SUB s 1\r\n");
    world.say(c, "SUB in 1\r\nPUB u in 0\r\n\r\n");
    let request = world.read(a);
    assert!(
        request.contains("{\"acc\":\"C\",\"svc\":\"B\",\"rtt\":1}"),
        "{request}"
    );
    let reply = reply_of(&request);
    world.say(a, &format!("PUB {reply} 1\r\nx\r\n"));
    assert_eq!(world.read(c), "MSG in 1 1\r\nx\r\n");
}

#[test]
fn what_came_by_a_service_is_not_exported_again() {
    let mut world = world(vec![
        account(
            "A",
            vec![service("s", ServiceExport::default()), stream("s")],
            vec![],
        ),
        account("B", vec![], vec![import(SERVICE, "A", "s", "s")]),
        account("C", vec![], vec![import(STREAM, "A", "s", "")]),
    ]);
    let (a, b, c) = (
        client(&mut world, "a"),
        client(&mut world, "b"),
        client(&mut world, "c"),
    );
    world.say(c, "SUB s 1\r\n");
    world.say(b, "PUB s 0\r\n\r\n");
    assert_eq!(world.read(c), "");
    world.say(a, "PUB s 0\r\n\r\n");
    assert_eq!(world.read(c), "MSG s 1 0\r\n\r\n");
}

#[test]
fn the_first_wildcard_that_fits_renames_and_permission_asks_the_new_name() {
    let to = |subject: &str| Destination {
        subject: subject.to_owned(),
        weight: 100,
        cluster: None,
    };
    let mut plan = account("A", vec![], vec![]);
    plan.mappings = vec![Mapping {
        source: "m.*".to_owned(),
        destinations: vec![to("n.$1")],
    }];
    let mut world = world(vec![plan]);
    let (a, other) = (client(&mut world, "a"), client(&mut world, "a"));
    world.say(a, "SUB > 1\r\n");
    world.say(other, "PUB m.x 0\r\n\r\nPUB m.x.y 0\r\n\r\n");
    assert_eq!(world.read(a), "MSG n.x 1 0\r\n\r\nMSG m.x.y 1 0\r\n\r\n");
}

fn tracked(sampling: Sampling) -> ServiceExport {
    ServiceExport {
        latency: Some(LatencyPlan {
            subject: "lat".to_owned(),
            sampling,
        }),
        threshold: Some(Duration::from_secs(5)),
        ..ServiceExport::default()
    }
}

#[test]
fn a_measured_answer_is_told_to_the_exporter() {
    let (mut world, a, b) = served(tracked(Sampling::Percent(100)));
    world.say(a, "SUB s.x 1\r\nSUB lat 2\r\n");
    world.say(b, "SUB in.1 1\r\nPUB l.x in.1 0\r\n\r\n");
    // How far the client is was guessed when it came.
    assert_eq!(world.read(b), "");
    let reply = reply_of(&world.read(a));
    assert!(reply.ends_with(".T") && reply.len() == 28, "{reply}");
    world.say(a, &format!("PUB {reply} 1\r\nx\r\n"));
    let metric = world.read(a);
    assert!(
        metric.contains("\"type\":\"io.nats.server.metric.v1.service_latency\""),
        "{metric}"
    );
    assert!(
        metric.contains("\"status\":200,\"requestor\":{\"acc\":\"B\",\"rtt\":1},\"responder\":{"),
        "{metric}"
    );
    assert_eq!(world.read(b), "MSG in.1 1 1\r\nx\r\n");
}

#[test]
fn a_measured_request_without_answer_says_why() {
    let cases: [(u16, &str, &str); 4] = [
        (400, "Bad Request", "PUB l.x 0\r\n\r\n"),
        (
            408,
            "Request Timeout",
            "SUB in.1 1\r\nPUB l.x in.1 0\r\n\r\nUNSUB 1\r\n",
        ),
        (
            503,
            "Service Unavailable",
            "SUB in.1 1\r\nPUB l.none in.1 0\r\n\r\n",
        ),
        (
            504,
            "Service Timeout",
            "SUB in.1 1\r\nPUB l.x in.1 0\r\n\r\n",
        ),
    ];
    for (status, words, say) in cases {
        let (mut world, a, b) = served(tracked(Sampling::Percent(100)));
        world.say(a, "SUB s.x 1\r\nSUB lat 2\r\n");
        world.say(b, say);
        world.pass(Duration::from_secs(11));
        let told = world.read(a);
        let expected = format!("\"status\":{status},\"description\":\"{words}\"");
        assert!(told.contains(&expected), "{status}: {told}");
    }
}

#[test]
fn headers_decide_what_is_measured() {
    let (mut world, a, b) = served(tracked(Sampling::Headers));
    world.say(a, "SUB s.x 1\r\nSUB lat 2\r\n");
    world.say(b, "PUB l.x 0\r\n\r\n");
    assert!(!world.read(a).contains("MSG lat"));
    let block = "NATS/1.0\r\nX-B3-Sampled: 1\r\n\r\n";
    let len = block.len();
    world.say(b, &format!("HPUB l.x {len} {len}\r\n{block}\r\n"));
    let told = world.read(a);
    assert!(
        told.contains("\"header\":{\"X-B3-Sampled\":[\"1\"]}"),
        "{told}"
    );
}

#[test]
fn a_shared_import_tells_who_asks() {
    let share = ImportKind::Service { share: true };
    let mut world = world(vec![
        account("A", vec![service("s", ServiceExport::default())], vec![]),
        account("B", vec![], vec![import(share, "A", "s", "s")]),
    ]);
    let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
    world.say(a, "SUB s 1\r\n");
    world.say(b, "PUB s 0\r\n\r\n");
    let request = world.read(a);
    for part in [
        "\"host\":\"127.0.0.1\"",
        "\"user\":\"b\"",
        "\"server\":\"t1\"",
        "\"kind\":\"Client\"",
    ] {
        assert!(request.contains(part), "{request}");
    }
}

#[test]
fn a_changed_account_is_in_force_at_once_and_nobody_is_cut() {
    let importer = || {
        account(
            "B",
            vec![],
            vec![import(STREAM, "A", "s", ""), import(SERVICE, "A", "r", "")],
        )
    };
    let all = || {
        account(
            "A",
            vec![stream("s"), service("r", ServiceExport::default())],
            vec![],
        )
    };
    let mut world = world(vec![all(), importer()]);
    let (a, b) = (client(&mut world, "a"), client(&mut world, "b"));
    world.say(a, "SUB r 1\r\n");
    world.say(b, "SUB s 1\r\n");
    for (plan, works) in [(account("A", vec![], vec![]), false), (all(), true)] {
        world.broker.update_account(world.now, &plan).unwrap();
        world.drain();
        world.say(a, "PUB s 0\r\n\r\n");
        assert_eq!(world.read(b).contains("MSG s 1 0"), works);
        world.say(b, "PUB r 0\r\n\r\n");
        assert_eq!(world.read(a).contains("MSG r 1"), works);
    }
    assert!(world.closed.is_empty());
}

#[test]
fn a_smaller_account_closes_its_youngest() {
    let mut world = world(vec![account("A", vec![], vec![])]);
    let (first, second) = (client(&mut world, "a"), client(&mut world, "a"));
    let mut smaller = account("A", vec![], vec![]);
    smaller.limits.connections_max = Some(1);
    world.broker.update_account(world.now, &smaller).unwrap();
    world.drain();
    let expected = "-ERR 'maximum account active connections exceeded'\r\n";
    assert_eq!(
        (world.read(first).as_str(), world.read(second).as_str()),
        ("", expected)
    );
}
