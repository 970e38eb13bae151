use thiserror::Error;

/// Why the bytes of a peer cannot be understood; the connection ends with each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// No operation of this dialect starts like that, or a payload isn't followed by CR LF.
    #[error("unknown protocol operation")]
    UnknownOperation,
    /// The arguments are longer than [`crate::Limits::control_line_bytes_max`].
    #[error("maximum control line exceeded")]
    ControlLineTooLong,
    /// The announced size is over [`crate::Limits::payload_bytes_max`].
    #[error("maximum payload exceeded: {size} vs {max}")]
    PayloadTooLarge {
        /// What the peer announced, in bytes.
        size: usize,
        /// What it may send, in bytes.
        max: usize,
    },
    /// A known operation with arguments that make no sense.
    #[error("{0}")]
    BadArguments(&'static str),
}

impl WireError {
    /// What the peer is told in `-ERR '<text>'`; nothing when only the log learns the reason.
    #[must_use]
    pub const fn err_text(&self) -> Option<&'static str> {
        match self {
            Self::UnknownOperation => Some("Unknown Protocol Operation"),
            Self::ControlLineTooLong => Some("maximum control line exceeded"),
            Self::PayloadTooLarge { .. } => Some("Maximum Payload Violation"),
            Self::BadArguments(_) => None,
        }
    }
}
