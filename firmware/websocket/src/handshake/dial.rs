//! The side that asks.
//! spec: nats-server v2.15.1 server/leafnode.go `leafNodeSolicitWSConnection`.

use super::accept_key;
use crate::Masking;
use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

/// One attempt to upgrade a connection that was dialed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialer {
    /// `Host`: with its port unless it is the scheme's own.
    pub host: String,
    /// What to ask for.
    pub path: String,
    /// Sixteen random bytes in base64.
    pub key: String,
    /// Whether to ask for compression.
    pub compression: bool,
    /// How this side's frames should go.
    pub masking: Masking,
    /// Further headers.
    pub headers: Vec<(String, String)>,
}

/// What an answer agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Messages may be compressed.
    pub compression: bool,
    /// How this side's frames go.
    pub masking: Masking,
    /// Length of the answer; what follows it is frames.
    pub length: usize,
}

impl Dialer {
    /// A key from random bytes.
    #[must_use]
    pub fn key(random: [u8; 16]) -> String {
        data_encoding::BASE64.encode(&random)
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> Vec<u8> {
        let mut text = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\n",
            self.path, self.host, self.key
        );
        if self.compression {
            text.push_str("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n");
        }
        if self.masking == Masking::Bare {
            text.push_str("Nats-No-Masking: true\r\n");
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.into_bytes()
    }

    /// Reads the answer; `None` when it is not whole.
    ///
    /// # Errors
    /// Why the other side doesn't upgrade, in nats-server's words.
    pub fn answered(&self, bytes: &[u8]) -> Result<Option<Agreed>, &'static str> {
        const INVALID: &str = "invalid websocket connection";
        let mut room = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut answer = httparse::Response::new(&mut room);
        let length = match answer.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
            Ok(httparse::Status::Partial) | Err(_) => return Err(INVALID),
        };
        let says = |name: &str, word: &str| {
            let headers = answer.headers.iter();
            headers
                .filter(|header| header.name.eq_ignore_ascii_case(name))
                .filter_map(|header| str::from_utf8(header.value).ok())
                .flat_map(|value| value.split([',', ';']))
                .any(|token| token.trim_matches([' ', '\t']).eq_ignore_ascii_case(word))
        };
        let accepted = answer.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("Sec-WebSocket-Accept")
                && header.value == accept_key(&self.key).as_bytes()
        });
        if answer.code != Some(101)
            || !says("Upgrade", "websocket")
            || !says("Connection", "Upgrade")
            || !accepted
        {
            return Err(INVALID);
        }
        const EXTENSIONS: &str = "Sec-WebSocket-Extensions";
        let compression = self.compression && says(EXTENSIONS, "permessage-deflate");
        if compression
            && !(says(EXTENSIONS, "server_no_context_takeover")
                && says(EXTENSIONS, "client_no_context_takeover"))
        {
            return Err("compression negotiation error");
        }
        let bare = self.masking == Masking::Bare && says("Nats-No-Masking", "true");
        Ok(Some(Agreed {
            compression,
            masking: if bare { Masking::Bare } else { Masking::Masked },
            length,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialer() -> Dialer {
        Dialer {
            host: "hub:443".to_owned(),
            path: "/leafnode".to_owned(),
            key: "dGhlIHNhbXBsZSBub25jZQ==".to_owned(),
            compression: true,
            masking: Masking::Bare,
            headers: Vec::new(),
        }
    }

    fn answer(more: &str) -> String {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n{more}\r\n"
        )
    }

    #[test]
    fn what_was_asked_for_and_granted_is_agreed() {
        let granted = answer(
            "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\nNats-No-Masking: true\r\n",
        );
        let agreed = dialer().answered(granted.as_bytes()).unwrap().unwrap();
        assert!(agreed.compression);
        assert_eq!(agreed.masking, Masking::Bare);
        assert_eq!(agreed.length, granted.len());
        let plain = dialer().answered(answer("").as_bytes()).unwrap().unwrap();
        assert!(!plain.compression);
        assert_eq!(plain.masking, Masking::Masked);
    }

    #[test]
    fn half_an_answer_is_waited_for_and_a_wrong_one_refused() {
        let whole = answer("");
        for cut in 0..whole.len() {
            assert_eq!(
                dialer().answered(&whole.as_bytes()[..cut]),
                Ok(None),
                "{cut}"
            );
        }
        let other = Dialer {
            key: "AAAAAAAAAAAAAAAAAAAAAA==".to_owned(),
            ..dialer()
        };
        assert!(other.answered(whole.as_bytes()).is_err());
        let half = answer("Sec-WebSocket-Extensions: permessage-deflate\r\n");
        assert_eq!(
            dialer().answered(half.as_bytes()),
            Err("compression negotiation error")
        );
    }
}
