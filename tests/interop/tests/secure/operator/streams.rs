//! Streams of an account that may have them, or may not any more.

use async_nats::Client;
use async_nats::jetstream;
use frond_account::jwt::JetStreamLimits;
use interop::{Server, Setup, wait_for_async};
use serde_json::Value;

use super::realm::{Realm, now_s};
use super::{BOTH, BOUND, FULL, ask, heard, watched};

async fn error_code(client: &Client) -> Value {
    let answer = client.request("$JS.API.INFO", "".into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    answer["error"]["err_code"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_go_out_of_reach_and_come_back_with_the_claims() {
    for kind in BOTH {
        let realm = Realm::new();
        let config = realm.config(&format!("{FULL}jetstream {{ store_dir: \"$DIR/js\" }}\n"));
        let server = Server::start(kind, &Setup::config(&config));
        let admin = realm.admin().connect(&server).await;
        let push = async |jwt: String| ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
        push(realm.account_jwt(|_| {})).await;
        let client = realm.user(|_| {}).connect(&server).await;
        let streams = jetstream::new(client.clone());
        let orders = jetstream::stream::Config {
            name: "ORDERS".into(),
            subjects: vec!["orders".into()],
            ..Default::default()
        };
        streams.create_stream(orders).await.unwrap();
        let published = streams.publish("orders", "one".into()).await.unwrap();
        published.await.unwrap();

        let off = JetStreamLimits::default();
        push(realm.account_jwt(|claims| claims.nats.limits.jetstream = off)).await;
        wait_for_async("JetStream to be off", BOUND, async || {
            (error_code(&client).await == 10_039).then_some(())
        })
        .await;
        assert!(streams.get_stream("ORDERS").await.is_err(), "{kind:?}");
        let published = streams.publish("orders", "two".into()).await;
        assert!(published.unwrap().await.is_err(), "{kind:?}");

        push(realm.account_jwt(|claims| claims.name = "again".into())).await;
        let mut back = wait_for_async("the stream to be back", BOUND, async || {
            streams.get_stream("ORDERS").await.ok()
        })
        .await;
        assert_eq!(back.info().await.unwrap().state.messages, 1, "{kind:?}");
    }
}

/// O5: the streams of an account whose time is over are nobody's fault.
#[tokio::test(flavor = "multi_thread")]
async fn an_expired_account_with_streams_leaves_the_server_well() {
    for kind in BOTH {
        let realm = Realm::new();
        let rest = format!("{FULL}jetstream {{ store_dir: \"$DIR/js\" }}\n");
        let server = Server::start(kind, &Setup::config(&realm.config(&rest)));
        let admin = realm.admin().connect(&server).await;
        let push = async |jwt: String| ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
        push(realm.account_jwt(|_| {})).await;
        let (client, mut seen) = watched(&realm.user(|_| {}), &server).await;
        let orders = jetstream::stream::Config {
            name: "ORDERS".into(),
            subjects: vec!["orders".into()],
            ..Default::default()
        };
        let streams = jetstream::new(client);
        streams.create_stream(orders).await.unwrap();
        push(realm.account_jwt(|claims| claims.expires = now_s() + 1)).await;
        heard(&mut seen, "account authentication expired").await;
        let health = ask(&admin, "$SYS.REQ.SERVER.PING.HEALTHZ", String::new()).await;
        assert_eq!(health["data"]["status"], "ok", "{kind:?} {health}");
    }
}
