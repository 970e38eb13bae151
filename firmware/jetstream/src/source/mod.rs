//! The destination side of mirrors and sources.
//!
//! A [`feed::Feed`] makes its own consumer on the origin through the origin's public API and
//! takes in what that consumer delivers; [`feeds`] connects it to its stream. Where it stands
//! is kept in the same batch as the messages themselves ([`position`]).
//!
//! spec: nats-server v2.15.1 server/stream.go `setupMirrorConsumer`, `trySetupSourceConsumer`;
//! ADR-59

pub(crate) mod answer;
mod asking;
pub(crate) mod feed;
pub(crate) mod feeds;
pub(crate) mod flow;
pub(crate) mod info;
pub(crate) mod intake;
pub(crate) mod origin;
pub(crate) mod position;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod rounds;
pub(crate) mod tokens;
