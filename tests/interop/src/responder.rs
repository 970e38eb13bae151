//! Answers whether certificates of a [`Pki`] are still good, over HTTP on loopback.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64, Encoding};
use frond_clock::Timestamp;
use frond_ocsp::der::{BIT_STRING, Der, ENUMERATED, GENERALIZED_TIME, INTEGER, OCTET_STRING, OID};
use frond_ocsp::der::{SEQUENCE, put};
use rcgen::{KeyPair, SigningKey as _};

use crate::pki::Pki;

/// What is said of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// It is good.
    Good,
    /// It was taken back.
    Revoked,
    /// Nobody knows it.
    Unknown,
    /// Nothing: the connection ends.
    Nothing,
    /// That the responder will not say.
    Refusal,
    /// That it is good, signed by somebody else.
    Forged,
    /// That it was good long ago.
    Old,
}

/// A responder; it goes with the process.
#[derive(Debug)]
pub struct Responder {
    url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    said: BTreeMap<u8, Said>,
    good_for: Duration,
    asked: Vec<String>,
    key: KeyPair,
    stranger: KeyPair,
}

impl Responder {
    /// For that authority's certificates: "good" of all of them, for an hour.
    ///
    /// # Panics
    /// When the system gives no port.
    #[must_use]
    pub fn new(pki: &Pki) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("own port"));
        let state = Arc::new(Mutex::new(State {
            said: BTreeMap::new(),
            good_for: Duration::from_secs(3_600),
            asked: Vec::new(),
            key: pki.authority_key(),
            stranger: KeyPair::generate().expect("randomness"),
        }));
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &own);
            }
        });
        Self { url, state }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on, of the certificate with that number.
    pub fn says(&self, number: u8, said: Said) {
        self.with(|state| {
            state.said.insert(number, said);
        });
    }

    /// How long answers are good from now on.
    pub fn good_for(&self, span: Duration) {
        self.with(|state| state.good_for = span);
    }

    /// How it was asked so far: `GET` or `POST` each time.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.with(|state| state.asked.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let Some((method, question)) = read(&mut stream) else {
        return;
    };
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.asked.push(method);
    let Some(body) = state.answer(&question) else {
        return;
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&body);
}

/// The method, and the question in DER.
fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut some).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&some[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let mut words = head.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?);
        if method == "GET" {
            let path = path.trim_start_matches('/');
            let path = path
                .replace("%2B", "+")
                .replace("%2F", "/")
                .replace("%3D", "=");
            let base64: &Encoding = &BASE64;
            return Some((method, base64.decode(path.as_bytes()).ok()?));
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_it = name.eq_ignore_ascii_case("content-length");
            is_it.then(|| value.trim().parse::<usize>().ok())?
        })?;
        let from = head.len() + 4;
        if let Some(body) = bytes.get(from..from + length) {
            return Some((method, body.to_vec()));
        }
    }
}

impl State {
    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let mut inside = Der::new(question);
        for _ in 0..4 {
            inside = inside.tagged(SEQUENCE)?.inside();
        }
        let id = inside.tagged(SEQUENCE)?;
        let number = id.inside().find(|item| item.tag == INTEGER)?.value;
        let said = number.first().and_then(|number| self.said.get(number));
        let (status, key): (&[u8], _) = match said.copied().unwrap_or(Said::Good) {
            Said::Nothing => return None,
            Said::Refusal => return Some(value(SEQUENCE, &[&value(ENUMERATED, &[&[6]])])),
            Said::Good | Said::Old => (&[0x80, 0], &self.key),
            Said::Forged => (&[0x80, 0], &self.stranger),
            Said::Unknown => (&[0x82, 0], &self.key),
            Said::Revoked => (
                &[
                    0xa1, 17, 0x18, 15, b'2', b'0', b'2', b'6', b'0', b'1', b'0', b'1', b'0', b'0',
                    b'0', b'0', b'0', b'0', b'Z',
                ],
                &self.key,
            ),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let now = if said == Some(&Said::Old) {
            now.saturating_sub(self.good_for * 3)
        } else {
            now
        };
        let (this, next) = (time(now), time(now + self.good_for));
        let single = value(SEQUENCE, &[id.whole, status, &this, &value(0xa0, &[&next])]);
        let who = value(0xa2, &[&value(OCTET_STRING, &[&[1; 20]])]);
        let data = value(SEQUENCE, &[&who, &this, &value(SEQUENCE, &[&single])]);
        let signature = key.sign(&data).ok()?;
        // ecdsa-with-SHA256
        let algorithm = value(OID, &[&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]]);
        let algorithm = value(SEQUENCE, &[&algorithm]);
        let bits = value(BIT_STRING, &[&[0], &signature]);
        let basic = value(SEQUENCE, &[&data, &algorithm, &bits]);
        let kind = value(OID, &[&[0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1]]);
        let body = value(SEQUENCE, &[&kind, &value(OCTET_STRING, &[&basic])]);
        let good = value(ENUMERATED, &[&[0]]);
        Some(value(SEQUENCE, &[&good, &value(0xa0, &[&body])]))
    }
}

fn time(since: Duration) -> Vec<u8> {
    let seconds = i64::try_from(since.as_secs()).unwrap_or(0);
    let text = Timestamp::from_nanos(seconds * 1_000_000_000).to_string();
    let digits: String = text.chars().filter(char::is_ascii_digit).take(14).collect();
    value(GENERALIZED_TIME, &[digits.as_bytes(), b"Z"])
}

fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, tag, &parts.concat());
    out
}
