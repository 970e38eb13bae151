//! Frond beside real peers: nats-server, client libraries and the nats CLI.
