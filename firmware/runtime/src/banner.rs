use std::path::Path;
use std::time::Duration;

use frond_broker::ServerFacts;
use frond_config::Config;
use frond_node::Node;
use tokio::net::TcpListener;

use crate::Product;
use crate::check;
use crate::files::program;
use crate::options::{Options, machine_name};
use crate::space::{free_bytes, friendly, limits};

/// The first lines: what this is, under which name, from which file.
pub(crate) fn starting(product: &Product, facts: &ServerFacts, options: &Options) {
    tracing::info!("Starting {}", product.name);
    tracing::info!(
        "  Version:  {} (speaks nats-server {})",
        env!("CARGO_PKG_VERSION"),
        facts.version
    );
    tracing::info!("  Name:     {}", facts.name);
    tracing::info!("  ID:       {}", facts.id);
    for line in options.config.feature_flags.lines() {
        tracing::info!("{line}");
    }
    match &options.path {
        Some(path) => tracing::info!(
            "Using configuration file: {} ({})",
            path.display(),
            options.digest
        ),
        None => tracing::info!("No configuration file: flags and defaults apply"),
    }
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    for note in &options.notes {
        tracing::info!("{note}");
    }
    for line in options.config.advice() {
        tracing::warn!("{line}");
    }
    check::tell_missing_credentials(&options.config);
}

/// Where a person looks; the place of nats-server is that of a server without a page.
pub(crate) fn status_page(scheme: &str, on: &impl std::fmt::Display) {
    if program() != "nats-server" {
        let on = place(&on.to_string(), machine_name());
        tracing::info!("Status page: {scheme}://{on}/status");
    }
}

/// Where a browser finds what listens on `on`: every address is none that one can go to.
fn place(on: &str, machine: Option<String>) -> String {
    match (on.rsplit_once(':'), machine) {
        (Some(("0.0.0.0" | "[::]", port)), Some(machine)) => format!("{machine}:{port}"),
        _ => on.to_owned(),
    }
}

/// A box that everybody in its network may use is that by its owner's will, and knowing it.
pub(crate) fn listening(clients: &TcpListener, on: &impl std::fmt::Display, wants_login: bool) {
    tracing::info!("Listening for client connections on {on}");
    let is_near = clients.local_addr().is_ok_and(|at| at.ip().is_loopback());
    if !wants_login && !is_near && program() != "nats-server" {
        tracing::info!(
            "Nobody needs a login: whoever reaches this port may publish, subscribe and read \
             (authorization or accounts in a configuration file change that)"
        );
    }
}

/// Before the data directory is opened.
pub(crate) fn jetstream(config: &Config, dir: &Path) {
    let limits = limits(config, dir);
    tracing::info!("Starting JetStream");
    tracing::info!("---------------- JETSTREAM ----------------");
    tracing::info!("  Acks:            after the disk has the message");
    if let Some(domain) = &config.jetstream.domain {
        tracing::info!("  Domain:          {domain}");
    }
    let encryption = &config.jetstream.encryption;
    if encryption.key.is_some() {
        tracing::info!("  Encryption:      {}", encryption.cipher);
    }
    tracing::info!("  Max Memory:      {}", friendly(limits.memory_bytes_max));
    tracing::info!("  Max Storage:     {}", friendly(limits.file_bytes_max));
    tracing::info!("  Free Storage:    {}", friendly(free_bytes(dir)));
    tracing::info!("  Store Directory: \"{}\"", dir.display());
    tracing::info!("-------------------------------------------");
}

/// After it was opened and every stream is back.
pub(crate) fn jetstream_ready(node: &Node, took: Duration) {
    let (streams, messages) = node.recovered();
    if streams > 0 {
        tracing::info!("Restored {streams} streams with {messages} messages");
    }
    tracing::info!("Took {took:?} to start JetStream");
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_page_on_every_address_is_found_at_the_machines_name() {
        let machine = || Some("shop-1".to_owned());
        assert_eq!(place("0.0.0.0:8222", machine()), "shop-1:8222");
        assert_eq!(place("[::]:8443", machine()), "shop-1:8443");
        assert_eq!(place("0.0.0.0:8222", None), "0.0.0.0:8222");
        assert_eq!(place("127.0.0.1:8222", machine()), "127.0.0.1:8222");
    }
}
