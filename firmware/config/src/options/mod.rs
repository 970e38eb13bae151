//! One module per block of the file: its options, and how they are read.

pub(crate) mod accounts;
pub(crate) mod appliance;
pub(crate) mod auth;
pub(crate) mod callout;
pub(crate) mod cluster;
pub(crate) mod compression;
pub(crate) mod exports;
pub(crate) mod features;
pub(crate) mod fleet;
pub(crate) mod forward;
pub(crate) mod gateway;
pub(crate) mod imports;
pub(crate) mod jetstream;
pub(crate) mod jetstream_encryption;
pub(crate) mod leafnodes;
pub(crate) mod logging;
pub(crate) mod mappings;
pub(crate) mod msg_trace;
pub(crate) mod ocsp;
pub(crate) mod operator;
pub(crate) mod ota;
pub(crate) mod peers;
pub(crate) mod permissions;
pub(crate) mod proxies;
pub(crate) mod remote;
pub(crate) mod remote_proxy;
mod semver;
pub(crate) mod server;
pub(crate) mod sizes;
pub(crate) mod tls;
pub(crate) mod url;
pub(crate) mod websocket;

#[cfg(test)]
mod tests;
