//! Routes and gateways, as nats-server v2.15.1 tells of them.

use frond_broker::{
    GatewayAccount, GatewayDetail, GatewayWay, InterestMode, RouteDetail, Subjects,
};
use frond_wire::go_json;
use serde_json::{Value, json};

use super::samples::{client, server, subscription};
use crate::gatewayz::{self, Own};
use crate::query::Query;
use crate::routez;
use crate::rows::{Connection, Gateway, Peer, Route};

fn line() -> Connection {
    Connection {
        name: "b".into(),
        lang: String::new(),
        version: String::new(),
        tls: None,
        ..client(7)
    }
}

fn route() -> Route {
    Route {
        connection: line(),
        server_id: "NB".into(),
        compression: "s2_fast",
        detail: RouteDetail {
            is_solicited: true,
            is_configured: true,
            import: Some(Subjects {
                allow: vec!["a".into()],
                deny: Vec::new(),
            }),
            export: Some(Subjects::default()),
            account: "A".into(),
        },
    }
}

fn routez(query: &str, routes: Vec<Route>) -> Value {
    let own = (None, routes.first().and_then(|r| r.detail.import.clone()));
    let document = routez::document(&server(), &Query::parse(query), own, routes).unwrap();
    serde_json::from_str(&go_json::to_string(&document)).unwrap()
}

#[test]
fn routes_are_told_one_by_one() {
    let told = routez("", vec![route()]);
    assert_eq!(told["num_routes"], 1);
    assert_eq!(
        (told.get("import"), &told["export"]),
        (None, &json!({"allow": ["a"]}))
    );
    assert_eq!(
        told["routes"][0],
        json!({
            "rid": 7, "remote_id": "NB", "remote_name": "b", "did_solicit": true,
            "is_configured": true, "ip": "127.0.0.1", "port": 4321,
            "start": "2023-11-14T22:13:20Z", "last_activity": "2023-11-14T22:14:10Z",
            "rtt": "144µs", "uptime": "1m0s", "idle": "10s", "import": {"allow": ["a"]},
            "export": {}, "pending_size": 0, "in_msgs": 1, "out_msgs": 100, "in_bytes": 10,
            "out_bytes": 1000, "subscriptions": 1, "account": "A", "compression": "s2_fast",
        })
    );
}

#[test]
fn subscriptions_of_a_route_are_told_to_those_who_ask() {
    let listed = routez("subs=1", vec![route()]);
    assert_eq!(listed["routes"][0]["subscriptions_list"], json!(["a.*"]));
    let detailed = routez("subs=detail", vec![route()]);
    assert_eq!(
        detailed["routes"][0]["subscriptions_list_detail"],
        json!([{"subject": "a.*", "qgroup": "q", "sid": "7", "msgs": 3, "max": 5, "cid": 1}])
    );
    assert_eq!(detailed["routes"][0].get("subscriptions_list"), None);
}

fn gateway(name: &str, way: GatewayWay) -> Gateway {
    Gateway {
        connection: Connection {
            peer: Peer::Gateway,
            subs: vec![subscription("a.*"), subscription("b")],
            ..line()
        },
        detail: GatewayDetail {
            gateway: name.into(),
            way,
            is_configured: true,
            accounts: ["A", "B"]
                .map(|name| GatewayAccount {
                    name: name.into(),
                    mode: InterestMode::InterestOnly,
                    no_interest: 0,
                })
                .to_vec(),
        },
    }
}

fn gatewayz(query: &str) -> Value {
    let own = Own {
        name: "C1".into(),
        host: "127.0.0.1".into(),
        port: 7222,
    };
    let gateways = vec![
        gateway("C2", GatewayWay::Outbound),
        gateway("C2", GatewayWay::Inbound),
        gateway("C3", GatewayWay::Outbound),
    ];
    let query = Query::parse(query);
    let document = gatewayz::document(&server(), &query, Some(own), gateways).unwrap();
    serde_json::from_str(&go_json::to_string(&document)).unwrap()
}

#[test]
fn gateways_are_told_by_the_way_messages_go() {
    let told = gatewayz("");
    assert_eq!((&told["name"], &told["port"]), (&json!("C1"), &json!(7222)));
    let out = told["outbound_gateways"].as_object().unwrap();
    assert_eq!(out.keys().collect::<Vec<_>>(), ["C2", "C3"]);
    assert_eq!(
        out["C2"],
        json!({"configured": true, "connection": {
            "cid": 7, "kind": "Gateway", "ip": "127.0.0.1", "port": 4321,
            "start": "2023-11-14T22:13:20Z", "last_activity": "2023-11-14T22:14:10Z",
            "rtt": "144µs", "uptime": "1m0s", "idle": "10s", "pending_bytes": 0, "in_msgs": 1,
            "out_msgs": 100, "in_bytes": 10, "out_bytes": 1000, "stalls": 2, "subscriptions": 2,
            "name": "b",
        }})
    );
    let inbound = &told["inbound_gateways"]["C2"][0];
    assert_eq!(inbound["configured"], false);
    assert_eq!(inbound.get("accounts"), None);
}

#[test]
fn one_gateway_and_one_account_can_be_asked_for() {
    let told = gatewayz("gw_name=C3&acc_name=A&subs=1");
    let out = told["outbound_gateways"].as_object().unwrap();
    assert_eq!(out.keys().collect::<Vec<_>>(), ["C3"]);
    assert_eq!(
        out["C3"]["accounts"],
        json!([{
            "name": "A", "interest_mode": "Interest-Only", "interest_only_threshold": 1000,
            "num_subs": 2, "num_queue_subs": 2, "subscriptions_list": ["a.*", "b"],
        }])
    );
    assert_eq!(told["inbound_gateways"], json!({}));
    let all = gatewayz("accs=1");
    let of_b = &all["outbound_gateways"]["C2"]["accounts"][1];
    assert_eq!(
        of_b,
        &json!({"name": "B", "interest_mode": "Interest-Only", "interest_only_threshold": 1000})
    );
    let missing = gatewayz("gw_name=C9");
    assert_eq!(missing["outbound_gateways"], Value::Null);
}
