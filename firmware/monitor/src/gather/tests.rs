//! Whole documents.

use frond_broker::Conn;
use serde_json::Value;

use crate::tests::world::{Paper, World, lively, request};

#[test]
fn varz_tells_of_the_server() {
    let varz = lively().document("/varz");
    for (key, value) in [
        ("server_name", Value::from("edge")),
        ("version", "2.15.1".into()),
        ("go", "rust".into()),
        ("host", "127.0.0.1".into()),
        ("port", 4222.into()),
        ("http_host", "127.0.0.1".into()),
        ("http_port", 8222.into()),
        ("http_base_path", "".into()),
        ("auth_required", true.into()),
        ("max_payload", 1_048_576.into()),
        ("ping_interval", 120_000_000_000_u64.into()),
        ("uptime", "1m3s".into()),
        ("mem", 4096.into()),
        ("cores", 2.into()),
        ("connections", 1.into()),
        ("total_connections", 2.into()),
        ("leafnodes", 0.into()),
        ("in_client_msgs", 4.into()),
        ("system_account", "$SYS".into()),
        ("leaf", serde_json::json!({})),
    ] {
        assert_eq!(varz[key], value, "{key}");
    }
    assert_eq!(varz["tags"][0], "shop");
    assert_eq!(varz["in_msgs"], varz["in_client_msgs"]);
    let jetstream = &varz["jetstream"];
    assert_eq!(jetstream["config"]["max_storage"], 2000);
    assert_eq!(jetstream["config"]["store_dir"], "/data/jetstream");
    assert_eq!(jetstream["stats"]["accounts"], 1);
    assert!(jetstream["stats"]["storage"].as_u64().unwrap() > 20);
    assert_eq!(varz["http_req_stats"]["/varz"], 3);
}

#[test]
fn connections_and_subscriptions_are_told() {
    let world = lively();
    let open = world.document("/connz?auth=1&subs=1");
    let row = &open["connections"][0];
    assert_eq!((&open["total"], &row["cid"]), (&1.into(), &1.into()));
    assert_eq!(
        (&row["ip"], &row["port"]),
        (&"127.0.0.1".into(), &4321.into())
    );
    assert_eq!(
        (&row["account"], &row["authorized_user"]),
        (&"A".into(), &"a".into())
    );
    assert_eq!(
        (&row["name"], &row["lang"]),
        (&"till".into(), &"rust".into())
    );
    assert_eq!(
        (&row["in_msgs"], &row["subscriptions"]),
        (&4.into(), &2.into())
    );
    assert_eq!(row["subscriptions_list"].as_array().unwrap().len(), 2);
    let closed = world.document("/connz?state=closed&sort=stop&auth=true");
    let row = &closed["connections"][0];
    assert_eq!(
        (&row["cid"], &row["reason"]),
        (&2.into(), &"Client Closed".into())
    );
    assert_eq!(row["account"], "B");
    let subs = world.document("/subsz?subs=1&acc=A&test=a.b");
    assert_eq!((&subs["total"], &subs["limit"]), (&1.into(), &1024.into()));
    let sub = &subs["subscriptions_list"][0];
    assert_eq!(
        (&sub["subject"], &sub["qgroup"]),
        (&"a.*".into(), &"q".into())
    );
    assert_eq!(
        (&sub["sid"], &sub["max"], &sub["cid"]),
        (&"2".into(), &5.into(), &1.into())
    );
    let all = world.document("/subscriptionsz?subs=1&limit=1");
    assert!(all["total"].as_u64().unwrap() > 1);
    assert_eq!(all["subscriptions_list"].as_array().unwrap().len(), 1);
}

#[test]
fn what_the_gone_wanted_is_told_to_who_asks() {
    let mut world = lively();
    let gone = world.connect(3, "b");
    world.say(gone, "SUB x.* q 7\r\n");
    world.input(frond_node::Input::Closed {
        conn: gone,
        cause: "Client Closed",
    });
    let row = |query: &str| world.document(query)["connections"][0].clone();
    let plain = row("/connz?state=closed&cid=3");
    assert_eq!(plain["subscriptions"], 1);
    assert_eq!(plain.get("subscriptions_list"), None);
    let listed = row("/connz?state=closed&cid=3&subs=1");
    assert_eq!(listed["subscriptions_list"], serde_json::json!(["x.*"]));
    let detail = row("/connz?state=closed&cid=3&subs=detail");
    let wanted = serde_json::json!([{
        "account": "B", "account_tag": "B", "subject": "x.*", "qgroup": "q", "sid": "7", "msgs": 0, "cid": 3
    }]);
    assert_eq!(detail["subscriptions_list_detail"], wanted);
}

#[test]
fn accounts_are_told() {
    let world = lively();
    let names = world.document("/accountz");
    let names: Vec<_> = names["accounts"].as_array().unwrap().iter().collect();
    assert!(
        ["A", "B", "$G", "$SYS"]
            .iter()
            .all(|name| names.contains(&&Value::from(*name)))
    );
    let one = world.document("/accountz?acc=A")["account_detail"].clone();
    assert_eq!(
        (&one["jetstream_enabled"], &one["client_connections"]),
        (&true.into(), &1.into())
    );
    let refused = world.page("/accountz?acc=X").unwrap();
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (400, "Account X does not exist")
    );
    let used = world.document("/accstatz");
    assert_eq!(used["account_statz"].as_array().unwrap().len(), 1);
    assert_eq!(used["account_statz"][0]["acc"], "A");
    let all = world.document("/accstatz?unused=1");
    assert_eq!(all["account_statz"].as_array().unwrap().len(), names.len());
}

#[test]
fn streams_and_consumers_are_told() {
    let world = lively();
    let jsz = world.document("/jsz?consumers=1&config=1");
    for (key, value) in [
        ("streams", 1),
        ("consumers", 1),
        ("messages", 2),
        ("total", 1),
    ] {
        assert_eq!(jsz[key], value, "{key}");
    }
    let stream = &jsz["account_details"][0]["stream_detail"][0];
    assert_eq!(
        (&stream["name"], &stream["cluster"]["leader"]),
        (&"ORDERS".into(), &"edge".into())
    );
    assert_eq!(stream["config"]["subjects"][0], "orders.>");
    let state = &stream["state"];
    for (key, value) in [
        ("messages", 2),
        ("first_seq", 1),
        ("last_seq", 2),
        ("num_subjects", 1),
    ] {
        assert_eq!(state[key], value, "{key}");
    }
    let consumer = &stream["consumer_detail"][0];
    assert_eq!(
        (&consumer["name"], &consumer["num_pending"]),
        (&"work".into(), &2.into())
    );
    assert_eq!(consumer["config"]["durable_name"], "work");
    let off = World::new("listen: 4222").document("/jsz");
    assert_eq!(off["disabled"], true);
}

#[test]
fn health_follows_the_disk() {
    let mut world = lively();
    let healthy = world
        .page("/healthz?account=A&stream=ORDERS&consumer=work")
        .unwrap();
    assert_eq!(
        (healthy.status, healthy.body.as_str()),
        (200, r#"{"status":"ok"}"#)
    );
    world.disk = Paper::Torn;
    world.say(Conn(1), &request("orders.new", "lost"));
    let sick = world.page("/healthz").unwrap();
    assert_eq!(sick.status, 503);
    assert!(
        sick.body.contains("A \\u003e ORDERS") && sick.body.contains("input/output error"),
        "{}",
        sick.body
    );
    assert_eq!(
        world.page("/healthz?js-enabled-only=1").unwrap().status,
        200
    );
}

#[test]
fn every_path_answers_and_no_other() {
    let world = lively();
    for (path, ..) in crate::endpoint::ENDPOINTS {
        let page = world.page(path).unwrap();
        let (status, start) = match path {
            "/" | "/status" => (200, "<!doctype"),
            "/metrics" => (200, "# HELP "),
            "/raftz" => (404, "No Raft nodes registered"),
            "/stacksz" => (200, "0 threads\n"),
            _ => (200, "{"),
        };
        assert_eq!(page.status, status, "{path}");
        assert!(page.body.starts_with(start), "{path}");
    }
    assert_eq!(world.page("/other"), None);
    let refused = world.page("/connz?limit=x").unwrap();
    assert_eq!(
        (refused.status, refused.content_type),
        (400, "text/plain; charset=utf-8")
    );
    let based = World::new("listen: 4222, http: 8222, http_base_path: mon");
    assert!(based.page("/varz").is_none());
    assert_eq!(based.document("/mon/varz")["auth_required"], Value::Null);
}
