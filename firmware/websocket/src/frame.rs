use crate::limits::FRAME_HEAD_BYTES_MAX;

/// What a frame is. spec: RFC 6455 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of the message before.
    Continuation,
    /// A message; what it holds is bytes to us all the same.
    Text,
    /// A message.
    Binary,
    /// The end of the conversation.
    Close,
    /// Are you there?
    Ping,
    /// I am.
    Pong,
}

/// Whether frames are masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masking {
    /// They are bare.
    Bare,
    /// Each with a key of its own.
    Masked,
}

/// The bytes before a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// What it is.
    pub opcode: Opcode,
    /// Whether it ends its message.
    pub last: bool,
    /// Whether its message is compressed; only the first frame says so.
    pub compressed: bool,
    /// What the payload is masked with.
    pub mask: Option<[u8; 4]>,
    /// Bytes of the payload.
    pub len: u64,
}

impl Opcode {
    /// The four bits on the wire.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    /// From the four bits on the wire.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::Continuation),
            1 => Some(Self::Text),
            2 => Some(Self::Binary),
            8 => Some(Self::Close),
            9 => Some(Self::Ping),
            10 => Some(Self::Pong),
            _ => None,
        }
    }
}

impl FrameHead {
    /// A whole, uncompressed frame.
    #[must_use]
    pub const fn whole(opcode: Opcode, mask: Option<[u8; 4]>, len: u64) -> Self {
        Self {
            opcode,
            last: true,
            compressed: false,
            mask,
            len,
        }
    }

    /// Appends its bytes, in the shortest form of the length.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.reserve(FRAME_HEAD_BYTES_MAX);
        let flags = u8::from(self.last) << 7 | u8::from(self.compressed) << 6;
        out.push(flags | self.opcode.bits());
        let masked = u8::from(self.mask.is_some()) << 7;
        match (u8::try_from(self.len), u16::try_from(self.len)) {
            (Ok(short @ ..=125), _) => out.push(masked | short),
            (_, Ok(medium)) => {
                out.push(masked | 126);
                out.extend_from_slice(&medium.to_be_bytes());
            }
            (_, Err(_)) => {
                out.push(masked | 127);
                out.extend_from_slice(&self.len.to_be_bytes());
            }
        }
        if let Some(mask) = self.mask {
            out.extend_from_slice(&mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(len: u64, mask: Option<[u8; 4]>) -> Vec<u8> {
        let mut out = Vec::new();
        FrameHead::whole(Opcode::Binary, mask, len).encode(&mut out);
        out
    }

    #[test]
    fn the_length_is_in_its_shortest_form() {
        assert_eq!(encoded(0, None), [0x82, 0]);
        assert_eq!(encoded(125, None), [0x82, 125]);
        assert_eq!(encoded(126, None), [0x82, 126, 0, 126]);
        assert_eq!(encoded(65_535, None), [0x82, 126, 0xff, 0xff]);
        assert_eq!(encoded(65_536, None), [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(encoded(5, Some([1, 2, 3, 4])), [0x82, 0x85, 1, 2, 3, 4]);
    }

    #[test]
    fn every_opcode_has_its_own_bits() {
        let known: Vec<Opcode> = (0..16).filter_map(Opcode::from_bits).collect();
        assert_eq!(known.len(), 6);
        for opcode in known {
            assert_eq!(Opcode::from_bits(opcode.bits()), Some(opcode));
        }
    }
}
