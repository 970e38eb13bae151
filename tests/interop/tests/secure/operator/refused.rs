//! What the log says about users that are not let in.

use frond_account::jwt::UserScope;
use frond_account::nkey::Role;
use interop::{Server, Setup, free_port, http_get};
use serde_json::Value;

use super::realm::{Creds, Realm, key, now_s, user_of};
use super::{BOTH, BOUND, wait_for};

/// Each with something wrong.
fn wrong(realm: &Realm) -> Vec<Creds> {
    let stranger = key(Role::Account, 9);
    let good = realm.user(|_| {});
    let stolen = Creds {
        key: key(Role::User, 99).into(),
        ..good
    };
    let rubbish = Creds {
        jwt: "rubbish".to_owned(),
        ..realm.user(|_| {})
    };
    vec![
        rubbish,
        stolen,
        user_of(&realm.account, &stranger, |_| {}),
        user_of(&realm.account, &realm.signer, |_| {}),
        realm.user(|user| user.nats.may.proxy_required = true),
        realm.user(|user| user.not_before = now_s() + 3600),
        realm.user(|user| user.nats.may.src = vec!["10.0.0.0/8".into()]),
        realm.user(|user| user.nats.may.allowed_connection_types = vec!["LEAFNODE".into()]),
        realm.user(|user| user.nats.may.bearer_token = true),
        realm.user(|user| {
            let hour = (now_s() / 3600 + 12) % 24;
            let far = serde_json::json!([
                {"start": format!("{hour:02}:00:00"), "end": format!("{hour:02}:59:59")}
            ]);
            user.nats.may.times = serde_json::from_value(far).unwrap();
            user.nats.may.times_location = "UTC".into();
        }),
    ]
}

/// What the server said at debug and error level of its clients, without what only Go can print.
fn said(server: &Server) -> Vec<String> {
    let log = server.log();
    let lines = log
        .lines()
        .filter(|line| line.contains("[DBG]") || line.contains("[ERR]"));
    let lines = lines.filter_map(|line| line.split_once(" - cid:")?.1.split_once(" - "));
    let lines = lines.map(|(_, text)| text.split(": &{").next().unwrap_or_default());
    let lines = lines.map(|text| match text.split_once("no longer valid") {
        Some((before, _)) => format!("{before}no longer valid"),
        None => text.to_owned(),
    });
    lines
        .filter(|line| !line.contains("connection c") && !line.contains("Authenticated JWT"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_what_is_wrong_with_a_jwt() {
    let mut shown = Vec::new();
    for kind in BOTH {
        let realm = Realm::new();
        let account = realm.account_jwt(|claims| {
            claims.nats.limits.disallow_bearer = true;
            let scope = UserScope {
                kind: "user_scope".into(),
                key: realm.signer.public_key(),
                template: frond_account::jwt::UserPermissionLimits::unlimited(),
                ..UserScope::default()
            };
            let keys = &mut claims.nats.signing_keys.0;
            keys.insert(realm.signer.public_key(), Some(scope));
        });
        let port = free_port();
        let rest = format!(
            "resolver: MEMORY\ndebug: true\nhttp: \"127.0.0.1:{port}\"\n\
             resolver_preload {{ {}: {account}, {}: {} }}\n",
            realm.account.public_key(),
            realm.system.public_key(),
            realm.system_jwt()
        );
        let server = Server::start(kind, &Setup::config(&realm.config(&rest)));
        let all = wrong(&realm);
        for creds in &all {
            assert!(!creds.is_let_in(&server).await);
        }
        let reasons = wait_for("the last of them to be gone", BOUND, || {
            let (_, body) = http_get(&format!("127.0.0.1:{port}"), "/connz?state=closed&sort=cid");
            let connz: Value = serde_json::from_str(&body).unwrap();
            let rows = connz["connections"].as_array().unwrap();
            let reasons: Vec<_> = rows.iter().map(|row| row["reason"].clone()).collect();
            (reasons.len() == all.len()).then_some(reasons)
        });
        let said = wait_for("the last of it to be said", BOUND, || {
            let said = said(&server);
            (said.len() >= 2 * all.len()).then_some(said)
        });
        shown.push((said, reasons));
    }
    let (theirs, ours) = (&shown[1], &shown[0]);
    assert_eq!(ours, theirs);
    assert_eq!(theirs.0.len(), 20, "{theirs:#?}");
}
