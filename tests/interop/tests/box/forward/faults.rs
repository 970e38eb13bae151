//! What others do to a block: who writes beside it at the hub, who publishes strange headers and
//! sizes here, and who tidies up.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use futures_util::StreamExt as _;

use super::*;

/// Publishes bytes as they are, with an ack: header and payload.
fn say_raw(leaf: &Server, subject: &str, header: &[u8], payload: &[u8]) {
    let mut line = TcpStream::connect(leaf.addr()).unwrap();
    line.set_read_timeout(Some(BOUND)).unwrap();
    let (head, total) = (header.len(), header.len() + payload.len());
    let mut said = b"CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB r 1\r\n".to_vec();
    said.extend_from_slice(format!("HPUB {subject} r {head} {total}\r\n").as_bytes());
    said.extend_from_slice(&[header, payload, b"\r\n"].concat());
    line.write_all(&said).unwrap();
    let mut heard = Vec::new();
    while !heard.windows(9).any(|it| it == b"\"stream\":") {
        let mut some = [0; 4_096];
        let count = line.read(&mut some).unwrap();
        assert!(count > 0, "{:?}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&some[..count]);
    }
    assert!(!heard.windows(6).any(|it| it == b"\"error"), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_beside_it_at_the_hub_takes_nothing_away() {
    for kind in [Kind::Real, Kind::Hub] {
        let it = Box::start(kind, &block(""));
        it.is("settled");
        let (leaf, hub) = (client(&it.leaf).await, client(&it.hub).await);
        for n in 0..2_000_u32 {
            leaf.publish("sales.a", n.to_string().into()).await.unwrap();
            if n % 20 == 0 {
                leaf.flush().await.unwrap();
                let stray = "$FWD.shop.SALES.stray";
                hub.publish(stray, "stray".into()).await.unwrap();
                hub.flush().await.unwrap();
            }
        }
        leaf.flush().await.unwrap();
        it.until("all", |told| {
            told["arrived_messages"] == 2_000 && told["backlog_messages"] == 0
        });
        let mut all = at_hub(&hub).await;
        all.retain(|it| it != "stray");
        let once: BTreeSet<&String> = all.iter().collect();
        assert_eq!((once.len(), all.len()), (2_000, 2_000), "{}", kind.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_publisher_writes_into_a_header_the_message_goes_as_it_is() {
    let headers: [&[u8]; 5] = [
        b"NATS/1.0\r\nNats-Sequence: 2\r\nNats-Subject: sales.vip\r\nNats-Num-Pending: 0\r\n\r\n",
        b"NATS/1.0\r\nNats-Sequence: 99999\r\nNats-Msg-Size: 99999999\r\n\r\n",
        b"NATS/1.0\r\nName: M\xfcller\r\n\r\n",
        b"NATS/1.0 404 No\r\nA: b\r\n\r\n",
        b"NATS/1.0 503\r\n\r\n",
    ];
    for kind in [Kind::Real, Kind::Hub] {
        let mut it = Box::start(kind, &block(""));
        it.is("settled");
        let leaf = client(&it.leaf).await;
        let mut want = Vec::new();
        for is_up in [true, false] {
            if !is_up {
                it.hub.kill();
            }
            for (n, header) in headers.iter().enumerate() {
                say_raw(
                    &it.leaf,
                    "sales.evil",
                    header,
                    format!("{n} {is_up}").as_bytes(),
                );
                want.push(("sales.evil".to_owned(), format!("{n} {is_up}")));
                let number = 10 * u32::try_from(n).unwrap();
                say(&leaf, "sales.vip", number..number + 1).await;
                want.push(("sales.vip".to_owned(), number.to_string()));
            }
            if is_up {
                it.until("the first ones", |told| told["arrived_messages"] == 10);
            }
        }
        it.hub.restart();
        it.is("settled");
        let hub = client(&it.hub).await;
        let all = messages(&hub, STREAM).await;
        let subject = |it: &Value| it["subject"].as_str().unwrap().to_owned();
        let all: Vec<_> = all
            .iter()
            .map(|it| (subject(it), text(it, "data")))
            .collect();
        assert_eq!(all, want, "{}", kind.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_line_cannot_carry_is_set_aside_and_holds_nothing_up() {
    for kind in [Kind::Real, Kind::Hub] {
        let it = Box::with(kind, &block(""), "max_payload: 4MB", "");
        it.is("settled");
        let leaf = client(&it.leaf).await;
        // With what is added it would be more than this box can say: it is not taken at all.
        let whole = "x".repeat(4 * 1024 * 1024 - 20);
        let ack = leaf.request("sales.whole", whole.into()).await.unwrap();
        let ack: Value = serde_json::from_slice(&ack.payload).unwrap();
        assert_eq!(ack["error"]["err_code"], 10_054, "{ack}");
        // More than the hub takes.
        let large = "x".repeat(2 * 1024 * 1024);
        let ack = leaf.request("sales.large", large.into()).await.unwrap();
        assert!(ack.payload.starts_with(b"{\"stream\""), "{ack:?}");
        say(&leaf, "sales.a", 0..5).await;
        let told = it.until("the rest", |told| {
            told["arrived_messages"] == 5 && told["state"] == "trouble"
        });
        assert_eq!(
            (&told["refused"], &told["backlog_messages"]),
            (&1.into(), &1.into())
        );
        assert!(
            told["trouble"].as_str().unwrap().contains("set aside"),
            "{told}"
        );
        say(&leaf, "sales.a", 5..6).await;
        it.until("one more", |told| told["arrived_messages"] == 6);
        let hub = client(&it.hub).await;
        assert_eq!(at_hub(&hub).await, ["0", "1", "2", "3", "4", "5"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_deletes_on_the_box_is_made_again() {
    let it = Box::start(Kind::Hub, &block(""));
    it.is("settled");
    let leaf = client(&it.leaf).await;
    say(&leaf, "sales.a", 0..1).await;
    it.until("the first", |told| told["arrived_messages"] == 1);
    let names = ask(&leaf, "$JS.API.CONSUMER.NAMES.SALES", Value::Null).await;
    for name in names["consumers"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        let subject = format!("$JS.API.CONSUMER.DELETE.SALES.{name}");
        assert_eq!(ask(&leaf, &subject, Value::Null).await["success"], true);
    }
    say(&leaf, "sales.a", 1..4).await;
    it.until("those nobody told of", |told| told["arrived_messages"] == 4);
    for stream in ["SALES", "FROND_FORWARD"] {
        let subject = format!("$JS.API.STREAM.DELETE.{stream}");
        assert_eq!(ask(&leaf, &subject, Value::Null).await["success"], true);
    }
    wait_for_async("the stream", BOUND, async || {
        let info = ask(&leaf, "$JS.API.STREAM.INFO.SALES", Value::Null).await;
        info["error"].is_null().then_some(())
    })
    .await;
    say(&leaf, "sales.a", 4..6).await;
    it.until("the last ones", |told| told["arrived_messages"] == 6);
    let hub = client(&it.hub).await;
    assert_eq!(at_hub(&hub).await, ["0", "1", "2", "3", "4", "5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_boxes_of_an_account_keep_each_only_its_own() {
    for kind in [Kind::Real, Kind::Hub] {
        let it = Box::start(kind, &block(""));
        let http = format!("127.0.0.1:{}", free_port());
        let text = config(it.line.port(), &http, &block(""), "");
        let other = Server::start(Kind::Leaf, &Pair::setup("other", &text));
        it.is("settled");
        let (leaf, second, hub) = (
            client(&it.leaf).await,
            client(&other).await,
            client(&it.hub).await,
        );
        wait_for("the other box", BOUND, || {
            let (_, body) = http_get(&http, "/status.json");
            let status: Value = serde_json::from_str(&body).ok()?;
            (status["forwards"][0]["state"] == "settled").then_some(())
        });
        say(&leaf, "sales.a", 0..30).await;
        say(&second, "sales.a", 30..60).await;
        for (stream, range) in [(STREAM, 0..30), ("FWD_other_SALES", 30..60)] {
            interop::streams::holds(&hub, stream, 30, BOUND).await;
            let want: Vec<String> = range.map(|n: u32| n.to_string()).collect();
            assert_eq!(interop::streams::payloads(&hub, stream).await, want);
        }
    }
}

/// A hub that is away costs nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_not_charged() {
    let mut it = Box::start(Kind::Hub, &block("budget: \"5MB/day\""));
    it.is("settled");
    it.hub.kill();
    let leaf = client(&it.leaf).await;
    // It is with something to send that the block asks for the hub.
    say(&leaf, "sales.a", 0..1).await;
    let before = it.is("hub_away")["budget_used"].clone();
    say(&leaf, "sales.a", 1..300).await;
    let told = it.kept(300);
    assert_eq!(
        (&told["budget_used"], &told["state"]),
        (&before, &"hub_away".into())
    );
}

/// Without its block a stream keeps what is said here, and nothing of what other boxes say.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_lost_its_block_hears_no_other_box() {
    for kind in [Kind::Real, Kind::Hub] {
        let mut it = Box::start(kind, &block(""));
        let port = it.line.port();
        let http = format!("127.0.0.1:{}", free_port());
        let text = config(port, &http, "", "");
        let other = Server::start(Kind::Leaf, &Pair::setup("other", &text));
        it.is("settled");
        let client_at = it.leaf.addr();
        let setup = |block: &str| {
            let more = config(port, &it.http, block, "");
            format!(
                "server_name: shop\nlisten: \"{client_at}\"\n\
                 jetstream {{ store_dir: \"$DIR/js\", domain: shop }}\n{more}\n"
            )
        };
        let (without, with) = (setup(""), setup(&block("")));
        it.leaf.reload(&without);
        wait_for("no block", BOUND, || it.told().is_none().then_some(()));
        let strange = client(&other).await;
        for is_restarted in [false, true] {
            if is_restarted {
                it.leaf.terminate();
                it.leaf.restart();
            }
            let leaf = client(&it.leaf).await;
            let mut marks = leaf.subscribe("mark").await.unwrap();
            leaf.flush().await.unwrap();
            // What is said there comes here in order, as soon as the line is up.
            wait_for_async("the line", BOUND, async || {
                strange.publish("sales.a", "strange".into()).await.ok()?;
                strange.publish("mark", "".into()).await.ok()?;
                let one = tokio::time::timeout(Duration::from_millis(300), marks.next()).await;
                one.ok().flatten().map(|_| ())
            })
            .await;
        }
        let leaf = client(&it.leaf).await;
        say(&leaf, "sales.a", 0..3).await;
        it.leaf.reload(&with);
        it.until("its own", |told| told["arrived_messages"] == 3);
        let hub = client(&it.hub).await;
        assert_eq!(at_hub(&hub).await, ["0", "1", "2"], "{kind:?}");
    }
}

/// Whoever may make streams here writes into them what he likes: nothing of the hub's is shut out by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_calls_itself_a_blocks_shuts_nothing_out() {
    let mut it = Box::start(Kind::Hub, &block(""));
    it.is("settled");
    let leaf = client(&it.leaf).await;
    let made = ask(
        &leaf,
        "$JS.API.STREAM.CREATE.FORGED",
        json!({
            "name": "FORGED", "subjects": ["work.>"], "storage": "file",
            "metadata": { "frond.forward": "from" },
        }),
    )
    .await;
    assert!(made["error"].is_null(), "{made}");
    let client_at = it.leaf.addr();
    let more = config(it.line.port(), &it.http, &block("order: newest"), "");
    it.leaf.reload(&format!(
        "server_name: shop\nlisten: \"{client_at}\"\n\
         jetstream {{ store_dir: \"$DIR/js\", domain: shop }}\n{more}\n"
    ));
    for is_restarted in [false, true] {
        if is_restarted {
            it.leaf.terminate();
            it.leaf.restart();
        }
        it.is("settled");
        let (leaf, hub) = (client(&it.leaf).await, client(&it.hub).await);
        let mut heard = leaf.subscribe("work.a").await.unwrap();
        leaf.flush().await.unwrap();
        wait_for_async("what the hub says", BOUND, async || {
            hub.publish("work.a", "for the shop".into()).await.ok()?;
            let one = tokio::time::timeout(Duration::from_millis(300), heard.next()).await;
            one.ok().flatten().map(|_| ())
        })
        .await;
    }
}
