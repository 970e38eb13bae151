use data_encoding::BASE64;
use frond_account::jwt::{
    AuthRequest, AuthRequestClaims, ClientInformation, ClientTls, ConnectOptions, ServerId,
};
use frond_account::nkey::KeyPair;
use frond_account::xkey::{NONCE_BYTES, Xkey};
use frond_account::{Delegation, JwtUser, PeerKind, TlsSession, Transport};
use frond_broker::{Asking, Conn, ServerFacts};
use frond_wire::ConnectInfo;

use crate::VERSION;

/// The server as its requests show it.
pub(super) struct Server<'a> {
    pub(super) facts: &'a ServerFacts,
    pub(super) tags: &'a [String],
    pub(super) key: &'a KeyPair,
    pub(super) xkey: &'a Xkey,
    pub(super) issued_at_s: i64,
    pub(super) expires_s: i64,
}

/// What goes to the service.
pub(super) struct Request {
    pub(super) header: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

/// The question about one peer; its answer must be about `user`.
pub(super) fn of(
    server: &Server<'_>,
    conn: Conn,
    asking: &Asking,
    delegation: &Delegation,
    user: &str,
    random: &[u8; 32],
) -> Result<Request, String> {
    let asking = &standing_in(asking, delegation);
    let mut claims = AuthRequestClaims::about(&delegation.subject);
    claims.audience = AUDIENCE.to_owned();
    claims.issued_at = server.issued_at_s;
    claims.expires = server.expires_s;
    claims.nats = AuthRequest {
        server: server_id(server, delegation),
        user_nkey: user.to_owned(),
        client_info: client(conn, asking, delegation.jwt.as_deref()),
        connect_opts: options(&asking.connect, delegation.jwt.as_deref()),
        client_tls: asking.tls.as_deref().map(tls),
        ..AuthRequest::default()
    };
    let text = claims
        .encode(server.key)
        .map_err(|why| format!("Error encoding auth request claim: {why}"))?;
    let Some(recipient) = &delegation.xkey else {
        return Ok(Request {
            header: Vec::new(),
            payload: text.into_bytes(),
        });
    };
    let nonce = random.first_chunk::<NONCE_BYTES>().ok_or("no randomness")?;
    let payload = server
        .xkey
        .seal(text.as_bytes(), recipient, nonce)
        .map_err(|why| format!("Error encrypting auth request claim: {why}"))?;
    let key = server.xkey.public_key();
    let header = format!("NATS/1.0\r\nNats-Server-Xkey: {key}\r\n\r\n").into_bytes();
    Ok(Request { header, payload })
}

/// Who says nothing is asked about as the user it becomes; that one's secret stays here.
fn standing_in(asking: &Asking, delegation: &Delegation) -> Asking {
    let mut asking = asking.clone();
    let said = &asking.connect;
    let said = [&said.user, &said.nkey, &said.auth_token, &said.jwt];
    if delegation.jwt.is_none() && said.into_iter().all(String::is_empty) {
        asking.connect.user.clone_from(&delegation.user);
    }
    asking
}

fn server_id(server: &Server<'_>, delegation: &Delegation) -> ServerId {
    let facts = server.facts;
    ServerId {
        name: facts.name.clone(),
        host: facts.host.clone(),
        id: facts.id.clone(),
        version: VERSION.to_owned(),
        cluster: String::new(),
        tags: server.tags.to_vec(),
        xkey: match delegation.xkey {
            Some(_) => server.xkey.public_key(),
            None => String::new(),
        },
    }
}

fn client(conn: Conn, asking: &Asking, jwt: Option<&JwtUser>) -> ClientInformation {
    let connect = &asking.connect;
    let (kind, client_type) = match (asking.kind, asking.transport) {
        (PeerKind::Client, Transport::Tcp | Transport::InProcess) => ("Client", "nats"),
        (PeerKind::Client, Transport::WebSocket) => ("Client", "websocket"),
        (PeerKind::Leafnode, _) => ("Leafnode", ""),
    };
    let key = jwt.map(|jwt| &jwt.subject);
    let named = [Some(&connect.nkey), Some(&connect.user), key];
    let named = named.into_iter().chain([Some(&connect.auth_token)]);
    let user = named.flatten().find(|text| !text.is_empty());
    ClientInformation {
        host: asking.peer.ip.to_string(),
        id: conn.0,
        user: user.cloned().unwrap_or_default(),
        name: connect.name.clone(),
        kind: kind.to_owned(),
        client_type: client_type.to_owned(),
        tags: jwt.map(|jwt| jwt.tags.clone()).unwrap_or_default(),
        name_tag: jwt.map(|jwt| jwt.name.clone()).unwrap_or_default(),
        nonce: match connect.sig.as_str() {
            "" => String::new(),
            _ => asking.nonce.to_string(),
        },
        ..ClientInformation::default()
    }
}

fn options(connect: &ConnectInfo, jwt: Option<&JwtUser>) -> ConnectOptions {
    ConnectOptions {
        // It may be the sentinel, which the peer itself did not show.
        jwt: jwt.map_or_else(|| connect.jwt.clone(), |jwt| (*jwt.text).to_owned()),
        nkey: connect.nkey.clone(),
        sig: connect.sig.clone(),
        auth_token: connect.auth_token.clone(),
        user: connect.user.clone(),
        pass: connect.pass.clone(),
        name: connect.name.clone(),
        lang: connect.lang.clone(),
        version: connect.version.clone(),
        protocol: connect.protocol,
    }
}

/// Certificates that are here are verified; the rest of their chains is not kept.
fn tls(session: &TlsSession) -> ClientTls {
    let own = session.peer.as_ref().map(|peer| vec![pem(&peer.der)]);
    ClientTls {
        version: session.version.clone(),
        cipher: session.cipher.clone(),
        certs: Vec::new(),
        verified_chains: own.into_iter().collect(),
    }
}

fn pem(der: &[u8]) -> String {
    let text = BASE64.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while let Some((line, after)) = rest.split_at_checked(PEM_LINE_CHARS) {
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    if !rest.is_empty() {
        pem.push_str(rest);
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

const AUDIENCE: &str = "nats-authorization-request";
const PEM_LINE_CHARS: usize = 64;
