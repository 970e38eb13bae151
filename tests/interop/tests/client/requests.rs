//! More requests to the JetStream API at once than the configuration lets wait.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use interop::streams::ask;
use interop::{Kind, Server, Setup, complaints};
use serde_json::{Value, json};
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(20);
const CONFIG: &str = "listen: \"127.0.0.1:-1\"\n\
    jetstream { store_dir: \"$DIR/js\", request_queue_limit: 2 }\n\
    accounts { SYS { users: [ { user: admin, password: x } ] }\n\
               A { jetstream: enabled, users: [ { user: a, password: x } ] } }\n\
    system_account: SYS\n";
const REQUESTS: u32 = 500;

async fn client(server: &Server, user: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(user.into(), "x".into());
    options.connect(server.url()).await.unwrap()
}

/// The operator hears of it, and the server goes on. Frond refuses what nats-server leaves unanswered.
#[tokio::test(flavor = "multi_thread")]
async fn too_many_requests_at_once_are_dropped_and_told() {
    for kind in [Kind::Leaf, Kind::Real] {
        let server = Server::start(kind, &Setup::config(CONFIG));
        let admin = client(&server, "admin").await;
        let subject = "$JS.EVENT.ADVISORY.API.LIMIT_REACHED";
        let mut told = admin.subscribe(subject).await.unwrap();
        admin.flush().await.unwrap();
        let client = client(&server, "a").await;
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.unwrap();
        for n in 0..REQUESTS {
            let body = json!({"name": format!("S{n}"), "subjects": [format!("s{n}")]});
            let create = format!("$JS.API.STREAM.CREATE.S{n}");
            let body = body.to_string().into();
            let sent = client.publish_with_reply(create, inbox.clone(), body);
            sent.await.unwrap();
        }
        client.flush().await.unwrap();
        let advisory = timeout(BOUND, told.next()).await.unwrap().unwrap();
        let advisory: Value = serde_json::from_slice(&advisory.payload).unwrap();
        assert!(advisory["dropped"].as_u64().unwrap() > 0, "{advisory}");
        let schema = "io.nats.jetstream.advisory.v1.api_limit_reached";
        let complaints = complaints(&server, schema, &advisory);
        assert!(complaints.is_empty(), "{kind:?} {advisory}: {complaints:?}");
        if kind == Kind::Leaf {
            let mut refused = 0;
            for _ in 0..REQUESTS {
                let answer = timeout(BOUND, answers.next()).await.unwrap().unwrap();
                let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
                let code = answer["error"]["err_code"].clone();
                assert!(code.is_null() || code == 10_167, "{answer}");
                refused += u32::from(!code.is_null());
            }
            assert!((1..REQUESTS).contains(&refused), "{refused}");
        }
        let late = json!({"name": "LATE", "subjects": ["late"]});
        let late = ask(&client, "$JS.API.STREAM.CREATE.LATE", late).await;
        assert!(late["error"].is_null(), "{kind:?} {late}");
    }
}
