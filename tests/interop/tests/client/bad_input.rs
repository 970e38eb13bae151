//! What a server has to take without losing anything acked, and go on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::process::Command;
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::{self, Context, stream};
use interop::{Kind, Server, Setup, run, wait_for_async};

const BOUND: Duration = Duration::from_secs(20);
/// Unoptimised servers take their time over a hundred megabytes.
const JSON_BOUND: Duration = Duration::from_secs(60);
const HALF_OPEN: usize = 1000;
const MIB: u64 = 1024 * 1024;

async fn context(server: &Server) -> Context {
    let mut context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    context.set_timeout(Duration::from_secs(3));
    context
}

async fn with_stream(server: &Server) -> Context {
    let context = context(server).await;
    let config = stream::Config {
        name: "S".into(),
        subjects: vec!["s.*".into()],
        ..Default::default()
    };
    context.create_stream(config).await.unwrap();
    context
}

async fn publish(context: &Context, payload: Vec<u8>) -> Option<u64> {
    Some(
        context
            .publish("s.1", payload.into())
            .await
            .ok()?
            .await
            .ok()?
            .sequence,
    )
}

async fn last_sequence(context: &Context) -> u64 {
    context
        .get_stream("S")
        .await
        .unwrap()
        .info()
        .await
        .unwrap()
        .state
        .last_sequence
}

/// The server serves: a new client is greeted and answered.
fn serves(server: &Server) {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
        .write_all(b"CONNECT {\"verbose\":false}\r\nPING\r\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(
        lines.any(|line| line == "PONG"),
        "the server no longer serves"
    );
}

#[test]
fn a_thousand_half_open_sockets_are_only_sockets() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let before = server.usage().rss_bytes;
    let silent: Vec<TcpStream> = (0..HALF_OPEN)
        .map(|_| TcpStream::connect(server.addr()).unwrap())
        .collect();
    let mut halves: Vec<TcpStream> = (0..100)
        .map(|_| TcpStream::connect(server.addr()).unwrap())
        .collect();
    for half in &mut halves {
        half.write_all(b"CONNECT {\"verbose\":fal").unwrap();
    }
    serves(&server);
    let grown = server.usage().rss_bytes.saturating_sub(before);
    assert!(
        grown < 64 * MIB,
        "{grown} bytes for {} silent connections",
        silent.len() + halves.len()
    );
}

#[tokio::test]
async fn a_hundred_megabytes_of_json_are_refused_in_words() {
    let config = "listen: \"127.0.0.1:-1\"\nmax_payload: 134217728\nmax_pending: 268435456\njetstream { store_dir: \"$DIR/js\" }\n";
    let server = Server::start(Kind::Leaf, &Setup::config(config));
    let options = ConnectOptions::new().request_timeout(None);
    let client = options.connect(server.url()).await.unwrap();
    let mut body = b"{\"name\":\"S\",\"description\":\"".to_vec();
    body.resize(100 * 1024 * 1024, b'x');
    body.extend_from_slice(b"\"}");
    let request = client.request("$JS.API.STREAM.CREATE.S", body.into());
    let answer = tokio::time::timeout(JSON_BOUND, request)
        .await
        .unwrap()
        .unwrap();
    let answer = String::from_utf8_lossy(&answer.payload).into_owned();
    assert!(answer.contains("\"err_code\":"), "{answer}");
    with_stream(&server).await;
    serves(&server);
}

#[tokio::test]
async fn a_data_directory_belongs_to_one_process() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let context = with_stream(&server).await;
    let store = server.dir().join("js").display().to_string();
    let second = run(Command::new(Kind::Leaf.binary()).args([
        "-a",
        "127.0.0.1",
        "-p",
        "-1",
        "-js",
        "-sd",
        &store,
    ]));
    assert!(!second.status.success(), "{}", second.text);
    assert!(second.text.contains("in use"), "{}", second.text);
    assert_eq!(publish(&context, b"x".to_vec()).await, Some(1));
}

#[test]
fn a_data_directory_that_can_t_be_made_is_named() {
    for path in ["/proc/frond", "/dev/null/frond"] {
        let ended = run(Command::new(Kind::Leaf.binary()).args([
            "-a",
            "127.0.0.1",
            "-p",
            "-1",
            "-js",
            "-sd",
            path,
        ]));
        assert!(!ended.status.success(), "{}", ended.text);
        assert!(ended.text.contains(path), "{}", ended.text);
    }
}

/// A file size limit stands for the disk that takes no more: writes beyond it fail, without any privilege.
#[tokio::test]
async fn a_disk_that_takes_no_more_loses_nothing_acked() {
    const LIMITED: &str = "trap '' XFSZ; ulimit -f 40960; exec \"$0\" \"$@\"";
    let mut server = Server::start(
        Kind::Leaf,
        &Setup::jetstream().through(["sh", "-c", LIMITED]),
    );
    let mut acked = 0;
    {
        let context = with_stream(&server).await;
        for n in 0..2000_u64 {
            let mut payload = n.to_le_bytes().to_vec();
            payload.resize(64 * 1024, u8::try_from(n % 251).unwrap());
            match publish(&context, payload).await {
                Some(sequence) => acked = sequence,
                None => break,
            }
        }
    }
    assert!(acked > 0 && acked < 2000, "{acked} publishes were acked");
    serves(&server);
    server.kill();
    server.restart_as(|setup| setup.through([]));
    let context = context(&server).await;
    assert!(
        last_sequence(&context).await >= acked,
        "acked messages are gone"
    );
    wait_for_async("publishes to be taken again", BOUND, async || {
        publish(&context, b"x".to_vec()).await
    })
    .await;
}

/// Damages each of the store's files in turn, in a copy of its own: the server starts and says what it found, or refuses
/// and names the place; it neither hangs nor serves in silence.
#[tokio::test]
async fn damaged_files_are_spoken_of() {
    // Past the headers, inside what 300 messages have written: in the journal past what the first
    // fold, soon after the start, has made free; in the block store what that fold wrote.
    for (name, at, bytes) in [
        ("journal", 1000 * 1024, 700),
        ("blocks.redb", 8 * 1024, 256 * 1024),
    ] {
        let mut server = Server::start(Kind::Leaf, &Setup::jetstream());
        let context = with_stream(&server).await;
        for n in 1..=300_u64 {
            assert_eq!(publish(&context, vec![b'x'; 200]).await, Some(n));
        }
        server.kill();
        let path = server.dir().join("js/jetstream").join(name);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&vec![0xa5; bytes], at).unwrap();
        let start = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.restart()));
        let said = match start {
            Ok(()) => {
                serves(&server);
                server.log()
            }
            Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        let spoken = ["corrupt", "damage", "lost", "hole", "checksum"]
            .iter()
            .any(|word| said.to_lowercase().contains(word));
        assert!(
            spoken,
            "{}: nothing said of the damage:\n{said}",
            path.display()
        );
    }
}
