//! An authorization service that knows a few users.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::{ConnectOptions, Message};
use data_encoding::BASE64URL_NOPAD;
use futures_util::StreamExt as _;
use interop::Server;
use nkeys::{KeyPair, XKey};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const BOUND: Duration = Duration::from_secs(10);

/// What the service signs and opens with.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) issuer: Arc<KeyPair>,
    pub(crate) xkey: Arc<XKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealing {
    Open,
    Sealed,
}

/// Runs until it is dropped.
pub(crate) struct Service {
    requests: mpsc::UnboundedReceiver<Value>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            issuer: Arc::new(KeyPair::new_account()),
            xkey: Arc::new(XKey::new()),
        }
    }
}

impl Service {
    pub(crate) async fn start(server: &Server, keys: Keys, sealing: Sealing) -> Self {
        let options = ConnectOptions::with_user_and_password("auth".into(), "auth".into());
        let client = options.connect(server.url()).await.unwrap();
        let mut questions = client.subscribe("$SYS.REQ.USER.AUTH").await.unwrap();
        client.flush().await.unwrap();
        let (seen, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(message) = questions.next().await {
                let (claims, sender) = read(&message, &keys, sealing);
                let user = claims["nats"]["connect_opts"]["user"].as_str().unwrap();
                let answer = answer(user, &claims, &keys);
                let _ = seen.send(claims.clone());
                let Some(text) = answer else { continue };
                let payload = match sender {
                    Some(sender) if !text.is_empty() => {
                        keys.xkey.seal(text.as_bytes(), &sender).unwrap()
                    }
                    Some(_) | None => text.into_bytes(),
                };
                let reply = message.reply.unwrap();
                client.publish(reply, payload.into()).await.unwrap();
                client.flush().await.unwrap();
            }
        });
        Self { requests, task }
    }

    /// The claims of the next request.
    pub(crate) async fn seen(&mut self) -> Value {
        let next = tokio::time::timeout(BOUND, self.requests.recv());
        next.await.expect("a request").unwrap()
    }
}

/// The claims of a request, whose signature is checked, and the key a sealed one came from.
fn read(message: &Message, keys: &Keys, sealing: Sealing) -> (Value, Option<XKey>) {
    let sender = message.headers.as_ref().map(|headers| {
        let key = headers.get("Nats-Server-Xkey").unwrap();
        XKey::from_public_key(key.as_str()).unwrap()
    });
    assert_eq!(sender.is_some(), sealing == Sealing::Sealed);
    let text = match &sender {
        Some(sender) => keys.xkey.open(&message.payload, sender).unwrap(),
        None => message.payload.to_vec(),
    };
    let text = String::from_utf8(text).unwrap();
    let (signed, signature) = text.rsplit_once('.').unwrap();
    let claims = BASE64URL_NOPAD
        .decode(signed.split_once('.').unwrap().1.as_bytes())
        .unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let server = KeyPair::from_public_key(claims["iss"].as_str().unwrap()).unwrap();
    let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
    server.verify(signed.as_bytes(), &signature).unwrap();
    (claims, sender)
}

/// What is said of each user; `None` is nothing at all.
fn answer(user: &str, request: &Value, keys: &Keys) -> Option<String> {
    let key = request["nats"]["user_nkey"].as_str().unwrap();
    let other = KeyPair::new_user().public_key();
    let mut claims = json!({
        "sub": key, "aud": "APP", "name": user,
        "nats": {
            "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
            "pub": { "allow": ["app.>", "_INBOX.>"] }, "sub": { "allow": ["app.>", "_INBOX.>"] },
        },
    });
    let mut signer = Arc::clone(&keys.issuer);
    match user {
        "silent" => return None,
        "empty" => return Some(String::new()),
        "garbage" => return Some("eyJ.x".to_owned()),
        "denied" => {
            let refusal =
                json!({ "type": "authorization_response", "version": 2, "error": "no such user" });
            return Some(signed(&respond(request, refusal), &keys.issuer));
        }
        "other-key" => claims["sub"] = other.into(),
        "other-issuer" => signer = Arc::new(KeyPair::new_account()),
        "nowhere" => claims["aud"] = "NOPE".into(),
        "expired" => claims["exp"] = (now() - 10).into(),
        "brief" => claims["exp"] = (now() + 4).into(),
        "leaf-only" => claims["nats"]["allowed_connection_types"] = json!(["LEAFNODE"]),
        "nightly" => {
            claims["nats"]["times"] = json!([{ "start": "00:00:00", "end": "00:00:00" }]);
        }
        "service2" => {
            claims["aud"] = "AUTH".into();
            claims["nats"]["pub"] = json!({});
        }
        _ => {}
    }
    let token = signed(&claims, &signer);
    let mut answer = respond(
        request,
        json!({ "type": "authorization_response", "version": 2, "jwt": token }),
    );
    if user == "other-server" {
        answer["aud"] = KeyPair::new_server().public_key().into();
    }
    Some(signed(&answer, &keys.issuer))
}

fn respond(request: &Value, nats: Value) -> Value {
    let (user, server) = (
        &request["nats"]["user_nkey"],
        &request["nats"]["server_id"]["id"],
    );
    json!({ "sub": user, "aud": server, "nats": nats })
}

fn signed(claims: &Value, by: &KeyPair) -> String {
    let mut claims = claims.clone();
    claims["iss"] = by.public_key().into();
    claims["iat"] = now().into();
    let header = BASE64URL_NOPAD.encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let body = BASE64URL_NOPAD.encode(claims.to_string().as_bytes());
    let text = format!("{header}.{body}");
    let signature = BASE64URL_NOPAD.encode(&by.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

#[expect(clippy::disallowed_methods, reason = "tokens hold for a time")]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
