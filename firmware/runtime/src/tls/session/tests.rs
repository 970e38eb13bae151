//! Two sessions back to back, with what goes between them bent on the way: either end refuses it
//! or goes on. Before, some ten bytes before the first handshake ended the process.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use frond_clock::Rng;
use rcgen::generate_simple_self_signed;
use rustls::RootCertStore;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::*;

const NAME: &str = "box.example";

struct Ends {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Ends {
    fn new() -> Self {
        let made = generate_simple_self_signed([NAME.to_owned()]).unwrap();
        let der = made.cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let mut roots = RootCertStore::empty();
        roots.add(der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![der], key)
            .unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            server: Arc::new(server),
            client: Arc::new(client),
        }
    }

    fn server(&self) -> Session {
        Session::server(Arc::clone(&self.server)).unwrap()
    }

    /// With its first word said.
    fn client(&self) -> Session {
        let name = ServerName::try_from(NAME).unwrap();
        let mut client = Session::client(Arc::clone(&self.client), name).unwrap();
        client.receive(&mut [], &mut Vec::new()).unwrap();
        assert!(!client.waiting().is_empty());
        client
    }
}

fn said(session: &mut Session) -> Vec<u8> {
    let said = session.waiting().to_vec();
    session.written(said.len());
    said
}

/// Gives it in pieces, and goes on with it after a fault as a careless caller would.
fn give(session: &mut Session, bytes: &[u8], rng: &mut Rng) -> bool {
    let mut rest = bytes;
    let mut good = true;
    while !rest.is_empty() {
        let at = 1 + rng.below(rest.len() as u64) as usize;
        let (now, later) = rest.split_at(at);
        good &= session.receive(&mut now.to_vec(), &mut Vec::new()).is_ok();
        rest = later;
    }
    if !good {
        let _ = session.encrypt(b"PING\r\n", &mut [0; 256]);
        session.say_goodbye();
        let _ = session.receive(&mut [0x17, 3, 3], &mut Vec::new());
    }
    good
}

fn bend(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let len = bytes.len() as u64;
    let at = rng.below(len.max(1)) as usize;
    match rng.below(6) {
        0 if len > 0 => bytes[at] ^= 1 << rng.below(8),
        1 if len > 0 => bytes[at] = 0xff,
        2 => bytes.truncate(at),
        3 => {
            let copy = bytes[at..].to_vec();
            bytes.splice(at..at, copy);
        }
        4 => {
            // A record of some kind in between.
            let kind = 0x14 + rng.below(5) as u8;
            let mut record = vec![kind, 3, 3, 0, rng.below(12) as u8];
            record.resize(5 + usize::from(record[4]), 0);
            rng.fill(&mut record[5..]);
            bytes.splice(at..at, record);
        }
        _ => {
            let mut tail = vec![0xff; rng.below(20) as usize];
            rng.fill(&mut tail[..]);
            bytes.extend(tail);
        }
    }
}

#[test]
fn a_record_that_is_no_handshake_is_refused_at_both_ends() {
    let ends = Ends::new();
    let hello = said(&mut ends.client());
    let cases: [&[u8]; 4] = [
        b"\x16\x03\x01\x00\x05hello",
        b"\x16\x03\x03\x00\x05hello",
        b"\x16\x03\x01\x00\x01\x01\x14\x03\x01\x00\x01\x01",
        &[&hello[..3], &[0xff; 14]].concat(),
    ];
    let mut rng = Rng::seeded(1);
    for (at, case) in cases.iter().enumerate() {
        for mut session in [ends.server(), ends.client()] {
            said(&mut session);
            assert!(!give(&mut session, case, &mut rng), "case {at}");
            assert!(!session.is_open());
        }
    }
    // More in the record than the hello that it begins with.
    let mut long = hello.clone();
    long.extend([0xff; 14]);
    let len = u16::from_be_bytes([hello[3], hello[4]]) + 14;
    long[3..5].copy_from_slice(&len.to_be_bytes());
    assert!(!give(&mut ends.server(), &long, &mut rng));
}

#[test]
fn whatever_is_bent_on_the_way_ends_one_session_at_most() {
    let ends = Ends::new();
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::seeded(seed);
        let (mut client, mut server) = (ends.client(), ends.server());
        // The flight that is bent; later ones are left whole.
        let bent = rng.below(5);
        let mut good = true;
        for flight in 0..6 {
            let to_server = flight % 2 == 0;
            let (from, to) = if to_server {
                (&mut client, &mut server)
            } else {
                (&mut server, &mut client)
            };
            let mut bytes = said(from);
            if flight == bent {
                for _ in 0..=rng.below(3) {
                    bend(&mut bytes, &mut rng);
                }
            }
            good = give(to, &bytes, &mut rng);
            if !good {
                break;
            }
        }
        opened += u32::from(good && client.is_open() && server.is_open());
        refused += u32::from(!good);
    }
    assert!(opened > 100 && refused > 1_000, "{opened} {refused}");
}
