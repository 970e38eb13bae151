//! Protocol transcripts run against our node and a real nats-server.
