use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use frond_account::{
    AccountPlan, Directory, Identity, Login, Permissions, Plan, Question, Secret, UserPlan,
};
use frond_clock::{Now, Rng, Timestamp};
use frond_wire::ServerInfo;

use crate::{Arrival, Broker, Conn, Limits, Next, Output, PeerAddr, ServerFacts, Setup, Source};

/// A broker with its shell: a clock that is moved by hand, and buffers for sockets.
pub(super) struct World {
    pub(super) broker: Broker,
    pub(super) now: Now,
    /// Bytes written to each connection and not looked at yet.
    written: BTreeMap<Conn, Vec<u8>>,
    /// Bytes of each connection that the broker hasn't taken yet.
    unread: BTreeMap<Conn, Vec<u8>>,
    pub(super) closed: BTreeMap<Conn, String>,
    /// Everything else that came out.
    pub(super) outputs: Vec<Output>,
    next_conn: u64,
}

pub(super) const PEER: PeerAddr = PeerAddr {
    ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
    port: 4321,
};

impl World {
    pub(super) fn open_to_all() -> Self {
        Self::new(Directory::open_to_all(), Limits::default())
    }

    pub(super) fn new(directory: Directory, limits: Limits) -> Self {
        let facts = ServerFacts {
            id: "NTEST".into(),
            name: "t1".into(),
            version: "2.15.1".into(),
            cluster: "t1".into(),
            ..ServerFacts::default()
        };
        let broker = Broker::new(Setup {
            facts,
            info: info(),
            limits,
            directory,
            rng: Rng::seeded(1),
        });
        Self {
            broker,
            now: Now {
                wall: Timestamp::from_nanos(1_700_000_000_000_000_000),
                ..Now::default()
            },
            written: BTreeMap::new(),
            unread: BTreeMap::new(),
            closed: BTreeMap::new(),
            outputs: Vec::new(),
            next_conn: 0,
        }
    }

    /// A new client that has read its `INFO`.
    pub(super) fn connect(&mut self) -> Conn {
        let conn = self.new_conn();
        self.broker.open(self.now, conn, Arrival::plain(PEER));
        self.drain();
        conn
    }

    /// A new client that sent this `CONNECT` and has read the answer.
    pub(super) fn client(&mut self, connect: &str) -> Conn {
        let conn = self.connect();
        self.say(conn, &format!("CONNECT {connect}\r\n"));
        self.read(conn);
        conn
    }

    /// A new client that isn't verbose and supports headers.
    pub(super) fn quiet(&mut self) -> Conn {
        self.client(QUIET)
    }

    pub(super) fn new_conn(&mut self) -> Conn {
        self.next_conn += 1;
        Conn(self.next_conn)
    }

    /// Bytes from a peer; a newline in them stands for itself.
    pub(super) fn say(&mut self, conn: Conn, bytes: &str) -> Next {
        self.say_bytes(conn, bytes.as_bytes())
    }

    pub(super) fn say_bytes(&mut self, conn: Conn, bytes: &[u8]) -> Next {
        let unread = self.unread.entry(conn).or_default();
        unread.extend_from_slice(bytes);
        loop {
            let unread = self.unread.entry(conn).or_default();
            let taken = self.broker.bytes(self.now, conn, unread);
            unread.drain(..taken.consumed);
            self.drain();
            if taken.next != Next::Turn {
                return taken.next;
            }
        }
    }

    /// What a connection was sent since the last look.
    pub(super) fn read(&mut self, conn: Conn) -> String {
        let bytes = self.written.remove(&conn).unwrap_or_default();
        String::from_utf8(bytes).unwrap()
    }

    /// Says something and reads the answer.
    pub(super) fn ask(&mut self, conn: Conn, bytes: &str) -> String {
        self.say(conn, bytes);
        self.read(conn)
    }

    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now.mono + time;
        while let Some(at) = self.broker.deadline().filter(|at| *at <= until) {
            self.now.mono = at;
            self.broker.on_time(self.now);
            self.drain();
        }
        self.now.mono = until;
    }

    /// Takes what the broker wants, as the shell does.
    pub(super) fn drain(&mut self) {
        while let Some(output) = self.broker.poll() {
            match output {
                Output::Flush(conn) => self.flush(conn),
                Output::Close { conn, cause } => {
                    self.flush(conn);
                    self.closed.insert(conn, cause.into());
                    self.broker.closed(self.now, conn, "unused");
                }
                output @ (Output::Dial { .. }
                | Output::Secure { .. }
                | Output::Pack(_)
                | Output::Internal { .. }
                | Output::Traced(_)
                | Output::Ask { .. }
                | Output::InterestChanged { .. }
                | Output::Log { .. }
                | Output::Connected(_)
                | Output::Disconnected(_)) => self.outputs.push(output),
                Output::LinkConnected(_)
                | Output::LinkDisconnected(_)
                | Output::Rejected(_)
                | Output::LookUp(_)
                | Output::Population(_) => {}
            }
        }
    }

    /// Messages for this server itself: id, subject, reply, payload, source.
    pub(super) fn internal(&mut self) -> Vec<(u64, String, Option<String>, String, Source)> {
        let outputs = std::mem::take(&mut self.outputs);
        let messages = outputs.into_iter().filter_map(|output| match output {
            Output::Internal {
                id, message, from, ..
            } => Some((
                id,
                message.subject().to_owned(),
                message.reply().map(str::to_owned),
                String::from_utf8_lossy(message.message().payload).into_owned(),
                from,
            )),
            Output::Flush(_)
            | Output::Close { .. }
            | Output::Dial { .. }
            | Output::Secure { .. }
            | Output::Pack(_)
            | Output::Traced(_)
            | Output::Ask { .. }
            | Output::InterestChanged { .. }
            | Output::Log { .. }
            | Output::Connected(_)
            | Output::Disconnected(_)
            | Output::LinkConnected(_)
            | Output::LinkDisconnected(_)
            | Output::Rejected(_)
            | Output::LookUp(_)
            | Output::Population(_) => None,
        });
        messages.collect()
    }

    /// The password that is to be checked: token, hash, password, whose it is.
    pub(super) fn bcrypt(&self) -> Option<(u64, String, String, Identity)> {
        self.outputs.iter().find_map(|output| {
            let Output::Ask {
                token,
                question:
                    Question::Bcrypt {
                        hash,
                        password,
                        then,
                    },
                ..
            } = output
            else {
                return None;
            };
            Some((*token, hash.clone(), password.clone(), then.clone()))
        })
    }

    fn flush(&mut self, conn: Conn) {
        let Some(outbox) = self.broker.outbox(conn) else {
            return;
        };
        let bytes: Vec<u8> = outbox.slices().flatten().copied().collect();
        outbox.advance(bytes.len());
        self.written.entry(conn).or_default().extend(bytes);
    }
}

pub(super) const QUIET: &str =
    r#"{"verbose":false,"pedantic":false,"protocol":1,"headers":true,"no_responders":true}"#;

pub(super) fn info() -> ServerInfo {
    ServerInfo {
        server_id: "NTEST".into(),
        server_name: "t1".into(),
        version: "2.15.1".into(),
        proto: 1,
        headers: true,
        ..ServerInfo::default()
    }
}

pub(super) fn user(name: &str, account: &str, permissions: Option<Permissions>) -> UserPlan {
    UserPlan {
        only: None,
        proxy_required: false,
        login: Login::Password {
            user: name.into(),
            secret: Secret::new(name),
        },
        account: Some(account.into()),
        permissions,
    }
}

pub(super) fn plan(users: Vec<UserPlan>) -> Plan {
    let accounts = ["A", "B"].map(|name| AccountPlan {
        name: name.into(),
        ..AccountPlan::default()
    });
    Plan {
        accounts: accounts.into(),
        users,
        ..Plan::default()
    }
}

/// The `CONNECT` of a user whose password is its name.
pub(super) fn login(name: &str) -> String {
    format!(
        r#"{{"verbose":false,"pedantic":false,"protocol":1,"headers":true,"no_responders":true,"user":"{name}","pass":"{name}"}}"#
    )
}
