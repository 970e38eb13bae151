//! Bytes to NATS operations and back, for client, leaf, route and gateway, deciding nothing.
