//! Operator mode: the same accounts and users at Frond and at nats-server, with each resolver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read files"
)]

mod appliance;
mod clusters;
mod delegated;
mod realm;
mod refused;
mod resolvers;
mod seen;
mod streams;
mod tiers;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use self::realm::{Creds, Realm, key, now_s, user_of};
use async_nats::{Client, Event, HeaderMap};
use bytes::Bytes;
use frond_account::jwt::{ClaimedExport, ClaimedImport, ClaimedKind, UserScope};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, wait_for, wait_for_async};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const BOUND: Duration = Duration::from_secs(20);
const BOTH: [Kind; 2] = [Kind::Leaf, Kind::Real];
const FULL: &str =
    "resolver: { type: full, dir: \"$DIR/jwt\", allow_delete: true, interval: \"1s\" }\n";

/// What a request about accounts is answered, without the server's name.
async fn ask(admin: &Client, subject: &str, body: String) -> Value {
    let subject = subject.to_owned();
    let answer = admin.request(subject, body.into()).await.unwrap();
    let mut answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert!(answer["server"]["id"].is_string(), "{answer}");
    answer.as_object_mut().unwrap().remove("server");
    answer
}

fn told(account: &str, message: &str) -> Value {
    serde_json::json!({ "data": { "account": account, "code": 200, "message": message } })
}

/// Whether messages get through to its own subscription.
async fn works(client: &Client) -> bool {
    let mut sub = client.subscribe("hello").await.unwrap();
    client.publish("hello", "x".into()).await.unwrap();
    let got = tokio::time::timeout(BOUND, sub.next()).await;
    got.is_ok_and(|message| message.is_some())
}

/// A client, and what its library is told by the server.
async fn watched(creds: &Creds, server: &Server) -> (Client, UnboundedReceiver<Event>) {
    let (events, seen) = unbounded_channel();
    let options = creds.options().event_callback(move |event| {
        let _ = events.send(event);
        async {}
    });
    (options.connect(server.url()).await.unwrap(), seen)
}

async fn heard(seen: &mut UnboundedReceiver<Event>, text: &str) {
    let said = async {
        while let Some(event) = seen.recv().await {
            if format!("{event}").to_lowercase().contains(text) {
                return;
            }
        }
    };
    let waited = tokio::time::timeout(BOUND, said).await;
    assert!(waited.is_ok(), "never heard {text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_pushed_changed_listed_looked_up_and_deleted() {
    for kind in BOTH {
        let realm = Realm::new();
        let name = realm.account.public_key();
        let mut server = Server::start(kind, &Setup::config(&realm.config(FULL)));
        let admin = realm.admin().connect(&server).await;
        let user = realm.user(|_| {});
        assert!(!user.is_let_in(&server).await, "nobody knows the account");

        let jwt = realm.account_jwt(|_| {});
        let pushed = ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt.clone()).await;
        assert_eq!(pushed, told(&name, "jwt updated"), "{kind:?}");
        let (client, mut seen) = watched(&user, &server).await;
        assert!(works(&client).await);
        let other = realm.user(|_| {});
        let bystander = other.connect(&server).await;

        tells_what_it_keeps(&admin, &realm, &jwt).await;
        refuses_what_is_wrong(&admin, &realm).await;

        let revoking = realm.account_jwt(|claims| {
            claims
                .nats
                .revocations
                .insert(user.key.public_key(), now_s() + 1);
        });
        let subject = format!("$SYS.REQ.ACCOUNT.{name}.CLAIMS.UPDATE");
        assert_eq!(
            ask(&admin, &subject, revoking).await,
            told(&name, "jwt updated")
        );
        heard(&mut seen, "revoked").await;
        assert!(!user.is_let_in(&server).await);
        assert!(works(&bystander).await, "others stay");

        server.kill();
        server.restart();
        assert!(other.is_let_in(&server).await, "{kind:?} kept the account");
        assert!(!user.is_let_in(&server).await);

        let admin = realm.admin().connect(&server).await;
        let (_last, mut seen) = watched(&other, &server).await;
        let mut headers = HeaderMap::new();
        headers.insert("a", "b");
        let deletion = realm.deletion(std::slice::from_ref(&name));
        let subject = "$SYS.REQ.CLAIMS.DELETE";
        let answer = admin
            .request_with_headers(subject, headers, deletion.into())
            .await
            .unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert_eq!(
            answer["data"]["message"], "deleted 1 accounts",
            "{kind:?} {answer}"
        );
        heard(&mut seen, "expired").await;
        assert!(!other.is_let_in(&server).await);
        assert!(
            server
                .dir()
                .join(format!("jwt/{name}.jwt.deleted"))
                .exists()
        );
    }
}

async fn tells_what_it_keeps(admin: &Client, realm: &Realm, jwt: &str) {
    let name = realm.account.public_key();
    let list = ask(admin, "$SYS.REQ.CLAIMS.LIST", String::new()).await;
    let mut listed: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    listed.sort_unstable();
    let mut want = [name.clone(), realm.system.public_key()];
    want.sort_unstable();
    assert_eq!(listed, want);
    let lookup = format!("$SYS.REQ.ACCOUNT.{name}.CLAIMS.LOOKUP");
    let found = admin.request(lookup, Bytes::new()).await.unwrap();
    assert_eq!(found.payload, jwt.as_bytes());
    let unknown = format!(
        "$SYS.REQ.ACCOUNT.{}.CLAIMS.LOOKUP",
        realm.signer.public_key()
    );
    assert!(
        admin
            .request(unknown, Bytes::new())
            .await
            .unwrap()
            .payload
            .is_empty()
    );
}

async fn refuses_what_is_wrong(admin: &Client, realm: &Realm) {
    let name = realm.account.public_key();
    for (body, subject) in [
        ("rubbish".to_owned(), "$SYS.REQ.CLAIMS.UPDATE".to_owned()),
        (
            realm.system_jwt(),
            format!("$SYS.REQ.ACCOUNT.{name}.CLAIMS.UPDATE"),
        ),
    ] {
        let answer = ask(admin, &subject, body).await;
        assert_eq!(answer["error"]["code"], 500, "{answer}");
        let said = answer["error"]["description"].as_str().unwrap();
        assert!(
            said.starts_with("jwt update resulted in error - "),
            "{said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_bearers_and_ends_are_kept() {
    for kind in BOTH {
        let realm = Realm::new();
        let account = realm.account_jwt(|claims| {
            let mut scope = UserScope {
                kind: "user_scope".into(),
                key: realm.signer.public_key(),
                template: frond_account::jwt::UserPermissionLimits::unlimited(),
                ..UserScope::default()
            };
            scope.template.permissions.publish.allow =
                vec!["shop.{{name()}}.>".into(), "$JS.>".into()];
            scope.template.permissions.subscribe.allow = vec!["shop.>".into(), "_INBOX.>".into()];
            claims
                .nats
                .signing_keys
                .0
                .insert(realm.signer.public_key(), Some(scope));
        });
        let memory = format!(
            "resolver: MEMORY\njetstream {{ store_dir: \"$DIR/js\" }}\nresolver_preload {{ {}: {account}, {}: {} }}\n",
            realm.account.public_key(),
            realm.system.public_key(),
            realm.system_jwt()
        );
        let server = Server::start(kind, &Setup::config(&realm.config(&memory)));

        let scoped = user_of(&realm.account, &realm.signer, |user| {
            user.nats.may = Default::default();
        });
        let (client, mut seen) = watched(&scoped, &server).await;
        let mut all = client.subscribe("shop.>").await.unwrap();
        client.publish("shop.other.1", "no".into()).await.unwrap();
        client.publish("shop.till.1", "yes".into()).await.unwrap();
        let message = tokio::time::timeout(BOUND, all.next())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(message.payload, "yes", "{kind:?}");
        heard(
            &mut seen,
            "permissions violation for publish to \"shop.other.1\"",
        )
        .await;
        let streams = async_nats::jetstream::new(client);
        assert!(
            streams.query_account().await.is_ok(),
            "{kind:?} has JetStream"
        );

        turns_strangers_away(&server, &realm, &scoped).await;
        let brief = realm.user(|user| user.expires = now_s() + 4);
        let (_client, mut seen) = watched(&brief, &server).await;
        heard(&mut seen, "user authentication expired").await;
        wait_for_async("the end of the last second", BOUND, async || {
            (!brief.is_let_in(&server).await).then_some(())
        })
        .await;
    }
}

async fn turns_strangers_away(server: &Server, realm: &Realm, scoped: &Creds) {
    let strange = user_of(
        &realm.account,
        &key(frond_account::nkey::Role::Account, 9),
        |_| {},
    );
    assert!(!strange.is_let_in(server).await);
    let early = realm.user(|user| user.not_before = now_s() + 3600);
    assert!(!early.is_let_in(server).await);
    let elsewhere = realm.user(|user| user.nats.may.src = vec!["10.0.0.0/8".into()]);
    assert!(!elsewhere.is_let_in(server).await);
    let leaf = realm.user(|user| user.nats.may.allowed_connection_types = vec!["LEAFNODE".into()]);
    assert!(!leaf.is_let_in(server).await);
    let stolen = Creds {
        key: scoped.key.clone(),
        ..realm.user(|_| {})
    };
    assert!(!stolen.is_let_in(server).await, "signed by another key");
    let bearer = Creds {
        key: scoped.key.clone(),
        ..realm.user(|user| user.nats.may.bearer_token = true)
    };
    assert!(bearer.is_let_in(server).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_follows_the_accounts_claims() {
    for kind in BOTH {
        let realm = Realm::new();
        let server = Server::start(kind, &Setup::config(&realm.config(FULL)));
        let admin = realm.admin().connect(&server).await;
        let shop = key(frond_account::nkey::Role::Account, 7);
        let import = ClaimedImport {
            name: "news".into(),
            subject: "news.>".into(),
            account: realm.account.public_key(),
            kind: ClaimedKind::Stream,
            ..ClaimedImport::default()
        };
        let importing = realm.jwt_of(&shop, |claims| claims.nats.imports = vec![import]);
        let exporting = realm.account_jwt(|claims| {
            claims.nats.exports = vec![ClaimedExport {
                name: "news".into(),
                subject: "news.>".into(),
                kind: ClaimedKind::Stream,
                ..ClaimedExport::default()
            }];
        });
        for jwt in [exporting, importing] {
            ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
        }
        let reader = user_of(&shop, &shop, |_| {}).connect(&server).await;
        let writer = realm.user(|_| {}).connect(&server).await;
        let mut news = reader.subscribe("news.*").await.unwrap();
        assert!(works(&reader).await, "and its subscription is there");
        writer.publish("news.today", "fine".into()).await.unwrap();
        let got = tokio::time::timeout(BOUND, news.next())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(got.payload, "fine", "{kind:?}");
        ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", realm.account_jwt(|_| {})).await;
        writer.publish("news.secret", "x".into()).await.unwrap();
        assert!(works(&writer).await);
        reader.publish("news.mine", "own".into()).await.unwrap();
        let got = tokio::time::timeout(BOUND, news.next())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            got.payload, "own",
            "{kind:?} still imports what is no export"
        );
    }
}

/// Answers every GET with the JWT of the path, until the test ends.
fn serve_jwts(
    jwts: Vec<(String, String)>,
) -> (String, std::sync::Arc<std::sync::atomic::AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/jwt/v1/accounts/", listener.local_addr().unwrap());
    let open = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_open = std::sync::Arc::clone(&open);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if !is_open.load(std::sync::atomic::Ordering::Relaxed) {
                continue;
            }
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let key = path.rsplit('/').next().unwrap_or_default();
            let body = jwts
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, jwt)| jwt.as_str());
            let answer = match (key, body) {
                ("", _) => {
                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_owned()
                }
                (_, Some(jwt)) => format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{jwt}",
                    jwt.len()
                ),
                (_, None) => {
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        .to_owned()
                }
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, open)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_resolver_is_asked_and_what_it_said_is_kept() {
    for kind in BOTH {
        let realm = Realm::new();
        let (url, open) = serve_jwts(vec![
            (realm.account.public_key(), realm.account_jwt(|_| {})),
            (realm.system.public_key(), realm.system_jwt()),
        ]);
        let config = format!(
            "listen: \"127.0.0.1:-1\"\noperator: {}\nresolver: URL({url})\njetstream {{ store_dir: \"$DIR/js\" }}\n",
            realm.operator_jwt()
        );
        let mut server = Server::start(kind, &Setup::config(&config));
        let user = realm.user(|_| {});
        assert!(works(&user.connect(&server).await).await);
        let unknown = key(frond_account::nkey::Role::Account, 9);
        assert!(!user_of(&unknown, &unknown, |_| {}).is_let_in(&server).await);
        if kind == Kind::Real {
            continue;
        }
        let kept = format!("js/accounts/{}.jwt", realm.account.public_key());
        wait_for("the account on the disk", BOUND, || {
            server.dir().join(&kept).exists().then_some(())
        });
        open.store(false, std::sync::atomic::Ordering::Relaxed);
        server.kill();
        server.restart();
        assert!(works(&user.connect(&server).await).await, "without the URL");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_looks_accounts_up_at_its_hub_and_starts_without_it() {
    for hub_kind in [Kind::Real, Kind::Hub] {
        let realm = Realm::new();
        let port = free_port();
        let hub_port = free_port();
        let hub_text = realm
            .config(&format!(
                "server_name: hub\n{FULL}leafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
            ))
            .replace("127.0.0.1:-1", &format!("127.0.0.1:{hub_port}"));
        let mut hub = Server::start(hub_kind, &Setup::config(&hub_text));
        let admin = realm.admin().connect(&hub).await;
        ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", realm.account_jwt(|_| {})).await;

        let remotes: String = [(&realm.system, "sys"), (&realm.account, "app")]
            .map(|(account, file)| {
                format!(
                    "{{ url: \"nats-leaf://127.0.0.1:{port}\", account: {}, credentials: \"$DIR/{file}.creds\" }}\n",
                    account.public_key()
                )
            })
            .concat();
        let leaf_text = realm.config(&format!(
            "server_name: leaf\nresolver: {{ type: cache, dir: \"$DIR/jwt\" }}\nleafnodes {{ reconnect: 1, remotes: [ {remotes} ] }}\n"
        ));
        let leaf_text = leaf_text.replace("$DIR", "$HERE");
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display().to_string();
        let path = |file: &str| folder.path().join(format!("{file}.creds"));
        let write = |creds: &Creds, file| std::fs::write(path(file), creds.file()).unwrap();
        write(&realm.admin(), "sys");
        let leaf_text = leaf_text.replace("$HERE", &here);
        let mut leaf = Server::start(Kind::Leaf, &Setup::config(&leaf_text));
        // Files of credentials are read with each dial: it starts without, and takes what comes.
        let missing = "Error reading LeafNode Remote Credentials file";
        assert!(leaf.log().contains(missing));
        write(&realm.user(|_| {}), "app");
        let user = realm.user(|_| {});
        let here_too = wait_for_async("the leaf to know the account", BOUND, async || {
            user.options().connect(leaf.url()).await.ok()
        })
        .await;
        let there = user.connect(&hub).await;
        let mut sub = there.subscribe("up").await.unwrap();
        there.flush().await.unwrap();
        wait_for_async("a message to go up", BOUND, async || {
            here_too.publish("up", "x".into()).await.unwrap();
            tokio::time::timeout(Duration::from_millis(200), sub.next())
                .await
                .ok()
        })
        .await;

        hub.kill();
        leaf.kill();
        leaf.restart();
        assert!(
            works(&user.connect(&leaf).await).await,
            "alone, under {hub_kind:?}"
        );
        hub.restart();
        let there = user.connect(&hub).await;
        let alone = user.connect(&leaf).await;
        let mut sub = there.subscribe("up").await.unwrap();
        there.flush().await.unwrap();
        wait_for_async("the line to be back", BOUND, async || {
            alone.publish("up", "x".into()).await.unwrap();
            tokio::time::timeout(Duration::from_millis(200), sub.next())
                .await
                .ok()
        })
        .await;
    }
}
