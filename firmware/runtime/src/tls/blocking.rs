use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use frond_config::Tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::context::Outbound;
use super::trust::Season;

/// A session on a thread that may wait.
pub(crate) type Secured = StreamOwned<ClientConnection, TcpStream>;

/// Shakes hands with `host` on a stream that has time limits of its own.
///
/// # Errors
/// What is wrong with the files of the rules, or with who answers.
pub(crate) fn secure(
    mut stream: TcpStream,
    host: &str,
    rules: &Tls,
    season: Arc<Season>,
) -> Result<Secured, String> {
    let outbound = Outbound::new(rules, season, None)?;
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| format!("{host:?} is no name a certificate can have"))?;
    let session = ClientConnection::new(outbound.config, name);
    let mut session = session.map_err(|error| format!("tls: {error}"))?;
    while session.is_handshaking() {
        let done = session.complete_io(&mut stream);
        done.map_err(|error| told(&error))?;
    }
    Ok(StreamOwned::new(session, stream))
}

fn told(error: &io::Error) -> String {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the system's kinds are many"
    )]
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "tls: the handshake took too long".to_owned()
        }
        _ => format!("tls: {error}"),
    }
}
