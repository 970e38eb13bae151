use std::sync::Arc;
use std::time::Duration;

use frond_account::{PeerCert, TlsSession};
use frond_broker::{ByPeer, Fanout, InterestCounts, Traffic};
use frond_clock::Timestamp;

use crate::jetstream::{
    JetStream, JetStreamApiStats, JetStreamConfig, JsAccount, JsLimitOpts, JsStream,
};
use crate::raw::Object;
use crate::rows::{Account, Connection, Leaf, Server, Subscription};

/// A moment, in seconds after the samples' beginning of time.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_nanos((1_700_000_000 + second) * 1_000_000_000)
}

/// A server a minute after the beginning.
pub(crate) fn server() -> Server {
    Server {
        id: "NID".into(),
        name: "edge".into(),
        version: "2.15.1".into(),
        now: at(60),
    }
}

/// Traffic of different numbers.
pub(crate) const fn traffic(n: u64) -> Traffic {
    Traffic {
        in_msgs: n,
        in_bytes: n * 10,
        out_msgs: n * 100,
        out_bytes: n * 1000,
        shed: 0,
        shed_bytes: 0,
    }
}

/// A client of which everything is known.
pub(crate) fn client(cid: u64) -> Connection {
    Connection {
        cid,
        ip: "127.0.0.1".into(),
        port: 4321,
        start: at(0),
        last_activity: at(50),
        rtt: Duration::from_micros(144),
        traffic: traffic(1),
        stalls: 2,
        subscriptions: 1,
        subs: vec![subscription("a.*")],
        name: "till".into(),
        lang: "rust".into(),
        version: "1.0".into(),
        user: "u".into(),
        name_tag: "A".into(),
        jwt: "eyJ".into(),
        issuer_key: "AKEY".into(),
        tags: vec!["shop:1".into()],
        account: "A".into(),
        tls: Some(Arc::new(TlsSession {
            version: "1.3".into(),
            cipher: "TLS_AES_128_GCM_SHA256".into(),
            first: true,
            peer: Some(PeerCert {
                subject: "CN=till".into(),
                ..PeerCert::default()
            }),
        })),
        ..Connection::default()
    }
}

/// A subscription of which everything is known.
pub(crate) fn subscription(subject: &str) -> Subscription {
    Subscription {
        account: "A".into(),
        subject: subject.into(),
        queue: "q".into(),
        sid: "7".into(),
        msgs: 3,
        max: 5,
        cid: 1,
    }
}

/// A link of which everything is known.
pub(crate) fn leaf(cid: u64, account: &str) -> Leaf {
    Leaf {
        cid,
        name: "hub".into(),
        is_spoke: true,
        is_isolated: true,
        account: account.into(),
        ip: "127.0.0.1".into(),
        port: 7422,
        rtt: Duration::from_millis(1),
        traffic: traffic(2),
        subscriptions: vec!["a.>".into()],
        compression: "off",
        proxy: Some("UPROXY".into()),
    }
}

/// An account with clients.
pub(crate) fn account(name: &str, clients: u32) -> Account {
    Account {
        name: name.into(),
        is_system: name == "$SYS",
        has_jetstream: true,
        clients,
        leafnodes: 0,
        subscriptions: 4,
        cached_subjects: 2,
        fanout: Fanout { sum: 3, max: 2 },
        interest: InterestCounts {
            inserts: 5,
            removes: 1,
            matches: 8,
            misses: 2,
        },
        traffic: traffic(1),
        by_peer: ByPeer {
            leafs: traffic(2),
            routes: traffic(3),
            gateways: traffic(4),
        },
        slow_consumers: 0,
        claimed: None,
    }
}

/// A stream with one consumer `work`.
pub(crate) fn stream(name: &str) -> JsStream {
    let consumer =
        r#"{"stream_name":"S","name":"work","config":{"durable_name":"work"},"num_pending":2}"#;
    JsStream {
        name: name.into(),
        created: at(1),
        config: Object::read(br#"{"name":"S","max_age":0}"#),
        messages: 3,
        bytes: 150,
        first_seq: 1,
        last_seq: 5,
        first_time: Some(at(2)),
        last_time: Some(at(3)),
        subjects: 2,
        deleted: 2,
        consumers: vec![Object::read(consumer.as_bytes())],
        direct_consumers: Vec::new(),
        mirror: None,
        sources: Vec::new(),
        fault: None,
        lost: 0,
    }
}

/// JetStream with these accounts, each with a stream `ORDERS`.
pub(crate) fn jetstream(accounts: &[&str]) -> JetStream {
    let config = JetStreamConfig {
        max_memory: 1,
        max_storage: 2,
        store_dir: "/data/jetstream".into(),
        sync_interval: 1,
        sync_always: true,
        domain: "edge".into(),
        compress_ok: true,
        unique_tag: "az".into(),
        strict: true,
    };
    let limits = JsLimitOpts {
        max_request_batch: 1,
        max_ack_pending: 1,
        max_ha_assets: 1,
        max_duplicate_window: 1,
        default_max_consumers: 1000,
    };
    let accounts = accounts.iter().map(|name| JsAccount {
        name: (*name).into(),
        name_tag: (*name).into(),
        memory: 1,
        storage: 150,
        reserved_memory: 3,
        reserved_storage: 4,
        memory_max: -1,
        storage_max: 1000,
        api: JetStreamApiStats {
            level: 0,
            total: 4,
            errors: 1,
        },
        streams: vec![stream("ORDERS")],
    });
    JetStream {
        config,
        limits,
        accounts: accounts.collect(),
        reports: Vec::new(),
    }
}
