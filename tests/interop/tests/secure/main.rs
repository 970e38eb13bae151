//! Every way in: TLS, WebSocket, operator mode, authorization services, trusted proxies.

mod callout;
mod ocsp;
mod operator;
mod proxies;
mod tls;
mod tls_tools;
mod websocket;
