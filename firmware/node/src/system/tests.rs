use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use frond_broker::{Arrival, Conn, Next, PeerAddr, Taken};
use frond_clock::{Instant, Now, Timestamp};
use frond_config::{LeafNodes, Remote};

use crate::limits::ANSWERS_WAITING_MAX;
use crate::{Input, LinkMakers, Listener, Node, NodeSeed, Output, ReportError, ReportRequest};

const CONFIG: &str = "
    server_name: edge
    accounts {
        A { users: [{ user: a, password: a }] }
        SYS { users: [{ user: s, password: s }] }
    }
    system_account: SYS
";

/// A node, what it wrote to its clients, and what it wishes of monitoring.
struct World {
    node: Node,
    now: Now,
    written: BTreeMap<Conn, String>,
    reports: Vec<(u64, ReportRequest)>,
}

fn no_link(_: &Remote, _: &LeafNodes) -> Result<Box<dyn frond_broker::Link>, String> {
    Err("no links here".into())
}

impl World {
    fn new(config: &str) -> Self {
        let config = frond_config::load_text(config, "x.conf", &frond_config::Nothing)
            .unwrap()
            .config;
        let now = Now {
            mono: Instant::from_nanos(1),
            wall: Timestamp::from_nanos(1),
        };
        let seed = NodeSeed {
            random: [7; 32],
            links: LinkMakers {
                solicit: no_link,
                accept: None,
                cluster: None,
                gateway: None,
            },
            outboxes_bytes_max: 1 << 20,
            memory_bytes_max: 1 << 24,
            strangers_max: 16,
            jwts: BTreeMap::new(),
        };
        Self {
            node: Node::build(now, &config, seed).unwrap(),
            now,
            written: BTreeMap::new(),
            reports: Vec::new(),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else matters here")]
    fn input(&mut self, input: Input<'_>) {
        self.node.handle(self.now, input);
        while let Some(output) = self.node.poll() {
            match output {
                Output::Flush(conn) => {
                    let outbox = self.node.outbox(conn).unwrap();
                    let bytes: Vec<u8> = outbox.slices().flatten().copied().collect();
                    outbox.advance(bytes.len());
                    let text = self.written.entry(conn).or_default();
                    text.push_str(core::str::from_utf8(&bytes).unwrap());
                }
                Output::Report { ticket, request } => self.reports.push((ticket, request)),
                _ => {}
            }
        }
    }

    fn connect(&mut self, number: u64, user: &str) -> Conn {
        let conn = Conn(number);
        let peer = PeerAddr {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 4321,
        };
        self.input(Input::Opened {
            conn,
            listener: Listener::Client,
            arrival: Arrival::plain(peer),
            called: Ipv4Addr::LOCALHOST.into(),
        });
        self.say(
            conn,
            &format!(
                "CONNECT {{\"verbose\":false,\"user\":\"{user}\",\"pass\":\"{user}\",\"headers\":true,\"no_responders\":true}}\r\n"
            ),
        );
        conn
    }

    fn say(&mut self, conn: Conn, bytes: &str) -> String {
        let mut taken = Taken {
            consumed: 0,
            next: Next::Never,
        };
        self.input(Input::Bytes {
            conn,
            bytes: bytes.as_bytes(),
            taken: &mut taken,
        });
        self.written.remove(&conn).unwrap_or_default()
    }

    fn heard(&mut self, conn: Conn) -> String {
        self.written.remove(&conn).unwrap_or_default()
    }
}

#[test]
fn a_document_is_wished_for_and_sent_in_its_envelope() {
    let mut world = World::new(CONFIG);
    let conn = world.connect(1, "s");
    world.say(conn, "SUB in.* 1\r\n");
    let asked = "PUB $SYS.REQ.SERVER.PING.VARZ in.1 2\r\n{}\r\n";
    assert_eq!(world.say(conn, asked), "");
    let (ticket, request) = world.reports.remove(0);
    assert_eq!((&*request.what, &*request.options), ("VARZ", &b"{}"[..]));
    let answer = Ok("{\"x\":1}".to_owned());
    world.input(Input::Reported { ticket, answer });
    let heard = world.heard(conn);
    assert!(heard.starts_with("MSG in.1 1 "), "{heard}");
    assert!(heard.contains("{\"server\":{\"name\":\"edge\","), "{heard}");
    assert!(heard.contains("},\"data\":{\"x\":1}}"), "{heard}");
}

/// spec: nats-server v2.15.1 server/events.go `remoteServerUpdate`, `remoteServerShutdown`
#[test]
fn servers_that_tell_of_themselves_are_counted() {
    let clustered = format!("{CONFIG}\ncluster {{ name: C, listen: \"127.0.0.1:-1\" }}");
    for (config, counted) in [(CONFIG, false), (&*clustered, true)] {
        let mut world = World::new(config);
        let own = world.node.facts().id.clone();
        let conn = world.connect(1, "s");
        for (says, count) in [
            ("NOTHER.STATSZ".to_owned(), 1),
            ("NTHIRD.STATSZ".to_owned(), 2),
            ("NTHIRD.STATSZ".to_owned(), 2),
            (format!("{own}.STATSZ"), 2),
            ("NOTHER.SHUTDOWN".to_owned(), 1),
        ] {
            world.say(conn, &format!("PUB $SYS.SERVER.{says} 2\r\n{{}}\r\n"));
            let heard = world.node.view(world.now).servers_heard;
            assert_eq!(heard, counted.then_some(count), "{says}");
        }
    }
}

#[test]
fn a_refusal_says_why_and_silence_says_nothing() {
    let mut world = World::new(CONFIG);
    let conn = world.connect(1, "s");
    world.say(conn, "SUB in.* 1\r\n");
    for (code, wanted) in [
        (400, "},\"error\":{\"code\":400,\"description\":\"why\"}}"),
        (
            500,
            "},\"data\":null,\"error\":{\"code\":500,\"description\":\"why\"}}",
        ),
    ] {
        world.say(conn, "PUB $SYS.REQ.SERVER.PING.JSZ in.1 0\r\n\r\n");
        let (ticket, _) = world.reports.remove(0);
        let description = "why".to_owned();
        let answer = Err(ReportError::Refused { code, description });
        world.input(Input::Reported { ticket, answer });
        let heard = world.heard(conn);
        assert!(heard.contains(wanted), "{heard}");
    }
    world.say(conn, "PUB $SYS.REQ.SERVER.PING.JSZ in.1 0\r\n\r\n");
    let (ticket, _) = world.reports.remove(0);
    let answer = Err(ReportError::Silence);
    world.input(Input::Reported { ticket, answer });
    assert_eq!(world.heard(conn), "");
}

#[test]
fn an_account_asks_for_itself_only() {
    let mut world = World::new(CONFIG);
    let conn = world.connect(1, "a");
    world.say(conn, "SUB in.* 1\r\n");
    world.say(conn, "PUB $SYS.REQ.ACCOUNT.PING.CONNZ in.1 0\r\n\r\n");
    world.say(
        conn,
        "PUB $SYS.REQ.SERVER.PING.CONNZ in.1 11\r\n{\"acc\":\"B\"}\r\n",
    );
    let what: Vec<_> = world.reports.iter().map(|(_, it)| &*it.what).collect();
    assert_eq!(what, ["ACCOUNT.A.CONNZ"; 2]);
    let heard = world.say(conn, "PUB $SYS.REQ.ACCOUNT.A.CONNZ in.1 0\r\n\r\n");
    assert!(heard.contains("NATS/1.0 503"), "{heard}");
    let heard = world.say(conn, "PUB $SYS.REQ.USER.INFO in.1 0\r\n\r\n");
    assert!(
        heard.contains("\"data\":{\"user\":\"a\",\"account\":\"A\""),
        "{heard}"
    );
}

#[test]
fn without_a_system_account_nobody_answers() {
    let mut world = World::new("no_system_account: true");
    let conn = world.connect(1, "");
    world.say(conn, "SUB in.* 1\r\n");
    let heard = world.say(conn, "PUB $SYS.REQ.USER.INFO in.1 0\r\n\r\n");
    assert!(heard.contains("NATS/1.0 503"), "{heard}");
}

#[test]
fn answers_that_wait_are_bounded() {
    let mut world = World::new(CONFIG);
    let conn = world.connect(1, "s");
    world.say(conn, "SUB in.* 1\r\n");
    let ask = "PUB $SYS.REQ.SERVER.PING.VARZ in.1 0\r\n\r\n";
    for _ in 0..ANSWERS_WAITING_MAX {
        assert_eq!(world.say(conn, ask), "");
    }
    assert!(world.say(conn, ask).contains("too many requests"));
    assert_eq!(world.reports.len(), ANSWERS_WAITING_MAX);
}

#[test]
fn connections_are_told_again_while_there_are_any() {
    let mut world = World::new(CONFIG);
    let system = world.connect(1, "s");
    world.say(system, "SUB $SYS.ACCOUNT.A.SERVER.CONNS 1\r\n");
    let client = world.connect(2, "a");
    assert!(world.heard(system).contains("\"conns\":1,"));
    for _ in 0..2 {
        let by = Duration::from_secs(30);
        world.now.mono = world.now.mono + by;
        world.now.wall = world.now.wall + by;
        world.say(client, "PING\r\n");
        world.input(Input::Time);
        assert!(world.heard(system).contains("\"conns\":1,"));
    }
    let cause = "Client Closed";
    world.input(Input::Closed {
        conn: client,
        cause,
    });
    assert!(world.heard(system).contains("\"conns\":0,"));
    world.now.mono = world.now.mono + Duration::from_secs(31);
    world.input(Input::Time);
    assert!(!world.heard(system).contains("conns"));
}

#[test]
fn an_account_that_a_reload_removes_is_served_no_more() {
    let mut world = World::new(CONFIG);
    let count = |world: &World| world.node.broker.subscriptions().count();
    let before = count(&world);
    for round in 1..=5 {
        // The last one has its old name again.
        let name = format!("A{}", round % 5).replace("A0", "A");
        let text = CONFIG.replace("A {", &format!("{name} {{"));
        let config = frond_config::load_text(&text, "x.conf", &frond_config::Nothing);
        world
            .node
            .reload(world.now, &config.unwrap().config)
            .unwrap();
        while world.node.poll().is_some() {}
        assert_eq!(count(&world), before, "{name}");
    }
    let client = world.connect(1, "a");
    let told = world.say(client, "SUB in 1\r\nPUB $SYS.REQ.USER.INFO in 0\r\n\r\n");
    assert!(told.contains("\"account\":\"A\""), "{told}");
}
