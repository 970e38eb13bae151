//! A box and its hub in operator mode: the fleet, the field side and what is forwarded are at home
//! in the operator's accounts.

use std::path::Path;
use std::process::Command;

use async_nats::Client;
use interop::{Kind, Server, Setup, free_port, http_get, run, wait_for, wait_for_async};
use serde_json::Value;

use super::BOUND;
use super::realm::Realm;

/// Accounts that are known from the start.
fn known(realm: &Realm) -> String {
    format!(
        "resolver_preload {{ {}: {}\n{}: {} }}\nresolver: MEMORY\n",
        realm.system.public_key(),
        realm.system_jwt(),
        realm.account.public_key(),
        realm.account_jwt(|_| {}),
    )
}

fn config(realm: &Realm, name: &str, more: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\nserver_name: {name}\noperator: {}\n{}\
         jetstream {{ store_dir: \"$DIR/js\", domain: {name} }}\n{more}\n",
        realm.operator_jwt(),
        known(realm)
    )
}

fn fleet(hub: &Server, creds: &Path, words: &[&str]) -> String {
    let mut command = Command::new(Kind::Hub.binary());
    command.args(["fleet"]).args(words);
    command.args(["--server", &hub.url(), "--creds"]).arg(creds);
    run(&mut command).text
}

/// A box with a door, sales that go to the hub, and a word about its configuration.
fn start_box(realm: &Realm, port: u16, http: &str, creds: &Path, sys: &Path) -> Server {
    let account = realm.account.public_key();
    let key = realm.operator.public_key();
    let creds = creds.display();
    let more = format!(
        "http: \"{http}\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:{port}\", \
         account: {account}, credentials: \"{creds}\" }} ] }}\n\
         forward {{ name: SALES, subjects: [\"sales.>\"], to: hub }}\n\
         appliance {{ account: {account}, sys: \"{}\", inputs: [ {{ name: door, line: \"file:door\", \
         subject: door, heartbeat: \"100ms\" }} ] }}\n\
         ota {{ store: \"$DIR/ota\", device: till-7, credentials: \"{creds}\", \
         trust {{ root {{ keys: [{key}] }}, release {{ keys: [{key}] }} }}\n\
         source {{ bucket: FROND_CONFIG, domain: hub, registry: FROND_FLEET }} }}\n",
        sys.display()
    );
    Server::start(Kind::Leaf, &Setup::config(&config(realm, "shop", &more)))
}

async fn arrived(hub: &Client) -> Option<Value> {
    let subject = "$JS.API.STREAM.INFO.FWD_shop_SALES";
    let info = hub.request(subject, "".into()).await.ok()?;
    let info: Value = serde_json::from_slice(&info.payload).ok()?;
    (info["state"]["messages"] == 3).then_some(info)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_the_field_side_and_what_is_forwarded_have_an_account() {
    let realm = Realm::new();
    let (port, account) = (free_port(), realm.account.public_key());
    let http = format!("127.0.0.1:{}", free_port());
    let more =
        format!("leafnodes {{ listen: \"127.0.0.1:{port}\" }}\nfleet {{ account: {account} }}\n");
    let hub = Server::start(Kind::Hub, &Setup::config(&config(&realm, "hub", &more)));
    let folder = tempfile::tempdir().unwrap();
    let creds = folder.path().join("till.creds");
    std::fs::write(&creds, realm.user(|_| {}).file()).unwrap();
    let sys = folder.path().join("sys");
    std::fs::create_dir(&sys).unwrap();
    std::fs::write(sys.join("door"), "1\n").unwrap();
    let leaf = start_box(&realm, port, &http, &creds, &sys);
    wait_for("the box to be known", BOUND, || {
        let listed = fleet(&hub, &creds, &["list"]);
        let line = listed.lines().find(|line| line.starts_with("till-7"))?;
        line.contains("idle").then_some(())
    });
    let (there, here) = {
        let user = realm.user(|_| {});
        (user.connect(&hub).await, user.connect(&leaf).await)
    };
    let mut door = there.subscribe("door").await.unwrap();
    let opened = tokio::time::timeout(BOUND, futures_util::StreamExt::next(&mut door)).await;
    let opened = opened.unwrap().unwrap();
    let opened: Value = serde_json::from_slice(&opened.payload).unwrap();
    assert_eq!(opened["state"], "active", "{opened}");
    wait_for("the block to be ready", BOUND, || {
        let (_, body) = http_get(&http, "/status.json");
        let status: Value = serde_json::from_str(&body).ok()?;
        (status["forwards"][0]["state"] == "settled").then_some(())
    });
    for n in 0..3 {
        let ack = here.request("sales.a", n.to_string().into()).await.unwrap();
        let ack: Value = serde_json::from_slice(&ack.payload).unwrap();
        assert!(ack["error"].is_null(), "{ack}");
    }
    wait_for_async("sales at the hub", BOUND, async || arrived(&there).await).await;
}

#[test]
fn what_cannot_have_an_account_is_refused_with_its_place() {
    let realm = Realm::new();
    for (block, words) in [
        ("fleet {}", "the fleet needs to know its account"),
        ("fleet { user: a }", "the fleet cannot be a user"),
        ("fleet { account: ACME }", "is no account of an operator"),
        ("appliance {}", "the field side needs to know its account"),
        ("appliance { user: a }", "the field side cannot be a user"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.conf");
        let text = config(&realm, "hub", block).replace("$DIR", &dir.path().display().to_string());
        std::fs::write(&path, &text).unwrap();
        let line = text.lines().position(|line| line == block).unwrap() + 1;
        let mut command = Command::new(Kind::Hub.binary());
        let ended = run(command.args(["-t", "-c"]).arg(&path));
        assert!(!ended.status.success(), "{block}: {}", ended.text);
        let place = format!("x.conf:{line}:");
        let said = ended.text.lines().find(|it| it.contains(words));
        assert!(
            said.is_some_and(|it| it.contains(&place)),
            "{block}: {}",
            ended.text
        );
    }
}
