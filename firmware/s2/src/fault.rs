/// Why frames cannot be read; the words are nats-server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A frame is damaged, or these are no frames.
    #[error("s2: corrupt input")]
    Frames,
    /// More came than may wait.
    #[error("too much data at once")]
    Flood,
}
