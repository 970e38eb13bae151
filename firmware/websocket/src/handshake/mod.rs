//! The HTTP request that becomes a WebSocket, on both ends.
//! spec: RFC 6455 4, nats-server v2.15.1 server/websocket.go `wsUpgrade`.

mod accept;
mod cookies;
mod dial;
mod head;
mod origin;
mod refusal;

pub use accept::{Accepted, Browser, Endpoint, Rules, accept_key};
pub use cookies::{CookieNames, Cookies};
pub use dial::{Agreed, Dialer};
pub use head::{Head, HeadError};
pub use origin::{Origin, OriginError};
pub use refusal::Refusal;
