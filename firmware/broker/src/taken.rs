/// What became of the bytes of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes at the start of the buffer that are done with.
    pub consumed: usize,
    /// What to do next.
    pub next: Next,
}

/// When to call [`Broker::bytes`] again for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When the buffer holds at least so many bytes in total.
    Read(usize),
    /// The same, but some receiver is behind: wait a few milliseconds, or until it drained.
    Stall(usize),
    /// After [`Broker::verified`], with what is left of the buffer.
    Verify,
    /// Never: the connection is being closed.
    Never,
}
