//! Accounts that only some servers of a system have in use.

use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt as _;
use interop::supercluster::{Supercluster, Words};
use interop::{Kind, wait_for_async};

use super::BOUND;
use super::realm::{Creds, Realm};

async fn logged_in(creds: &Creds, world: &Supercluster, (c, s): (usize, usize)) -> Client {
    creds.connect(&world.clusters[c][s]).await
}

/// Who asks in one cluster is answered from another, by a server that its way does not lead to:
/// the one in between has no client of the account.
#[tokio::test(flavor = "multi_thread")]
async fn interest_passes_servers_where_nobody_uses_the_account() {
    for (first, second) in [
        ([Kind::Hub, Kind::Hub], Kind::Hub),
        ([Kind::Hub, Kind::Real], Kind::Real),
        ([Kind::Real, Kind::Hub], Kind::Hub),
    ] {
        let realm = Realm::new();
        let more = format!(
            "operator: {}\nresolver: MEMORY\nresolver_preload {{ {}: {}, {}: {} }}\n",
            realm.operator_jwt(),
            realm.system.public_key(),
            realm.system_jwt(),
            realm.account.public_key(),
            realm.account_jwt(|_| {}),
        );
        let world = Supercluster::of(&[&first, &[second]], |_| Words {
            more: more.clone(),
            ..Words::default()
        });
        world.joined();
        let way = world.look(1, 0, "/gatewayz")["outbound_gateways"]["C0"]["connection"].clone();
        let first_id = world.look(0, 0, "/varz")["server_id"].clone();
        let at = usize::from(way["name"] == first_id);
        // Beside the server that the way leads to.
        let worker = logged_in(&realm.user(|_| {}), &world, (0, at)).await;
        let mut asked = worker.subscribe("ask").await.unwrap();
        worker.flush().await.unwrap();
        let answering = worker.clone();
        tokio::spawn(async move {
            while let Some(message) = asked.next().await {
                let reply = message.reply.unwrap();
                let _ = answering.publish(reply, "yes".into()).await;
            }
        });
        let asker = logged_in(&realm.user(|_| {}), &world, (1, 0)).await;
        wait_for_async(
            &format!("an answer, {first:?} {second:?}"),
            BOUND,
            async || {
                let answer = asker.request("ask", "?".into());
                let answer = tokio::time::timeout(Duration::from_secs(1), answer).await;
                matches!(answer, Ok(Ok(_))).then_some(())
            },
        )
        .await;
    }
}
