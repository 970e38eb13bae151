//! Who is measured.

use interop::{Kind, Setup};

/// A server in one of the ways it is run.
#[derive(Debug, Clone)]
pub struct Contender {
    /// What the report calls it.
    pub name: &'static str,
    /// Which server.
    pub kind: Kind,
    /// How it is started.
    pub setup: Setup,
}

/// Frond, nats-server as it comes, and nats-server made to sync before it acks as Frond does.
#[must_use]
pub fn contenders() -> Vec<Contender> {
    let always =
        "listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"$DIR/js\", sync_interval: always }\n";
    vec![
        Contender {
            name: "frond",
            kind: Kind::Leaf,
            setup: Setup::jetstream(),
        },
        Contender {
            name: "nats-server",
            kind: Kind::Real,
            setup: Setup::jetstream(),
        },
        Contender {
            name: "nats-server, sync always",
            kind: Kind::Real,
            setup: Setup::config(always),
        },
    ]
}
