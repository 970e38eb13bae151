//! The status page: in a browser, and who may see it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use data_encoding::BASE64;
use interop::{Browser, Kind, Server, Setup, free_port, http_get, http_say, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const DESK: (u32, u32) = (1100, 1400);
const PHONE: (u32, u32) = (500, 2000);

/// A bakery with a till and a scale.
struct Shop {
    _server: Server,
    http: String,
    devices: Vec<async_nats::Client>,
}

impl Shop {
    async fn open(setup: impl FnOnce(&str) -> Setup) -> Self {
        let http = format!("127.0.0.1:{}", free_port());
        let server = Server::start(Kind::Leaf, &setup(&http));
        let mut devices = Vec::new();
        for name in ["till 1", "scale"] {
            let options = async_nats::ConnectOptions::new().name(name);
            devices.push(options.connect(server.url()).await.unwrap());
        }
        let shop = Self {
            _server: server,
            http,
            devices,
        };
        let stream = r#"{"name":"ORDERS","subjects":["orders.>"],"storage":"file"}"#;
        shop.ask("$JS.API.STREAM.CREATE.ORDERS", stream).await;
        for _ in 0..20 {
            shop.ask("orders.new", "two rolls").await;
        }
        shop
    }

    async fn ask(&self, subject: &str, payload: impl Into<bytes::Bytes>) -> Value {
        let asked = self.devices[0].request(subject.to_owned(), payload.into());
        let answer = tokio::time::timeout(BOUND, asked).await.expect(subject);
        serde_json::from_slice(&answer.unwrap().payload).unwrap()
    }

    fn status(&self) -> Value {
        let (code, body) = http_get(&self.http, "/status.json");
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Waits for a condition, looks at the page then, and keeps pictures.
    fn looks(&self, condition: &str) -> String {
        wait_for(condition, BOUND, || {
            (self.status()["condition"] == condition).then_some(())
        });
        let browser = Browser::default();
        let url = format!("http://{}/status", self.http);
        browser.picture(&url, DESK, &format!("status-{condition}-desk"));
        browser.picture(&url, PHONE, &format!("status-{condition}-phone"));
        browser.document(&url)
    }
}

fn config(http: &str, more: &str) -> String {
    format!(
        "server_name: bakery-12\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\n\
         jetstream {{ store_dir: \"$DIR/js\", max_file_store: 1GB }}\n{more}\n"
    )
}

fn shows(page: &str, words: &[&str]) {
    for word in words {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_that_is_well_says_so() {
    let hub_port = free_port();
    let hub = format!("listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{hub_port}\" }}");
    let _hub = Server::start(Kind::Real, &Setup::config(&hub));
    let more = format!("leafnodes {{ remotes: [ {{ url: \"nats://127.0.0.1:{hub_port}\" }} ] }}");
    let shop = Shop::open(|http| Setup::config(&config(http, &more))).await;
    let page = shop.looks("online");
    shows(
        &page,
        &[
            "bakery-12",
            "All is well",
            "Connected",
            "till 1",
            "scale",
            "ORDERS",
            "lamp online",
        ],
    );
    assert!(!page.contains("null") || !page.contains(">null<"), "{page}");
    assert_eq!(shop.status()["devices"]["count"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_down_is_told_with_what_to_do() {
    let more = format!(
        "leafnodes {{ remotes: [ {{ url: \"nats://127.0.0.1:{}\" }} ] }}",
        free_port()
    );
    let shop = Shop::open(|http| Setup::config(&config(http, &more))).await;
    let page = shop.looks("local_only");
    shows(
        &page,
        &[
            "The line is down",
            "Nobody answers at 127.0.0.1",
            "the head office does not answer",
            "connection refused",
        ],
    );
    // Dials come and go; the line has been down all the time.
    let since = || shop.status()["lines"][0]["since"].clone();
    let attempts = || shop.status()["lines"][0]["attempts"].as_u64().unwrap();
    let (first, tried) = (since(), attempts());
    wait_for("two more dials", BOUND, || {
        (attempts() >= tried + 2).then_some(())
    });
    assert_eq!(since(), first);
}

/// A file system of its own, which only the server sees.
const SMALL_DISK: &str = "mkdir -p js && mount -t tmpfs -o size=40m none js && exec \"$0\" \"$@\"";

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_is_a_fault() {
    let shop = Shop::open(|http| {
        Setup::config(&config(http, "")).through(["unshare", "-rm", "sh", "-c", SMALL_DISK])
    })
    .await;
    let large = vec![b'x'; 100_000];
    let mut taken = 0;
    while shop.ask("orders.new", large.clone()).await["error"].is_null() {
        taken += 1;
        assert!(taken < 1000, "it never is full");
    }
    let page = shop.looks("fault");
    shows(
        &page,
        &["Something does not work", "The storage is full", "ORDERS"],
    );
}

/// The status code and the head of the answer to somebody who believes to talk to `host`.
fn ask(http: &str, path: &str, host: &str, login: &str) -> (u16, String) {
    let login = match login {
        "" => String::new(),
        login => format!(
            "Authorization: Basic {}\r\n",
            BASE64.encode(login.as_bytes())
        ),
    };
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n{login}\r\n");
    let (code, head, _) = http_say(http, &request);
    assert!(!head.contains("Access-Control-Allow-Origin"), "{head}");
    assert_eq!(
        head.contains("WWW-Authenticate: Basic"),
        code == 401,
        "{head}"
    );
    (code, head)
}

fn guarded(users: &str) -> (Server, String) {
    let http = format!("127.0.0.1:{}", free_port());
    let server = Server::start(Kind::Leaf, &Setup::config(&config(&http, users)));
    (server, http)
}

/// Of "crust".
const HASH: &str = "$2a$04$abcdefghijklmnopqrstuuECU8aI9fnx871.fSZgB0fWPYIMUwe0i";

/// A browser that was led here by a name from elsewhere is as strange as one in the network.
#[test]
fn only_the_box_and_its_users_see_it() {
    let users = format!(
        "accounts {{ A {{ jetstream: enabled, users: [ {{ user: plain, password: crumb }}, \
         {{ user: hashed, password: \"{HASH}\" }} ] }} }}\nno_auth_user: plain"
    );
    let (server, http) = guarded(&users);
    let codes = |cases: &[(&str, &str, u16)]| {
        for (host, login, code) in cases {
            for path in ["/status", "/status.json"] {
                assert_eq!(
                    ask(&http, path, host, login).0,
                    *code,
                    "{path} {host} {login}"
                );
            }
        }
    };
    codes(&[
        (&http, "", 200),
        ("localhost", "", 200),
        ("bakery.example", "", 401),
        ("bakery.example", ":", 401),
        ("bakery.example", "plain:", 401),
        ("bakery.example", "plain:crumb", 200),
        ("bakery.example", "hashed:crust", 200),
    ]);
    for wrong in ["plain:crust", "hashed:crumb", "nobody:crumb"] {
        let refused = || ask(&http, "/status", "bakery.example", wrong).0;
        wait_for("a look at a wrong login", BOUND, || {
            (refused() == 401).then_some(())
        });
        // Whoever guesses does not hear that the next guess is right.
        codes(&[("bakery.example", "plain:crumb", 429), (&http, "", 200)]);
    }
    let right = || ask(&http, "/status", "bakery.example", "hashed:crust").0;
    wait_for("the right login", BOUND, || (right() == 200).then_some(()));
    let told = "127.0.0.1 - status page - authentication error - User \"nobody\"";
    assert!(server.log().contains(told), "{}", server.log());
    assert!(!server.log().contains("crumb") && !server.log().contains("crust"));
    // What a proxy on the box passes on is not asked for by who sits at it.
    let passed =
        format!("GET /status HTTP/1.0\r\nHost: {http}\r\nX-Forwarded-For: 10.0.0.7\r\n\r\n");
    assert_eq!(http_say(&http, &passed).0, 401);
    // nats-server's documents are as open as they were.
    let open = http_say(&http, "GET /varz HTTP/1.0\r\nHost: bakery.example\r\n\r\n");
    assert_eq!(open.0, 200);
}

#[test]
fn a_box_without_passwords_shows_it_to_nobody_else() {
    let nkey = "UD466L6EBCM3YY5HEGHJANNTN4LSKTSUXTH7RILHCKEQMQHTBNLHJJXT";
    for users in [
        String::new(),
        format!("authorization {{ users: [ {{ nkey: {nkey} }} ] }}"),
    ] {
        let (_server, http) = guarded(&users);
        assert_eq!(
            ask(&http, "/status", "bakery.example", "plain:crumb").0,
            403,
            "{users}"
        );
        assert_eq!(ask(&http, "/status", "127.0.0.1", "").0, 200, "{users}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_see_what_is_of_their_account() {
    let users = "accounts { A { users: [ { user: a, password: a } ] }, \
                 B { users: [ { user: b, password: b } ] }, \
                 SYS { users: [ { user: s, password: s } ] } }\nsystem_account: SYS";
    let (server, http) = guarded(users);
    let options = async_nats::ConnectOptions::with_user_and_password("a".into(), "a".into());
    let _till = options.name("till 1").connect(server.url()).await.unwrap();
    for (login, count) in [("a:a", 1), ("b:b", 0), ("s:s", 1)] {
        let login = BASE64.encode(login.as_bytes());
        let head = format!("Host: bakery.example\r\nAuthorization: Basic {login}\r\n");
        let (code, _, body) = http_say(&http, &format!("GET /status.json HTTP/1.0\r\n{head}\r\n"));
        assert_eq!(code, 200, "{body}");
        let status: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status["devices"]["count"], count, "{login}");
    }
}
