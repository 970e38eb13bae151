use frond_clock::Timestamp;
use frond_ledger::{Body, Seq};

use super::{BODIES_V1, BODY_HEADER_BYTES, body_crc};
use crate::coding::put_varint;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_MESSAGES_MAX};
use crate::message_code::encode_message;
use crate::space::pages_bytes;

/// A block that is being filled.
pub(super) struct Draft<'m> {
    pub(super) part: Vec<(Seq, Timestamp, &'m Body)>,
    pub(super) bodies: Vec<u8>,
    /// Where in `bodies` each message ends.
    pub(super) ends: Vec<usize>,
}

impl Default for Draft<'_> {
    fn default() -> Self {
        Self {
            part: Vec::new(),
            bodies: vec![BODIES_V1],
            ends: Vec::new(),
        }
    }
}

impl<'m> Draft<'m> {
    pub(super) fn push(&mut self, (seq, time, body): (Seq, Timestamp, &'m Body), key: &[u8]) {
        let start = self.bodies.len();
        self.bodies.resize(start + BODY_HEADER_BYTES, 0);
        encode_message(&mut self.bodies, seq, time, body);
        if body.mark() != 0 {
            put_varint(&mut self.bodies, body.mark());
        }
        seal_body(&mut self.bodies, start, key);
        self.part.push((seq, time, body));
        self.ends.push(self.bodies.len());
    }

    /// Whether the last message is one too many. The pages of a row are a power of two: a block
    /// that may end is not made to just overflow them.
    pub(super) fn is_past_full(&self) -> bool {
        let [.., before, end] = self.ends[..] else {
            return false;
        };
        let needs_more_pages = pages_bytes(end) > pages_bytes(before);
        self.part.len() > BLOCK_MESSAGES_MAX
            || end > BLOCK_BYTES_MAX
            || (self.part.len() > BLOCK_MESSAGES_MAX / 2 && needs_more_pages)
    }

    /// The last message begins another.
    pub(super) fn split_last(&mut self) -> Self {
        self.ends.pop();
        let start = self.ends.last().copied().unwrap_or(1);
        let mut next = Self::default();
        let body = self.bodies.get(start..).unwrap_or_default();
        next.bodies.extend_from_slice(body);
        next.ends.push(next.bodies.len());
        next.part.extend(self.part.pop());
        self.bodies.truncate(start);
        next
    }
}

fn seal_body(bodies: &mut [u8], start: usize, key: &[u8]) {
    let Some((head, content)) = bodies
        .get_mut(start..)
        .and_then(|body| body.split_at_mut_checked(BODY_HEADER_BYTES))
    else {
        return;
    };
    let crc = body_crc(key, content);
    let (len_part, crc_part) = head.split_at_mut(BODY_HEADER_BYTES / 2);
    len_part.copy_from_slice(&(content.len() as u32).to_le_bytes());
    crc_part.copy_from_slice(&crc.to_le_bytes());
}
