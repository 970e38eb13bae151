use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

/// A server that says one thing after another, each to one caller, and keeps what it was asked.
struct Site {
    url: String,
    ca_file: String,
    asked: JoinHandle<Vec<String>>,
    _dir: tempfile::TempDir,
}

/// Whether it says goodbye after what it said.
#[derive(Clone, Copy)]
enum End {
    Orderly,
    Cut,
}

fn site(answers: Vec<(String, End)>) -> Site {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ca_file = dir.path().join("ca.pem");
    std::fs::write(&ca_file, own.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let rules = Tls::default();
    let provider = Arc::new(crate::tls::provider(&rules).unwrap());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = std::thread::spawn(move || {
        let serve = |(answer, end): (String, End)| {
            let (stream, _) = listener.accept().unwrap();
            one(stream, &config, &answer, end)
        };
        answers.into_iter().map(serve).collect()
    });
    Site {
        url: format!("https://localhost:{port}/till-7.frond"),
        ca_file: ca_file.display().to_string(),
        asked,
        _dir: dir,
    }
}

fn one(stream: TcpStream, config: &Arc<ServerConfig>, answer: &str, end: End) -> String {
    let session = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = StreamOwned::new(session, stream);
    let mut asked = Vec::new();
    let mut byte = [0];
    while !asked.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => asked.extend_from_slice(&byte),
            Ok(_) | Err(_) => return String::new(),
        }
    }
    // Who has heard enough hangs up.
    let _ = stream.write_all(answer.as_bytes());
    if let End::Orderly = end {
        stream.conn.send_close_notify();
    }
    let _ = stream.flush();
    String::from_utf8(asked).unwrap()
}

fn download(site: &Site) -> Download {
    Download {
        url: site.url.clone(),
        ca_file: Some(site.ca_file.clone()),
        tag: None,
        bytes_max: 100,
        time_max: Duration::from_secs(30),
    }
}

fn body(length: usize, head: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{head}\r\n{}", "x".repeat(length))
}

#[test]
fn what_is_there_comes_whole_and_once() {
    let answers = vec![
        (
            body(100, "ETag: \"one\"\r\nContent-Length: 100\r\n"),
            End::Cut,
        ),
        ("HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(), End::Orderly),
        (
            "HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n".to_owned(),
            End::Orderly,
        ),
        (body(7, ""), End::Orderly),
    ];
    let site = site(answers);
    let mut download = download(&site);
    let mut got = Vec::new();
    let first = download.run(&mut got).unwrap();
    let tag = Some("\"one\"".to_owned());
    let whole = Downloaded::Whole {
        tag: tag.clone(),
        bytes: 100,
    };
    assert_eq!((first, got.len()), (whole, 100));
    download.tag = tag;
    assert_eq!(download.run(&mut got), Ok(Downloaded::Unchanged));
    download.tag = None;
    got.clear();
    let moved = download.run(&mut got).unwrap();
    let whole = Downloaded::Whole {
        tag: None,
        bytes: 7,
    };
    assert_eq!((moved, got.len()), (whole, 7));
    let asked = site.asked.join().unwrap();
    assert!(
        asked[0].starts_with("GET /till-7.frond HTTP/1.0\r\n"),
        "{asked:?}"
    );
    assert!(asked[1].contains("If-None-Match: \"one\"\r\n"), "{asked:?}");
    assert!(asked[3].starts_with("GET /b "), "{asked:?}");
}

#[test]
fn what_is_too_long_cut_short_or_elsewhere_is_none() {
    for (answer, end, why) in [
        (body(101, ""), End::Orderly, "longer than 100 bytes"),
        (
            body(0, "Content-Length: 101\r\n"),
            End::Orderly,
            "longer than 100 bytes",
        ),
        (body(50, ""), End::Cut, "was cut"),
        (
            body(50, "Content-Length: 60\r\n"),
            End::Orderly,
            "after 50 of 60",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://localhost/b\r\n\r\n".to_owned(),
            End::Orderly,
            "is not https",
        ),
    ] {
        let site = site(vec![(answer, end)]);
        let said = download(&site).run(&mut Vec::new()).unwrap_err();
        assert!(said.contains(why) && said.contains(&site.url), "{said}");
    }
}

#[test]
fn who_shows_another_certificate_is_not_asked() {
    let site = site(vec![(body(7, ""), End::Orderly)]);
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&site.ca_file, other.cert.pem()).unwrap();
    let said = download(&site).run(&mut Vec::new()).unwrap_err();
    assert!(said.contains("tls: "), "{said}");
    assert_eq!(site.asked.join().unwrap(), [""]);
}
