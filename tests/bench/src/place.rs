//! A server and the way in that is measured.

use interop::{Kind, Server, Setup, free_port};
use tempfile::TempDir;

use crate::carrier::Carrier;

/// Which way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// TCP as it is.
    Plain,
    /// TLS.
    Tls,
    /// WebSocket without TLS.
    WebSocket,
}

/// A running server and how its clients come.
#[derive(Debug)]
pub struct Place {
    /// The server.
    pub server: Server,
    /// How its clients come.
    pub carrier: Carrier,
    /// Where its certificate is.
    _files: TempDir,
}

impl Place {
    /// Starts a server that has this door.
    ///
    /// # Panics
    /// When it doesn't start.
    #[must_use]
    pub fn open(kind: Kind, door: Door) -> Self {
        let files = tempfile::tempdir().expect("a temporary folder");
        let (setup, carrier) = match door {
            Door::Plain => (Setup::core(), Carrier::Plain),
            Door::Tls => tls(&files),
            Door::WebSocket => {
                let port = free_port();
                let door = format!("websocket {{ listen: \"127.0.0.1:{port}\", no_tls: true }}");
                let setup = Setup::config(&format!("listen: \"127.0.0.1:-1\"\n{door}\n"));
                (setup, Carrier::WebSocket(port))
            }
        };
        Self {
            server: Server::start(kind, &setup),
            carrier,
            _files: files,
        }
    }
}

fn tls(files: &TempDir) -> (Setup, Carrier) {
    let made =
        rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).expect("own folder can be written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("own folder can be written");
    let (cert, key) = (cert.display(), key.display());
    let setup = Setup::config(&format!(
        "listen: \"127.0.0.1:-1\"\ntls {{ cert_file: \"{cert}\", key_file: \"{key}\" }}\n"
    ));
    (setup, Carrier::tls(made.cert.der().clone()))
}
