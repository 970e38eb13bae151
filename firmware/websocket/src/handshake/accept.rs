use std::net::IpAddr;

use data_encoding::BASE64;
use sha1::{Digest, Sha1};

use super::cookies::{CookieNames, Cookies};
use super::{Head, Origin, Refusal};
use crate::Masking;

/// What a listener asks of those who want in.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// A page must come from this server (`same_origin`).
    pub same_origin: bool,
    /// A page must come from one of these, when there are any (`allowed_origins`).
    pub allowed_origins: Vec<Origin>,
    /// Messages may be compressed (`compression`).
    pub compression: bool,
    /// Whether MQTT is spoken here.
    pub mqtt: bool,
    /// Further headers of the answer (`headers`), in order.
    pub headers: Vec<(String, String)>,
    /// Which cookies mean something.
    pub cookies: CookieNames,
}

/// What is spoken inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A client's NATS.
    Client,
    /// A leafnode's, asked for by a path that ends in `/leafnode`.
    Leaf,
    /// MQTT, asked for by a path that ends in `/mqtt`.
    Mqtt,
}

/// Whether a browser is at the other end: they like short frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Browser {
    /// No.
    No,
    /// Some browser.
    Yes,
    /// One that doesn't take compressed messages in fragments.
    Safari,
}

/// A request that becomes a WebSocket.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// What is spoken inside.
    pub endpoint: Endpoint,
    /// The answer, to be written before any frame.
    pub answer: Vec<u8>,
    /// Whether messages may be compressed.
    pub compression: bool,
    /// How the peer's frames come.
    pub masking: Masking,
    /// Who is at the other end.
    pub browser: Browser,
    /// Whom a proxy speaks for.
    pub forwarded_for: Option<IpAddr>,
    /// What its cookies hold.
    pub cookies: Cookies,
}

impl Rules {
    /// Judges a request. `tls` is whether it came through TLS.
    ///
    /// # Errors
    /// How to refuse it.
    pub fn judge(&self, head: &Head, tls: bool) -> Result<Accepted, Refusal> {
        let endpoint = if head.path.ends_with("/leafnode") {
            Endpoint::Leaf
        } else if head.path.ends_with("/mqtt") {
            Endpoint::Mqtt
        } else {
            Endpoint::Client
        };
        let host = head.get("Host");
        if host.is_none() && head.version > 0 {
            return Err(Refusal::NO_HOST);
        }
        let host = host.unwrap_or_default();
        if endpoint == Endpoint::Mqtt && !self.mqtt {
            return Err(Refusal::new(404, "mqtt websocket endpoint not enabled"));
        }
        let key = check_request(head, host)?;
        self.check_origin(head, host, tls)
            .map_err(|why| Refusal::new(403, format!("origin not allowed: {why}")))?;
        let compression = self.compression && offers_compression(head);
        let bare = head.get("Nats-No-Masking") == Some("true");
        let browser = match endpoint {
            Endpoint::Client | Endpoint::Mqtt => browser_of(head, compression),
            Endpoint::Leaf => Browser::No,
        };
        let cookies = match endpoint {
            Endpoint::Client | Endpoint::Mqtt => Cookies::read(head, &self.cookies),
            Endpoint::Leaf => Cookies::default(),
        };
        Ok(Accepted {
            endpoint,
            answer: self.answer(key, endpoint, compression, bare),
            compression,
            masking: if bare { Masking::Bare } else { Masking::Masked },
            browser,
            forwarded_for: head.get("X-Forwarded-For").and_then(|ip| ip.parse().ok()),
            cookies,
        })
    }

    fn check_origin(&self, head: &Head, host: &str, tls: bool) -> Result<(), String> {
        if !self.same_origin && self.allowed_origins.is_empty() {
            return Ok(());
        }
        let named = |name| head.get(name).filter(|value| !value.is_empty());
        // Who is no browser could name any origin: it need not name one.
        let Some(origin) = named("Origin").or_else(|| named("Sec-Websocket-Origin")) else {
            return Ok(());
        };
        let origin = Origin::parse(origin).map_err(|e| e.to_string())?;
        if self.same_origin {
            let own = Origin::of_host(host, tls).map_err(|e| e.to_string())?;
            if origin != own {
                return Err("not same origin".to_owned());
            }
        }
        if !self.allowed_origins.is_empty() && !self.allowed_origins.contains(&origin) {
            return Err("not in the allowed list".to_owned());
        }
        Ok(())
    }

    fn answer(&self, key: &str, endpoint: Endpoint, compression: bool, bare: bool) -> Vec<u8> {
        let mut answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            accept_key(key)
        );
        if compression {
            answer.push_str("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n");
        }
        if bare {
            answer.push_str("Nats-No-Masking: true\r\n");
        }
        if endpoint == Endpoint::Mqtt {
            answer.push_str("Sec-Websocket-Protocol: mqtt\r\n");
        }
        for (name, value) in &self.headers {
            answer.push_str(&format!("{name}: {value}\r\n"));
        }
        answer.push_str("\r\n");
        answer.into_bytes()
    }
}

/// The points of RFC 6455 4.2.1 in nats-server's order; the key when all hold.
fn check_request<'a>(head: &'a Head, host: &str) -> Result<&'a str, Refusal> {
    if head.method != "GET" {
        return Err(Refusal::new(405, "request method must be GET"));
    }
    if host.is_empty() {
        return Err(Refusal::new(400, "'Host' missing in request"));
    }
    if !head.says("Upgrade", "websocket") {
        return Err(Refusal::new(400, "invalid value for header 'Upgrade'"));
    }
    if !head.says("Connection", "Upgrade") {
        return Err(Refusal::new(400, "invalid value for header 'Connection'"));
    }
    let key = head.get("Sec-Websocket-Key").unwrap_or_default();
    if key.is_empty() {
        return Err(Refusal::new(400, "key missing"));
    }
    if BASE64
        .decode(key.as_bytes())
        .map_or(true, |key| key.len() != 16)
    {
        return Err(Refusal::new(400, "invalid websocket key"));
    }
    if !head.says("Sec-Websocket-Version", "13") {
        return Err(Refusal::new(400, "invalid version"));
    }
    Ok(key)
}

fn offers_compression(head: &Head) -> bool {
    head.all("Sec-Websocket-Extensions")
        .flat_map(|value| value.split([',', ';']))
        .any(|word| {
            word.trim_matches([' ', '\t'])
                .eq_ignore_ascii_case("permessage-deflate")
        })
}

fn browser_of(head: &Head, compression: bool) -> Browser {
    let agent = head.get("User-Agent").unwrap_or_default();
    if !agent.starts_with("Mozilla/") {
        Browser::No
    } else if compression && agent.contains("Version/") && agent.contains("Safari/") {
        Browser::Safari
    } else {
        Browser::Yes
    }
}

/// The answer to a key. spec: RFC 6455 1.3.
#[must_use]
pub fn accept_key(key: &str) -> String {
    let digest = Sha1::new()
        .chain_update(key.as_bytes())
        .chain_update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        .finalize();
    BASE64.encode(&digest)
}

#[cfg(test)]
mod tests;
