//! What an operator sees of users that came by JWT.

use futures_util::StreamExt as _;
use interop::{Server, Setup, free_port, http_get};
use serde_json::Value;

use super::realm::{Realm, user_of};
use super::{BOTH, BOUND, FULL, ask};

/// What of a user is its JWT's.
fn claimed(shown: &Value) -> Value {
    let keys = ["jwt", "issuer_key", "tags", "name_tag"];
    keys.iter()
        .map(|key| ((*key).to_owned(), shown[*key].clone()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn connz_and_events_show_what_a_users_jwt_says() {
    for kind in BOTH {
        let realm = Realm::new();
        let port = free_port();
        let config = realm.config(&format!("{FULL}http: \"127.0.0.1:{port}\"\n"));
        let server = Server::start(kind, &Setup::config(&config));
        let admin = realm.admin().connect(&server).await;
        let signer = realm.signer.public_key();
        let jwt = realm.account_jwt(|claims| {
            claims.nats.signing_keys.0.insert(signer.clone(), None);
        });
        ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
        let name = realm.account.public_key();
        let mut events = admin
            .subscribe(format!("$SYS.ACCOUNT.{name}.CONNECT"))
            .await
            .unwrap();
        admin.flush().await.unwrap();
        let user = user_of(&realm.account, &realm.signer, |user| {
            user.nats.tags = vec!["shop:1".into()];
        });
        let _client = user.connect(&server).await;
        let want = serde_json::json!({
            "jwt": user.jwt, "issuer_key": signer, "tags": ["shop:1"], "name_tag": "ACME",
        });
        let event = tokio::time::timeout(BOUND, events.next()).await.unwrap();
        let event: Value = serde_json::from_slice(&event.unwrap().payload).unwrap();
        assert_eq!(claimed(&event["client"]), want, "{kind:?}");

        let bearer = user_of(&realm.account, &realm.account, |user| {
            user.nats.may.bearer_token = true;
        });
        let _other = bearer.connect(&server).await;
        let path = format!("/connz?auth=true&acc={name}&sort=cid");
        let (_, body) = http_get(&format!("127.0.0.1:{port}"), &path);
        let shown: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(claimed(&shown["connections"][0]), want, "{kind:?}");
        let hidden = &shown["connections"][1];
        assert_eq!(hidden["issuer_key"], name.as_str(), "{kind:?}");
        assert!(hidden["jwt"].is_null(), "{kind:?}: a bearer's is a secret");
    }
}
