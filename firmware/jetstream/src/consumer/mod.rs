//! Consumers: a position in a stream, what was delivered and what was acknowledged.

mod io;
