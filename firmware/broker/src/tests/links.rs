//! Brokers with a small link between them: the leafnode verbs without any handshake.

use std::time::Duration;

use frond_account::{AccountId, Answer, Credentials, Directory, Login, Plan, Secret, UserPlan};
use frond_clock::Instant;
use frond_wire::Message;

use super::plain_link::Plain;
use super::world::{PEER, World, info};
use crate::{Arrival, Conn, Limits, LinkId, Next, Output, Source};

/// Connects the worlds with a link on each side; bytes move with [`pump`].
fn join(a: &mut World, b: &mut World, names: [&'static str; 2]) -> (Conn, Conn) {
    let mut ends = [a, b].map(|world| (world.new_conn(), world));
    for ((conn, world), cluster) in ends.iter_mut().zip(names) {
        let link = Plain {
            cluster,
            ..Plain::default()
        };
        world
            .broker
            .accept(world.now, *conn, Arrival::plain(PEER), Box::new(link));
        world.drain();
    }
    (ends[0].0, ends[1].0)
}

fn pump(a: (&mut World, Conn), b: (&mut World, Conn)) {
    loop {
        let (to_b, to_a) = (a.0.read(a.1), b.0.read(b.1));
        if to_b.is_empty() && to_a.is_empty() {
            return;
        }
        a.0.say(a.1, &to_a);
        b.0.say(b.1, &to_b);
    }
}

/// A world with one accepted link to a peer that the test plays.
fn with_peer(cluster: &'static str) -> (World, Conn) {
    let mut world = World::open_to_all();
    let conn = add_peer(&mut world, cluster);
    (world, conn)
}

fn add_peer(world: &mut World, cluster: &'static str) -> Conn {
    add(
        world,
        Plain {
            cluster,
            ..Plain::default()
        },
    )
}

pub(super) fn add(world: &mut World, link: Plain) -> Conn {
    let conn = world.new_conn();
    world
        .broker
        .accept(world.now, conn, Arrival::plain(PEER), Box::new(link));
    world.drain();
    conn
}

#[test]
fn a_request_crosses_two_brokers_and_its_answer_comes_back() {
    let (mut a, mut b) = (World::open_to_all(), World::open_to_all());
    let early = a.quiet();
    a.say(early, "SUB svc.* 1\r\n");
    let (to_b, to_a) = join(&mut a, &mut b, ["b", "a"]);
    let late = b.quiet();
    b.say(late, "SUB inbox.1 9\r\n");
    pump((&mut a, to_b), (&mut b, to_a));
    b.say(late, "PUB svc.add inbox.1 3\r\n1+1\r\n");
    pump((&mut a, to_b), (&mut b, to_a));
    assert_eq!(a.read(early), "MSG svc.add 1 inbox.1 3\r\n1+1\r\n");
    a.say(early, "HPUB inbox.1 12 13\r\nNATS/1.0\r\n\r\n2\r\n");
    pump((&mut a, to_b), (&mut b, to_a));
    assert_eq!(
        b.read(late),
        "HMSG inbox.1 9 12 13\r\nNATS/1.0\r\n\r\n2\r\n"
    );
    a.say(early, "UNSUB 1\r\n");
    pump((&mut a, to_b), (&mut b, to_a));
    assert!(
        b.ask(late, "PUB svc.add inbox.1 0\r\n\r\n")
            .starts_with("HMSG inbox.1 9 39 39\r\nNATS/1.0 503")
    );
}

#[test]
fn what_links_carry_is_counted_apart() {
    let (mut a, mut b) = (World::open_to_all(), World::open_to_all());
    let subscriber = a.quiet();
    a.say(subscriber, "SUB x 1\r\n");
    let (to_b, to_a) = join(&mut a, &mut b, ["b", "a"]);
    pump((&mut a, to_b), (&mut b, to_a));
    let publisher = b.quiet();
    b.say(publisher, "PUB x 3\r\nabc\r\n");
    pump((&mut a, to_b), (&mut b, to_a));
    let one = (1, 3);
    let (got, sent) = (a.broker.totals(), b.broker.totals());
    assert_eq!((got.links.in_msgs, got.links.in_bytes), one);
    assert_eq!((sent.links.out_msgs, sent.links.out_bytes), one);
    assert_eq!((got.links.out_msgs, sent.links.in_msgs), (0, 0));
    assert_eq!((got.traffic.out_msgs, sent.traffic.in_msgs), (1, 1));
    assert_eq!(
        a.broker.line(to_b).map(|line| line.traffic),
        Some(got.links)
    );
    assert_eq!(
        b.broker.line(to_a).map(|line| line.traffic),
        Some(sent.links)
    );
    assert_eq!(a.broker.line(Conn(99)), None);
}

#[test]
fn interest_is_told_as_it_comes_and_goes() {
    let (mut world, peer) = with_peer("p");
    let client = world.quiet();
    world.say(
        client,
        "SUB a 1\r\nSUB a 2\r\nSUB q.> grp 3\r\nSUB q.> grp 4\r\n",
    );
    assert_eq!(
        world.read(peer),
        "LS+ a\r\nLS+ q.> grp 1\r\nLS+ q.> grp 2\r\n"
    );
    world.say(client, "UNSUB 1\r\nUNSUB 3\r\n");
    assert_eq!(world.read(peer), "LS+ q.> grp 1\r\n");
    world.broker.closed(world.now, client, "Client Closed");
    world.drain();
    let read = world.read(peer);
    assert!(
        read.contains("LS- a\r\n") && read.contains("LS- q.> grp\r\n"),
        "{read}"
    );
    // A subscription that ends by its maximum is told too, after its message.
    let client = world.quiet();
    world.say(client, "SUB m 1\r\nUNSUB 1 1\r\nPUB m 0\r\n\r\n");
    assert_eq!(world.read(peer), "LS+ m\r\nLS- m\r\n");
}

#[test]
fn what_comes_from_a_link_never_goes_back_there() {
    let (mut world, one) = with_peer("one");
    let two = add_peer(&mut world, "two");
    let twin = add_peer(&mut world, "one");
    for peer in [one, two, twin] {
        world.say(peer, "LS+ x\r\n");
        world.read(peer);
    }
    for peer in [one, two, twin] {
        world.read(peer);
    }
    world.say(one, "LMSG x 2\r\nhi\r\n");
    assert_eq!(world.read(two), "LMSG x 2\r\nhi\r\n");
    assert_eq!(world.read(one), "");
    // The other link leads to the same cluster, and withholds.
    assert_eq!(world.read(twin), "");
}

#[test]
fn a_link_message_is_only_for_the_groups_it_names() {
    let (mut world, peer) = with_peer("p");
    let client = world.quiet();
    world.say(client, "SUB w q1 1\r\nSUB w q2 2\r\nSUB w 3\r\n");
    world.say(peer, "LMSG w | q2 0\r\n\r\n");
    let mut got = world.read(client);
    assert!(got.contains("MSG w 3 0") && got.contains("MSG w 2 0") && !got.contains("MSG w 1 0"));
    world.say(peer, "LMSG w 0\r\n\r\n");
    got = world.read(client);
    assert_eq!(got, "MSG w 3 0\r\n\r\n");
}

#[test]
fn members_here_come_before_members_elsewhere() {
    let (mut world, peer) = with_peer("p");
    world.say(peer, "LS+ w q 5\r\n");
    let client = world.quiet();
    assert_eq!(world.ask(client, "PUB w 0\r\n\r\n"), "");
    assert_eq!(world.read(peer), "LMSG w | q 0\r\n\r\n");
    world.say(client, "SUB w q 1\r\n");
    world.read(peer);
    for _ in 0..50 {
        world.say(client, "PUB w 0\r\n\r\n");
    }
    assert_eq!(world.read(peer), "");
    assert_eq!(world.read(client).matches("MSG w 1 0").count(), 50);
}

#[test]
fn links_share_a_group_by_weight_and_step_in_for_each_other() {
    let (mut world, heavy) = with_peer("heavy");
    let light = add_peer(&mut world, "light");
    let shy = add(
        &mut world,
        Plain {
            cluster: "shy",
            withheld: Some("w"),
            ..Plain::default()
        },
    );
    world.say(heavy, "LS+ w q 1\r\nLS+ w q 3\r\n");
    world.say(light, "LS+ w q 1\r\n");
    world.say(shy, "LS+ w q 4\r\n");
    let client = world.quiet();
    for peer in [heavy, light, shy] {
        world.read(peer);
    }
    for _ in 0..800 {
        world.say(client, "PUB w 0\r\n\r\n");
    }
    let [heavy, light, shy] =
        [heavy, light, shy].map(|peer| world.read(peer).matches("LMSG").count());
    assert_eq!((heavy + light, shy), (800, 0));
    assert!((500..700).contains(&heavy), "{heavy}");
}

/// Whoever stands in for a link that refuses may want the message anyway.
#[test]
fn a_link_that_stands_in_for_another_gets_one_copy() {
    let (mut world, plain) = with_peer("plain");
    let shy = add(
        &mut world,
        Plain {
            cluster: "shy",
            withheld: Some("w"),
            ..Plain::default()
        },
    );
    world.say(plain, "LS+ w\r\n");
    world.say(plain, "LS+ w q 1\r\n");
    world.say(shy, "LS+ w q 9\r\n");
    let client = world.quiet();
    world.read(plain);
    for _ in 0..40 {
        world.say(client, "PUB w 0\r\n\r\n");
        let got = world.read(plain);
        assert_eq!(got.matches("LMSG").count(), 1, "{got}");
    }
}

#[test]
fn a_deliver_subject_travels_behind_the_reply() {
    let (mut world, peer) = with_peer("p");
    world.say(peer, "LS+ _INBOX.1\r\n");
    let ack = "$JS.ACK.S.C.1.2.3.4.5";
    let message = Message {
        subject: "_INBOX.1",
        reply: Some(ack),
        header: b"",
        payload: b"x",
    };
    let shown = Some("orders.7");
    assert!(
        world
            .broker
            .publish_internal(world.now, AccountId(0), &message, shown)
    );
    world.drain();
    assert_eq!(
        world.read(peer),
        format!("LMSG _INBOX.1 {ack}@orders.7 1\r\nx\r\n")
    );
    let client = world.quiet();
    world.say(client, "SUB _INBOX.2 1\r\n");
    for (reply, got) in [
        (
            format!("{ack}@orders.7"),
            format!("MSG orders.7 1 {ack} 1\r\nx\r\n"),
        ),
        (format!("{ack}@a@b"), format!("MSG a@b 1 {ack} 1\r\nx\r\n")),
        (
            "$JS.ACK.S@x.C.1.2.3.4.5".into(),
            "MSG _INBOX.2 1 $JS.ACK.S@x.C.1.2.3.4.5 1\r\nx\r\n".into(),
        ),
        ("r@x".into(), "MSG _INBOX.2 1 r@x 1\r\nx\r\n".into()),
    ] {
        world.say(peer, &format!("LMSG _INBOX.2 {reply} 1\r\nx\r\n"));
        assert_eq!(world.read(client), got);
    }
}

#[test]
fn when_a_link_goes_its_interest_goes() {
    let (mut world, peer) = with_peer("p");
    let other = add_peer(&mut world, "o");
    world.say(peer, "LS+ x\r\nLS+ w q 2\r\n");
    assert_eq!(world.read(other), "LS+ x\r\nLS+ w q 2\r\n");
    assert!(world.broker.has_interest(AccountId(0), "x"));
    world.outputs.clear();
    world.broker.closed(world.now, peer, "Read Error");
    world.drain();
    assert!(!world.broker.has_interest(AccountId(0), "x"));
    assert_eq!(world.read(other), "LS- x\r\nLS- w q\r\n");
    assert_eq!(world.broker.link_statuses().count(), 1);
    let gone = world
        .outputs
        .iter()
        .filter(|output| matches!(output, Output::InterestChanged { came: false, .. }));
    assert_eq!(gone.count(), 2);
}

/// Over a slow line the answer to a ping comes late, as the ping does.
#[test]
fn what_the_other_end_takes_is_a_sign_of_life() {
    let (mut world, peer) = with_peer("p");
    let heard = |world: &World| {
        let mut links = world.broker.link_statuses();
        links.next().unwrap().2.attempts
    };
    let before = heard(&world);
    world.broker.drained(world.now, peer);
    assert_eq!(heard(&world), before + 1);
    let client = world.quiet();
    world.broker.drained(world.now, client);
    assert_eq!(heard(&world), before + 1);
}

#[test]
fn a_soliciting_link_dials_until_it_has_a_line() {
    let mut world = World::open_to_all();
    let link = Plain {
        redial: Some(Instant::START),
        ..Plain::default()
    };
    let id = world.broker.attach(world.now, Box::new(link));
    let dials = |world: &World| {
        let dial = |output: &&Output| matches!(output, Output::Dial { link, .. } if *link == id);
        world.outputs.iter().filter(dial).count()
    };
    world.pass(Duration::ZERO);
    assert_eq!(dials(&world), 1);
    world
        .broker
        .dial_failed(world.now, id, "connection refused");
    world.pass(Duration::from_secs(1));
    assert_eq!(dials(&world), 2);
    let conn = world.new_conn();
    world
        .broker
        .opened(world.now, conn, id, Arrival::plain(PEER));
    world.drain();
    assert_eq!(world.ask(conn, "PING\r\n"), "PONG\r\n");
    assert_eq!(world.say(conn, "MSG x\r\n"), Next::Never);
    assert_eq!(world.read(conn), "-ERR 'Unknown Protocol Operation'\r\n");
    assert!(world.closed.contains_key(&conn));
    world.pass(Duration::from_secs(1));
    assert_eq!(dials(&world), 3);
    world.broker.detach(world.now, id);
    world.pass(Duration::from_secs(10));
    assert_eq!(world.broker.link_statuses().count(), 0);
}

#[test]
fn a_link_can_put_others_out_while_it_is_being_called() {
    let (mut world, one) = with_peer("one");
    let two = add_peer(&mut world, "two");
    world.say(one, "LS+ x\r\n");
    world.read(two);
    world.say(two, "PONG\r\n");
    assert_eq!(world.read(one), "-ERR 'duplicate'\r\n");
    assert_eq!(
        world.closed.get(&one).unwrap(),
        "Duplicate Remote LeafNode Connection"
    );
    assert_eq!(world.read(two), "LS- x\r\n");
}

#[test]
fn a_link_says_who_it_is_and_waits_for_the_hash() {
    let hash = "$2a$04$ootaaL3ZM9MnQmqcuF5MGu2OoI4mNOxSF2DlyU3n6zo5h1fhrVTOu";
    let login = |user: &str, secret: &str| UserPlan {
        only: None,
        proxy_required: false,
        login: Login::Password {
            user: user.into(),
            secret: Secret::new(secret),
        },
        account: Some("L".into()),
        permissions: None,
    };
    let plan = Plan {
        leaf_users: vec![login("plain", "pw"), login("hashed", hash)],
        ..Plan::default()
    };
    for (user, pass, fits, welcome) in [
        ("plain", "pw", false, true),
        ("plain", "no", true, false),
        ("hashed", "pw", true, true),
        ("hashed", "pw", false, false),
    ] {
        let directory = Directory::build(&plan, None).unwrap();
        let mut world = World::new(directory, Limits::default());
        let credentials = Credentials {
            user: Some(user.into()),
            pass: Some(pass.into()),
            ..Credentials::default()
        };
        let conn = add(
            &mut world,
            Plain {
                credentials: Some(credentials),
                ..Plain::default()
            },
        );
        let asked = world.bcrypt();
        assert_eq!(asked.is_some(), user == "hashed");
        if let Some((token, _, _, then)) = asked {
            assert_eq!(world.say(conn, "PING\r\n"), Next::Verify);
            let answer = if fits {
                Answer::Accept(then)
            } else {
                Answer::Refuse(String::new())
            };
            world.broker.answered(world.now, conn, token, answer);
            world.drain();
        }
        assert_eq!(world.closed.contains_key(&conn), !welcome, "{user} {fits}");
        let leafnodes = |world: &World| {
            let views = world.broker.account_views();
            views.map(|view| view.leafnodes).sum::<u32>()
        };
        assert_eq!(leafnodes(&world), u32::from(welcome));
        // The same configuration again disturbs nobody, one without the user does.
        for (plan, stay) in [(&plan, welcome), (&Plan::default(), false)] {
            let directory = Directory::build(plan, Some(world.broker.directory())).unwrap();
            let facts = world.broker.facts().clone();
            let limits = Limits::default();
            world
                .broker
                .reload(world.now, directory, limits, facts, info());
            world.drain();
            assert_eq!(leafnodes(&world), u32::from(stay), "{user}");
        }
    }
}

#[test]
fn the_server_knows_which_link_a_message_came_from() {
    let (mut world, peer) = with_peer("p");
    world.broker.subscribe_internal(AccountId(0), "api.>", 4);
    world.drain();
    world.outputs.clear();
    world.say(peer, "LMSG api.info rep 0\r\n\r\n");
    let source = Source::Link {
        link: LinkId(1),
        kind: crate::LinkKind::Leaf,
        is_hub: false,
    };
    let got = world.internal();
    assert_eq!(
        got,
        [(
            4,
            "api.info".into(),
            Some("rep".into()),
            String::new(),
            source
        )]
    );
}

/// A longer way changes how much is done about frames, not what was read behind the `PONG`.
#[test]
fn what_is_read_behind_a_change_of_level_is_understood_at_once() {
    let packing = crate::Packing::Fast;
    let mut world = World::open_to_all();
    let conn = add(
        &mut world,
        Plain {
            cluster: "c",
            packs: Some(packing),
            ..Plain::default()
        },
    );
    let client = world.client("{\"verbose\":false}");
    world.say(client, "SUB x 1\r\n");
    world.read(client);
    // The first time what follows comes in frames; later it is the same as before.
    for (bytes, understood) in [
        ("+OK\r\nLMSG x 0\r\n\r\n", 5),
        ("+OK\r\nLMSG x 0\r\n\r\n", 17),
    ] {
        let taken = world.broker.bytes(world.now, conn, bytes.as_bytes());
        assert_eq!(taken.consumed, understood);
        world.drain();
    }
    assert_eq!(world.read(client), "MSG x 1 0\r\n\r\n");
}
