//! An account that leaves it to a service who its users are.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use frond_account::jwt::{
    AccountClaims, AuthRequestClaims, AuthResponseClaims, UserClaims, UserPermissionLimits,
    UserScope,
};
use frond_account::nkey::{KeyPair, Role};
use frond_account::xkey::Xkey;
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup};
use serde_json::Value;

use crate::operator::BOUND;
use crate::operator::realm::{Creds, Realm, key, now_s, user_of};

/// The accounts, and who may come without being asked about.
struct World {
    realm: Realm,
    /// The service may put users here,
    allowed: KeyPair,
    /// but not here.
    forbidden: KeyPair,
    service: Creds,
    sentinel: Creds,
    xkey: Option<Xkey>,
}

impl World {
    fn new(xkey: Option<Xkey>) -> Self {
        let realm = Realm::new();
        Self {
            service: realm.user(|user| user.name = "service".into()),
            sentinel: realm.user(|user| {
                user.name = "sentinel".into();
                user.nats.tags = vec!["door:front".into()];
                user.nats.may.bearer_token = true;
                user.nats.may.permissions.publish.deny = vec![">".into()];
                user.nats.may.permissions.subscribe.deny = vec![">".into()];
            }),
            allowed: key(Role::Account, 5),
            forbidden: key(Role::Account, 6),
            realm,
            xkey,
        }
    }

    fn leaves_it_to_the_service(&self, claims: &mut AccountClaims) {
        let external = &mut claims.nats.authorization;
        external.auth_users = vec![self.service.key.public_key()];
        external.allowed_accounts = vec![self.allowed.public_key()];
        if let Some(xkey) = &self.xkey {
            external.xkey = xkey.public_key();
        }
        let mut scope = UserScope {
            kind: "user_scope".into(),
            key: self.realm.signer.public_key(),
            template: UserPermissionLimits::unlimited(),
            ..UserScope::default()
        };
        scope.template.permissions.publish.allow = vec!["{{name()}}.>".into()];
        let keys = &mut claims.nats.signing_keys.0;
        keys.insert(self.realm.signer.public_key(), Some(scope));
    }

    fn setup(&self, more: &str) -> Setup {
        let realm = &self.realm;
        let asking = realm.account_jwt(|claims| self.leaves_it_to_the_service(claims));
        let others = [(&self.allowed, "ALLOWED"), (&self.forbidden, "FORBIDDEN")];
        let others: Vec<String> = others
            .iter()
            .map(|(key, name)| {
                let jwt = realm.jwt_of(key, |claims| claims.name = (*name).into());
                format!("{}: {jwt}", key.public_key())
            })
            .collect();
        Setup::config(&realm.config(&format!(
            "server_name: S\ndebug: true\nauthorization {{ timeout: 2 }}\nresolver: MEMORY\n\
             resolver_preload {{ {}: {}, {}: {asking}, {} }}\n{more}",
            realm.system.public_key(),
            realm.system_jwt(),
            realm.account.public_key(),
            others.join(", ")
        )))
    }

    /// What the service says of `request`, by the name the peer gave; `None` is nothing at all.
    fn answer(&self, request: &AuthRequestClaims) -> Option<String> {
        let own = &self.realm.account;
        let name = request.nats.connect_opts.user.as_str();
        let mut user = UserClaims::about(&request.nats.user_nkey);
        user.issued_at = now_s();
        user.name = name.into();
        user.nats.may = UserPermissionLimits::unlimited();
        user.nats.may.permissions.publish.allow = vec!["app.>".into()];
        let mut response = AuthResponseClaims::about(&request.nats.user_nkey);
        response.issued_at = now_s();
        response.audience.clone_from(&request.nats.server.id);
        let stranger = key(Role::Account, 9);
        let (mut signer, mut answerer) = (own, own);
        match name {
            "silent" => return None,
            "denied" => {
                response.nats.error = "no such user".into();
                return Some(response.encode(own).unwrap());
            }
            "allowed" => signer = &self.allowed,
            "forbidden" => signer = &self.forbidden,
            "stranger" => signer = &stranger,
            "scoped" | "says-more" | "no-issuer" => {
                signer = &self.realm.signer;
                if name != "no-issuer" {
                    user.nats.issuer_account = own.public_key();
                }
                if name != "says-more" {
                    user.nats.may = UserPermissionLimits::default();
                }
            }
            "lies" => {
                signer = &stranger;
                user.nats.issuer_account = own.public_key();
            }
            "answer-signed" => {
                answerer = &self.realm.signer;
                response.nats.issuer_account = own.public_key();
            }
            "answer-by-stranger" => answerer = &stranger,
            "expired" => user.expires = now_s() - 10,
            _ => {}
        }
        response.nats.jwt = user.encode(signer).unwrap();
        Some(response.encode(answerer).unwrap())
    }
}

/// Answers until the client ends; what it was asked.
async fn serve(server: &Server, world: &Arc<World>) -> Arc<Mutex<Vec<Value>>> {
    let client = world.service.connect(server).await;
    let mut questions = client.subscribe("$SYS.REQ.USER.AUTH").await.unwrap();
    client.flush().await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (asked, world) = (Arc::clone(&seen), Arc::clone(world));
    tokio::spawn(async move {
        while let Some(message) = questions.next().await {
            let headers = message.headers.as_ref();
            let from = headers.and_then(|headers| headers.get("Nats-Server-Xkey"));
            let from = from.map(|key| key.as_str().to_owned());
            assert_eq!(from.is_some(), world.xkey.is_some());
            let sealing = world.xkey.as_ref().zip(from.as_deref());
            let text = match sealing {
                Some((xkey, from)) => xkey.open(&message.payload, from).unwrap(),
                None => message.payload.to_vec(),
            };
            let text = String::from_utf8(text).unwrap();
            let request = AuthRequestClaims::decode(&text).unwrap();
            asked
                .lock()
                .unwrap()
                .push(serde_json::to_value(&request).unwrap());
            let Some(answer) = world.answer(&request) else {
                continue;
            };
            let payload = match sealing {
                Some((xkey, from)) => xkey.seal(answer.as_bytes(), from, &[7; 24]).unwrap(),
                None => answer.into_bytes(),
            };
            client
                .publish(message.reply.unwrap(), payload.into())
                .await
                .unwrap();
            client.flush().await.unwrap();
        }
    });
    seen
}

/// What a client is told after `CONNECT`, up to its account or the end.
fn told(server: &Server, name: &str, jwt: &str, then: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("INFO"));
    let connect = serde_json::json!({
        "verbose": false, "pedantic": false, "protocol": 1, "name": "cli", "lang": "rust",
        "version": "1", "user": name, "pass": "pw", "jwt": jwt,
    });
    write!(stream, "CONNECT {connect}\r\n{then}PING\r\n").unwrap();
    let mut told = Vec::new();
    for line in lines.map_while(Result::ok) {
        if let Some(info) = line.strip_prefix("INFO ") {
            let info: Value = serde_json::from_str(info).unwrap();
            told.push(format!("account {}", info["remote_account"]));
            break;
        }
        told.push(line);
    }
    told
}

const NAMES: &[&str] = &[
    "own",
    "denied",
    "silent",
    "allowed",
    "forbidden",
    "stranger",
    "scoped",
    "says-more",
    "no-issuer",
    "lies",
    "answer-signed",
    "answer-by-stranger",
    "expired",
];

const TRIES: &str = "PUB app.x 0\r\n\r\nPUB scoped.x 0\r\n\r\nPUB $SYS.REQ.USER.AUTH 0\r\n\r\n";

async fn outcomes(kind: Kind, xkey: Option<Xkey>) -> Vec<(&'static str, Vec<String>)> {
    let world = Arc::new(World::new(xkey));
    let server = Server::start(kind, &world.setup(""));
    let _seen = serve(&server, &world).await;
    tokio::task::spawn_blocking(move || {
        let jwt = &world.sentinel.jwt;
        let outcome = |name: &&'static str| (*name, told(&server, name, jwt, TRIES));
        NAMES.iter().map(outcome).collect()
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_passes_the_service_by() {
    for seed in [None, Some([8; 32])] {
        let xkey = || seed.as_ref().map(Xkey::from_random);
        let real = outcomes(Kind::Real, xkey()).await;
        let ours = outcomes(Kind::Leaf, xkey()).await;
        assert_eq!(ours, real, "sealed: {}", seed.is_some());
        let end = |name: &str| {
            let told = &ours.iter().find(|(of, _)| *of == name).unwrap().1;
            told.last().unwrap().clone()
        };
        let world = World::new(None);
        for name in ["own", "scoped", "answer-signed"] {
            let account = world.realm.account.public_key();
            assert_eq!(end(name), format!("account {account:?}"));
        }
        let allowed = world.allowed.public_key();
        assert_eq!(end("allowed"), format!("account {allowed:?}"));
        for name in ["denied", "forbidden", "stranger", "says-more", "lies"] {
            assert_eq!(end(name), "-ERR 'Authorization Violation'", "{name}");
        }
    }
}

/// What is different at each server, and each time, is left out.
fn masked(mut request: Value) -> Value {
    let id = request["nats"]["server_id"]["id"].take();
    assert_eq!(request["iss"].take(), id);
    for key in ["iat", "exp", "jti"] {
        request[key].take();
    }
    request["nats"]["user_nkey"].take();
    request["nats"]["client_info"]["id"].take();
    // Each world has its own sentinel; of the same name.
    for (part, key) in [("client_info", "user"), ("connect_opts", "jwt")] {
        assert!(request["nats"][part][key].take().is_string());
    }
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn those_without_a_token_are_asked_about_as_the_sentinel() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let world = Arc::new(World::new(None));
        let more = format!("default_sentinel: \"{}\"\n", world.sentinel.jwt);
        let server = Server::start(kind, &world.setup(&more));
        let seen = serve(&server, &world).await;
        let sentinel = world.sentinel.clone();
        let said = tokio::task::spawn_blocking(move || {
            let bad = format!("{}x", sentinel.jwt);
            [("own", ""), ("", ""), ("own", bad.as_str()), ("denied", "")]
                .map(|(name, jwt)| told(&server, name, jwt, ""))
        });
        let said = said.await.unwrap();
        let seen: Vec<Value> = seen.lock().unwrap().drain(..).map(masked).collect();
        shown.push((said, seen));
    }
    assert_eq!(shown[1], shown[0]);
    assert_eq!(shown[1].1.len(), 4, "all were asked about");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_does_not_hold_is_no_ticket_to_the_service() {
    for kind in [Kind::Real, Kind::Leaf] {
        let world = Arc::new(World::new(None));
        let server = Server::start(kind, &world.setup(""));
        let seen = serve(&server, &world).await;
        let not_bearer = world.realm.user(|_| {});
        let strange = user_of(&world.realm.account, &key(Role::Account, 9), |user| {
            user.nats.may.bearer_token = true;
        });
        let said = tokio::task::spawn_blocking(move || {
            let told = |jwt: &str| told(&server, "own", jwt, "").pop().unwrap();
            [told(""), told(&not_bearer.jwt), told(&strange.jwt)]
        });
        for line in said.await.unwrap() {
            assert!(line.starts_with("-ERR 'Auth"), "{kind:?} {line}");
        }
        assert!(seen.lock().unwrap().is_empty(), "{kind:?}");
    }
}

/// The service's own key, told but not proven, spares nobody the question.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_only_told_spares_nobody_the_question() {
    let world = Arc::new(World::new(None));
    let server = Server::start(Kind::Leaf, &world.setup(""));
    let seen = serve(&server, &world).await;
    let (jwt, nkey) = (world.sentinel.jwt.clone(), world.service.key.public_key());
    tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let connect = serde_json::json!({ "jwt": jwt, "nkey": nkey, "user": "denied" });
        write!(stream, "CONNECT {connect}\r\nPING\r\n").unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        assert_eq!(lines.last().unwrap(), "-ERR 'Authorization Violation'");
    })
    .await
    .unwrap();
    assert_eq!(seen.lock().unwrap().len(), 1);
}
