//! What a proxy says of the connection it relays, before anything else: the PROXY protocol.
//!
//! spec: nats-server v2.15.1 server/client_proxyproto.go; haproxy doc/proxy-protocol.txt

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// How far a header is known from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeader {
    /// There is none: the peer speaks for itself, and these bytes are its own.
    Absent,
    /// At most so many more bytes belong to it; of a line, those up to its end.
    More(usize),
    /// It is whole but for so many bytes that say nothing more.
    Whole {
        /// Whom the proxy relays; `None`: it speaks for itself.
        from: Option<SocketAddr>,
        /// Bytes of it yet to come, at most 65,535.
        skip: usize,
    },
}

const LINE_START: &[u8; 6] = b"PROXY ";
/// With its end.
const LINE_BYTES_MAX: usize = 107;
const BINARY_START: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The start, version and command, family and protocol, and how much follows.
const BINARY_BYTES: usize = 16;
/// Bytes that tell whether there is a header.
pub const PROXY_START_BYTES: usize = LINE_START.len();

impl ProxyHeader {
    /// Looks at everything that came so far.
    ///
    /// # Errors
    /// What is wrong with it, in nats-server's words.
    pub fn parse(head: &[u8]) -> Result<Self, String> {
        let start = head.get(..PROXY_START_BYTES).unwrap_or(head);
        let is_line = LINE_START.starts_with(start);
        if !is_line && !BINARY_START.starts_with(start) {
            return Ok(Self::Absent);
        }
        match head.get(PROXY_START_BYTES..) {
            None => Ok(Self::More(PROXY_START_BYTES - head.len())),
            Some(rest) if is_line => line(rest),
            Some(_) => binary(head),
        }
    }
}

fn line(rest: &[u8]) -> Result<ProxyHeader, String> {
    let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
        return match (LINE_BYTES_MAX - PROXY_START_BYTES).saturating_sub(rest.len()) {
            0 => Err(format!("{INVALID}: v1 line too long")),
            more => Ok(ProxyHeader::More(more)),
        };
    };
    let text = String::from_utf8_lossy(rest.get(..end).unwrap_or_default());
    let words: Vec<&str> = text.split_whitespace().collect();
    let from = match words.as_slice() {
        ["UNKNOWN", ..] => None,
        [protocol, source, target, source_port, target_port] => Some(relayed(
            protocol,
            [source, target],
            [source_port, target_port],
        )?),
        _ => return Err(format!("{INVALID}: invalid v1 format")),
    };
    Ok(ProxyHeader::Whole { from, skip: 0 })
}

fn relayed(protocol: &str, hosts: [&str; 2], ports: [&str; 2]) -> Result<SocketAddr, String> {
    let [Ok(source), Ok(_)] = hosts.map(str::parse::<IpAddr>) else {
        return Err(format!("{INVALID}: invalid address"));
    };
    let [source_port, target_port] = ports;
    let port = port("source", source_port)?;
    self::port("dest", target_port)?;
    let [a, b] = hosts.map(|host| host.contains(':'));
    match protocol {
        "TCP4" if a || b => Err(format!("{INVALID}: TCP4 with IPv6 address")),
        "TCP6" if !a || !b => Err(format!("{INVALID}: TCP6 with IPv4 address")),
        "TCP4" | "TCP6" => Ok(SocketAddr::new(source.to_canonical(), port)),
        other => Err(format!("{INVALID}: invalid protocol {other}")),
    }
}

/// spec: Go strconv.ParseUint
fn port(which: &str, digits: &str) -> Result<u16, String> {
    let only_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| only_digits).ok_or_else(|| {
        let why = if only_digits {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("invalid {which} port: strconv.ParseUint: parsing {digits:?}: {why}")
    })
}

fn binary(head: &[u8]) -> Result<ProxyHeader, String> {
    if !BINARY_START.starts_with(head.get(..BINARY_START.len()).unwrap_or(head)) {
        return Err(format!("{INVALID}: invalid signature"));
    }
    let Some((fixed, body)) = head.split_first_chunk::<BINARY_BYTES>() else {
        return Ok(ProxyHeader::More(BINARY_BYTES - head.len()));
    };
    let [.., how, what, high, low] = *fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if how & 0xf0 != 0x20 {
        let version = how & 0xf0;
        return Err(format!("{INVALID}: invalid version 0x{version:02x}"));
    }
    let of_itself = Ok(ProxyHeader::Whole {
        from: None,
        skip: length.saturating_sub(body.len()),
    });
    match how & 0x0f {
        0 => return of_itself,
        1 => {}
        command => return Err(format!("unknown PROXY protocol command: 0x{command:02x}")),
    }
    if what & 0x0f != 1 {
        return Err(format!("{UNSUPPORTED}: only STREAM protocol supported"));
    }
    let (name, needed) = match what & 0xf0 {
        0 => return of_itself,
        0x10 => ("IPv4", 12),
        0x20 => ("IPv6", 36),
        family => {
            let text = format!("{UNSUPPORTED}: unsupported address family 0x{family:02x}");
            return Err(text);
        }
    };
    if length < needed {
        return Err(format!("{name} address data too short: {length} bytes"));
    }
    match address(body.get(..needed)) {
        None => Ok(ProxyHeader::More(needed.saturating_sub(body.len()))),
        from => Ok(ProxyHeader::Whole {
            from,
            skip: length.saturating_sub(body.len()),
        }),
    }
}

/// The first of two addresses, and the first of the two ports behind them.
fn address(body: Option<&[u8]>) -> Option<SocketAddr> {
    match *body? {
        [a, b, c, d, _, _, _, _, high, low, ..] if body?.len() == 12 => {
            let ip = Ipv4Addr::new(a, b, c, d).into();
            Some(SocketAddr::new(ip, u16::from_be_bytes([high, low])))
        }
        ref long => {
            let (ip, rest) = long.split_first_chunk::<16>()?;
            let [high, low] = *rest.get(16..)?.first_chunk::<2>()?;
            let ip = IpAddr::from(Ipv6Addr::from(*ip)).to_canonical();
            Some(SocketAddr::new(ip, u16::from_be_bytes([high, low])))
        }
    }
}

const INVALID: &str = "invalid PROXY protocol header";
const UNSUPPORTED: &str = "unsupported PROXY protocol feature";

#[cfg(test)]
mod tests;
