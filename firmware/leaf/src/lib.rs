//! The leafnode protocol, both ends, as a link of the broker.
