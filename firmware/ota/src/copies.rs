use crate::files::Found;
use crate::{File, Record, Shelf};

/// Both copies of the record.
pub(crate) struct Copies {
    a: Found<Record>,
    b: Found<Record>,
}

impl Copies {
    pub(crate) fn read(shelf: &dyn Shelf) -> Self {
        Self {
            a: Found::read(shelf, File::RecordA),
            b: Found::read(shelf, File::RecordB),
        }
    }

    /// The older or damaged one first: while it is written the other one holds.
    pub(crate) fn order(&self) -> [File; 2] {
        if seq(&self.a) > seq(&self.b) {
            [File::RecordB, File::RecordA]
        } else {
            [File::RecordA, File::RecordB]
        }
    }

    pub(crate) fn newest(&self) -> Option<Record> {
        let newest = if seq(&self.a) > seq(&self.b) {
            &self.a
        } else {
            &self.b
        };
        newest.clone().whole()
    }

    pub(crate) fn agree(&self) -> bool {
        self.a == self.b
    }

    /// There is none.
    pub(crate) fn are_absent(&self) -> bool {
        matches!((&self.a, &self.b), (Found::Absent, Found::Absent))
    }

    /// One of them is all there is.
    pub(crate) fn is_single(&self) -> bool {
        seq(&self.a).is_some() != seq(&self.b).is_some()
    }

    /// Both could be read, whatever they are worth.
    pub(crate) fn are_read(&self) -> bool {
        self.a.doubt().is_none() && self.b.doubt().is_none()
    }

    /// Why nobody knows what the record is. A copy that cannot be read says nothing that the other
    /// one doesn't, but one by a newer program does.
    pub(crate) fn doubt(&self) -> Option<String> {
        let is_newer = matches!(self.a, Found::Newer) || matches!(self.b, Found::Newer);
        if self.newest().is_some() && !is_newer {
            return None;
        }
        self.a.doubt().or_else(|| self.b.doubt())
    }
}

fn seq(copy: &Found<Record>) -> Option<u64> {
    match copy {
        Found::Whole(record) => Some(record.seq),
        Found::Absent | Found::Damaged | Found::Newer | Found::Unreadable(_) => None,
    }
}
