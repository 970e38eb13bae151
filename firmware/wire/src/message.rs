use bytes::{BufMut, Bytes, BytesMut};

/// One message as slices of somebody's buffer: how it travels inside one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The subject it was published on, a literal.
    pub subject: &'a str,
    /// Where an answer goes, when one is wanted.
    pub reply: Option<&'a str>,
    /// The whole header block `NATS/1.0…\r\n\r\n`, empty when there is none.
    pub header: &'a [u8],
    /// What the publisher sent after the header block.
    pub payload: &'a [u8],
}

impl Message<'_> {
    /// Header and payload bytes together, the size `max_payload` counts.
    #[must_use]
    pub const fn body_bytes(&self) -> usize {
        self.header.len() + self.payload.len()
    }
}

/// One message that owns its bytes, in one allocation that may be shared.
///
/// Laid out `reply | subject | header | payload`, so that what a stream keeps
/// (subject, header, payload) is one slice of it: no copy between here and the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageBuf {
    bytes: Bytes,
    reply_len: u32,
    subject_len: u32,
    header_len: u32,
}

impl MessageBuf {
    /// Copies a borrowed message into one allocation.
    #[must_use]
    pub fn copy_of(message: &Message<'_>) -> Self {
        let reply = message.reply.unwrap_or_default();
        let total = reply.len() + message.subject.len() + message.body_bytes();
        let mut bytes = BytesMut::with_capacity(total);
        bytes.put_slice(reply.as_bytes());
        bytes.put_slice(message.subject.as_bytes());
        bytes.put_slice(message.header);
        bytes.put_slice(message.payload);
        Self {
            bytes: bytes.freeze(),
            reply_len: len32(reply.len()),
            subject_len: len32(message.subject.len()),
            header_len: len32(message.header.len()),
        }
    }

    /// The message as slices.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        Message {
            subject: self.subject(),
            reply: self.reply(),
            header: self.header(),
            payload: self.bytes.get(self.payload_start()..).unwrap_or_default(),
        }
    }

    /// The subject.
    #[must_use]
    pub fn subject(&self) -> &str {
        text(self.part(self.reply_len, self.subject_len))
    }

    /// The whole header block, empty when there is none.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        self.part(self.reply_len + self.subject_len, self.header_len)
    }

    /// The reply subject, when there is one.
    #[must_use]
    pub fn reply(&self) -> Option<&str> {
        (self.reply_len > 0).then(|| text(self.part(0, self.reply_len)))
    }

    /// `subject | header | payload` as one shared slice, with the lengths of the first two.
    #[must_use]
    pub fn stored(&self) -> (Bytes, u32, u32) {
        (
            self.bytes.slice(self.reply_len as usize..),
            self.subject_len,
            self.header_len,
        )
    }

    fn payload_start(&self) -> usize {
        (self.reply_len + self.subject_len + self.header_len) as usize
    }

    fn part(&self, start: u32, len: u32) -> &[u8] {
        self.bytes
            .get(start as usize..(start + len) as usize)
            .unwrap_or_default()
    }
}

/// Lengths fit: a control line and a payload are each bounded far below 4 GiB.
fn len32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The bytes were copied from a `str` at the same boundaries.
fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owning_and_borrowing_are_inverse() {
        for reply in [None, Some("_INBOX.1")] {
            let message = Message {
                subject: "a.b",
                reply,
                header: b"NATS/1.0\r\n\r\n",
                payload: b"x",
            };
            let owned = MessageBuf::copy_of(&message);
            assert_eq!(owned.message(), message);
            let (bytes, subject, header) = owned.stored();
            assert_eq!(
                (&bytes[..], subject, header),
                (&b"a.bNATS/1.0\r\n\r\nx"[..], 3, 12)
            );
        }
    }
}
