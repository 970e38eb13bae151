//! spec: nats-server v2.15.1 server/websocket.go `validateWebsocketOptions`

use super::Checker;
use crate::options::websocket::WebSocket;
use frond_websocket::{Origin, OriginError};

const KEYS: &[&str] = &["websocket", "ws"];

impl Checker<'_> {
    /// Without a port nothing in the block counts.
    pub(super) fn websocket(&mut self) {
        let config = self.config;
        let socket = &config.websocket;
        if socket.listen.is_none() {
            return;
        }
        if socket.tls.is_none() && !socket.no_tls {
            let remedy = "add tls { ... }, or no_tls: true";
            self.error(KEYS, "websocket requires TLS configuration", remedy);
        }
        for origin in &socket.allowed_origins {
            if let Err(error) = Origin::allowed(origin) {
                let colon = match error {
                    OriginError::Parse { .. } | OriginError::Address { .. } => ":",
                    OriginError::Scheme(_) | OriginError::Host(_) => "",
                };
                let text = format!("unable to parse allowed origin{colon} {error}");
                self.error(KEYS, text, "write https://host or https://host:port");
            }
        }
        if let Some(name) = &socket.no_auth_user {
            self.no_auth_user_is_known(KEYS, name);
        }
        self.websocket_people(socket);
        for name in socket.headers.keys() {
            if let Some(why) = header_is_ours(name) {
                let text = format!("websocket: invalid header {name:?}{why} not allowed");
                self.error(KEYS, text, "remove it");
            }
        }
    }

    fn websocket_people(&mut self, socket: &WebSocket) {
        let config = self.config;
        let account_users = config.accounts.iter().any(|a| !a.users.is_empty());
        let users = account_users || !config.authorization.users.is_empty();
        if users && socket.authorization.user.is_some() {
            let text =
                "websocket authentication username not compatible with presence of users/nkeys";
            self.error(KEYS, text, "");
        }
        if users && socket.authorization.token.is_some() {
            let text = "websocket authentication token not compatible with presence of users/nkeys";
            self.error(KEYS, text, "");
        }
        let operators = &config.operator_mode;
        if let Some(cookie) = &socket.cookies.jwt
            && operators.operators.is_empty()
            && operators.trusted_keys.is_empty()
        {
            let text = format!(
                "trusted operators or trusted keys configuration is required for JWT \
                 authentication via cookie {cookie:?}"
            );
            self.error(KEYS, text, "");
        }
    }
}

/// Whether a header is the handshake's own; the words that go before "not allowed".
fn header_is_ours(name: &str) -> Option<&'static str> {
    match name.to_lowercase().as_str() {
        "host" | "content-length" | "connection" | "upgrade" | "nats-no-masking" => Some(""),
        other if other.starts_with("sec-websocket-") => Some(", \"Sec-WebSocket-\" prefix"),
        _ => None,
    }
}
