//! Two brokers with a small link between them.
