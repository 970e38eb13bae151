//! The tar of before 2.15: descriptions, message blocks, and consumers' progress as files.
//!
//! spec: nats-server v2.14.0 server/filestore.go `streamSnapshot`

mod header;
mod index;
mod progress;
mod reader;
mod record;
#[cfg(test)]
mod tests;

pub(crate) use reader::TarReader;
