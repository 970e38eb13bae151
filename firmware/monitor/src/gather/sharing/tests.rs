use serde_json::{Value, json};

use crate::tests::world::World;

const CONFIG: &str = r#"
    listen: "127.0.0.1:4222"
    accounts {
        A {
            users: [{ user: a, password: a }]
            exports: [
                { stream: "prices.>" }
                { service: "stock.*", accounts: [B], latency: { sampling: "50%", subject: "lat" } }
                { service: "bulk", response: stream }
            ]
        }
        B {
            users: [{ user: b, password: b }]
            imports: [
                { stream: { account: A, subject: "prices.>" }, prefix: shop }
                { service: { account: A, subject: "stock.1" }, to: "mine" }
            ]
            mappings: { "old.*": [{ destination: "new.{{wildcard(1)}}", weight: 30% }, { destination: "newer.{{wildcard(1)}}", weight: 20% }] }
        }
        SYS { users: [{ user: s, password: s }] }
    }
    system_account: SYS
"#;

fn detail(account: &str) -> Value {
    let world = World::new(CONFIG);
    world.document(&format!("/accountz?acc={account}"))["account_detail"].clone()
}

/// spec: answers of nats-server v2.15.1
#[test]
fn what_accounts_share_is_told() {
    assert_eq!(
        detail("A")["exports"],
        json!([
            { "subject": "stock.*", "type": "service", "response_type": "Singleton",
              "service_latency": { "sampling": 50, "results": "lat" }, "approved_accounts": ["B"] },
            { "subject": "bulk", "type": "service", "response_type": "Streamed" },
            { "subject": "prices.>", "type": "stream" },
        ])
    );
    let importing = detail("B");
    let imports = importing["imports"].as_array().unwrap();
    assert_eq!(
        imports[0],
        json!({ "subject": "prices.>", "account": "A", "local_subject": "shop.prices.>",
                "type": "stream", "invalid": false, "share": false, "tracking": false })
    );
    assert_eq!(
        (
            &imports[1]["subject"],
            &imports[1]["to"],
            &imports[1]["latency"]["sampling"]
        ),
        (&json!("stock.1"), &json!("mine"), &json!(50))
    );
    assert_eq!(imports[2]["to"], "$SYS.REQ.ACCOUNT.PING.CONNZ");
    assert_eq!(imports[2]["subject"], "$SYS.REQ.ACCOUNT.B.CONNZ");
    assert_eq!(imports.len(), 6, "{imports:?}");
    assert_eq!(
        importing["mappings"]["old.*"],
        json!([
            { "subject": "newer.{{wildcard(1)}}", "weight": 20 },
            { "subject": "new.{{wildcard(1)}}", "weight": 50 },
            { "subject": "old.$1", "weight": 100 },
        ])
    );
}

#[test]
fn the_system_account_offers_and_does_not_take() {
    let system = detail("SYS");
    assert_eq!(system["imports"].as_array().unwrap().len(), 1);
    let exports = system["exports"].as_array().unwrap();
    assert!(
        exports
            .iter()
            .any(|it| it["subject"] == "$SYS.REQ.ACCOUNT.*.CONNZ")
    );
    assert!(!exports.iter().any(|it| it["subject"] == "$JS.API.>"));
}
