//! What bounds one operation.

/// How much one operation may weigh before the peer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of a client's control line, the verb not counted (`max_control_line`).
    /// Server-to-server dialects may use [`PEER_CONTROL_LINE_FACTOR`] times as much.
    pub control_line_bytes_max: usize,
    /// Header and payload together (`max_payload`); `None` is unlimited.
    pub payload_bytes_max: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            control_line_bytes_max: CONTROL_LINE_BYTES_MAX,
            payload_bytes_max: Some(PAYLOAD_BYTES_MAX),
        }
    }
}

/// Default of `max_control_line`.
pub const CONTROL_LINE_BYTES_MAX: usize = 4096;

/// Default of `max_payload`.
pub const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

/// Peers that are servers send origin, reply and queue groups in one line.
pub const PEER_CONTROL_LINE_FACTOR: usize = 16;

/// The verb and the white space before its arguments: nobody needs more,
/// and without a bound a peer could feed blanks forever.
pub(crate) const VERB_BYTES_MAX: usize = 256;

/// Digits of a size; nats-server refuses longer ones too.
pub(crate) const SIZE_DIGITS_MAX: usize = 9;
