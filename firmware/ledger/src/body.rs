use bytes::Bytes;
use core::ops::Range;

/// What is kept of a message: `subject | header | payload` in one shared allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    bytes: Bytes,
    subject_len: u32,
    header_len: u32,
    dedupe: Option<Range<u32>>,
    mark: u64,
}

impl Body {
    /// From the concatenated parts and the lengths of the first two, in bytes.
    /// `dedupe` is where in `bytes` the publisher's message id stands; `None` when a part
    /// would lie outside `bytes`, or the subject or the id is not UTF-8.
    #[must_use]
    pub fn new(
        bytes: Bytes,
        subject_len: u32,
        header_len: u32,
        dedupe: Option<Range<u32>>,
    ) -> Option<Self> {
        let inside = subject_len.checked_add(header_len)? as usize <= bytes.len();
        let is_text = |range: Range<usize>| {
            bytes
                .get(range)
                .is_some_and(|part| core::str::from_utf8(part).is_ok())
        };
        let named = dedupe
            .as_ref()
            .is_none_or(|at| is_text(at.start as usize..at.end as usize));
        (inside && named && is_text(0..subject_len as usize)).then_some(Self {
            bytes,
            subject_len,
            header_len,
            dedupe,
            mark: 0,
        })
    }

    /// The same with a number of its writer's, told again at start without reading the body.
    #[must_use]
    pub fn marked(self, mark: u64) -> Self {
        Self { mark, ..self }
    }

    /// The same in memory of its own, shared with nothing.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self {
            bytes: Bytes::copy_from_slice(&self.bytes),
            ..self.clone()
        }
    }

    /// Its writer's number, 0 when it was given none.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// The subject it is stored under.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.text(0..self.subject_len)
    }

    /// The header block, empty when there is none.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        let start = self.subject_len as usize;
        self.bytes
            .get(start..start + self.header_len as usize)
            .unwrap_or_default()
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.bytes
            .get((self.subject_len + self.header_len) as usize..)
            .unwrap_or_default()
    }

    /// The publisher's message id, when it gave one.
    #[must_use]
    pub fn dedupe_id(&self) -> Option<&str> {
        self.dedupe.clone().map(|range| self.text(range))
    }

    /// Where in [`Body::bytes`] the message id stands.
    #[must_use]
    pub fn dedupe_range(&self) -> Option<Range<u32>> {
        self.dedupe.clone()
    }

    /// All parts as one slice.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Length of the subject in bytes.
    #[must_use]
    pub fn subject_len(&self) -> u32 {
        self.subject_len
    }

    /// Length of the header block in bytes.
    #[must_use]
    pub fn header_len(&self) -> u32 {
        self.header_len
    }

    fn text(&self, range: Range<u32>) -> &str {
        let part = self
            .bytes
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default();
        core::str::from_utf8(part).unwrap_or_default()
    }
}
