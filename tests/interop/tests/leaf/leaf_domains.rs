//! What the log of each end says about JetStream across a leafnode line, in nats-server's words.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use interop::link::{Link, PAIRS};
use interop::{Kind, wait_for};

const BOUND: Duration = Duration::from_secs(20);

/// The lines of a hub and a leaf that are told to have these domains, the leaf in this account.
struct Case {
    domains: [&'static str; 2],
    account: &'static str,
    at_hub: &'static [&'static str],
    at_leaf: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        domains: ["", ""],
        account: "APP",
        at_hub: &["JetStream using domains: local \"\", remote \"\""],
        at_leaf: &["JetStream using domains: local \"\", remote \"\""],
    },
    Case {
        domains: ["hub", "shop"],
        account: "APP",
        at_hub: &["JetStream using domains: local \"hub\", remote \"shop\""],
        at_leaf: &["JetStream using domains: local \"shop\", remote \"hub\""],
    },
    Case {
        domains: ["hub", "shop"],
        account: "SYS",
        at_hub: &[
            "System account connected from shop",
            "JetStream not extended, domains differ",
        ],
        at_leaf: &[
            "System account connected from centre",
            "JetStream not extended, domains differ",
        ],
    },
];

/// spec: nats-server v2.15.1 server/leafnode.go `addLeafNodeConnection`; the real pair shows the right lines
#[test]
fn each_end_says_whose_streams_stay_where() {
    for case in CASES {
        for pair in PAIRS.iter().chain(&[(Kind::Real, Kind::Real)]) {
            let accounts = "accounts { SYS { users: [ { user: sys, password: sys } ] }, \
                APP { users: [ { user: app, password: app } ] } }\nsystem_account: SYS\n";
            let [hub, leaf] = case.domains.map(|domain| match domain {
                "" => accounts.to_owned(),
                _ => {
                    format!("jetstream {{ store_dir: \"$DIR/js\", domain: {domain} }}\n{accounts}")
                }
            });
            let user = case.account.to_lowercase();
            let link = Link::new(
                *pair,
                &format!("{hub}leafnodes {{ listen: \"127.0.0.1:$LINK\" }}\n"),
                &format!(
                    "{leaf}leafnodes {{ reconnect: 1, remotes: [ \
                     {{ url: \"nats-leaf://{user}:{user}@127.0.0.1:$LINK\", account: {} }} ] }}\n",
                    case.account
                ),
            );
            for (server, lines) in [(&link.hub, case.at_hub), (&link.leaf, case.at_leaf)] {
                for line in lines {
                    wait_for(&format!("{pair:?} to say {line}"), BOUND, || {
                        server.log().contains(line).then_some(())
                    });
                }
            }
        }
    }
}
