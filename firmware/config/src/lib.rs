//! The nats.conf language to typed options, with line and column in errors, and the difference between two of them.
