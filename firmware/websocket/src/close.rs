use crate::limits::CONTROL_BYTES_MAX;

/// Why a WebSocket ends, as a number. spec: RFC 6455 7.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseCode(pub u16);

impl CloseCode {
    /// The peer is done.
    pub const NORMAL: Self = Self(1000);
    /// The server goes, or lost the peer.
    pub const GOING_AWAY: Self = Self(1001);
    /// What came was no WebSocket, or no NATS.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// Text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// The peer may not do what it does.
    pub const POLICY: Self = Self(1008);
    /// A message is too long.
    pub const TOO_BIG: Self = Self(1009);
    /// There is no room now.
    pub const TRY_AGAIN: Self = Self(1013);
    /// Anything else.
    pub const INTERNAL: Self = Self(1011);

    /// The code for a connection that is closed for this reason, in nats-server's words; `None`
    /// for those where it says nothing more.
    /// spec: nats-server v2.15.1 server/websocket.go `wsEnqueueCloseMessage`,
    /// server/client.go `markConnAsClosed`.
    #[must_use]
    pub fn for_reason(reason: &str) -> Option<Self> {
        let code = match reason {
            "Read Error"
            | "Write Error"
            | "Slow Consumer (Pending Bytes)"
            | "Slow Consumer (Write Deadline)"
            | "TLS Handshake Failure" => return None,
            "Client Closed" => Self::NORMAL,
            "Authentication Timeout"
            | "Authentication Failure"
            | "Maximum Account Connections Exceeded"
            | "Maximum Connections Exceeded"
            | "Maximum Control Line Exceeded"
            | "Maximum Subscriptions Exceeded"
            | "Missing Account"
            | "Authentication Expired"
            | "Credentials Revoked" => Self::POLICY,
            "Parse Error" | "Protocol Violation" | "Bad Client Protocol Version" => {
                Self::PROTOCOL_ERROR
            }
            "Maximum Message Payload Exceeded" => Self::TOO_BIG,
            "Stale Connection" | "Server Shutdown" => Self::GOING_AWAY,
            _ => Self::INTERNAL,
        };
        Some(code)
    }

    /// Whether a peer may say it. spec: RFC 6455 7.4.1, 7.4.2.
    #[must_use]
    pub const fn may_be_sent(self) -> bool {
        match self.0 {
            1004..=1006 | 1015 => false,
            1000..=1014 | 3000..=4999 => true,
            _ => false,
        }
    }
}

/// What a close frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// The number; `None` when the peer gave none.
    pub code: Option<CloseCode>,
    /// The words.
    pub reason: String,
}

impl CloseFrame {
    /// With a code and words.
    #[must_use]
    pub fn new(code: CloseCode, reason: &str) -> Self {
        Self {
            code: Some(code),
            reason: reason.to_owned(),
        }
    }

    /// Its payload: nothing without a code, and never longer than a control frame may be.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let Some(code) = self.code else {
            return Vec::new();
        };
        let mut payload = code.0.to_be_bytes().to_vec();
        if self.reason.len() <= CONTROL_BYTES_MAX - 2 {
            payload.extend_from_slice(self.reason.as_bytes());
        } else {
            let cut = (0..=CONTROL_BYTES_MAX - 5)
                .rev()
                .find_map(|cut| self.reason.get(..cut));
            payload.extend_from_slice(cut.unwrap_or_default().as_bytes());
            payload.extend_from_slice(b"...");
        }
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_cut_between_characters() {
        let frame = CloseFrame::new(CloseCode::POLICY, &"ä".repeat(100));
        let payload = frame.payload();
        assert!(payload.len() <= CONTROL_BYTES_MAX);
        assert!(payload.ends_with("ä...".as_bytes()));
        let fits = CloseFrame::new(CloseCode::POLICY, &"x".repeat(123));
        assert_eq!(fits.payload().len(), CONTROL_BYTES_MAX);
    }

    #[test]
    fn reserved_codes_may_not_be_sent() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
            assert!(!CloseCode(code).may_be_sent(), "{code}");
        }
        for code in [1000, 1003, 1007, 1014, 3000, 4999] {
            assert!(CloseCode(code).may_be_sent(), "{code}");
        }
    }
}
