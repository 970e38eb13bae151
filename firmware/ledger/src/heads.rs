use core::fmt::Debug;

use crate::{Head, Seq};

/// The heads of a stream's messages, ascending. They lie as the disk gave them and are read part by
/// part: neither a start nor its memory pays for each message until somebody looks at it.
#[derive(Debug, Default)]
pub struct Heads {
    parts: Vec<Box<dyn Packed>>,
    messages: u64,
}

/// A part of [`Heads`] as the disk gave it.
pub trait Packed: Debug + Send {
    /// How many messages it tells of, exactly.
    fn messages(&self) -> u64;

    /// Reads it; ascending, and above every part before.
    fn read(&self) -> Part;
}

/// Some heads of a stream, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What [`Head::subject`] numbers.
    pub subjects: Names,
    /// The heads.
    pub heads: Vec<Head>,
}

/// Texts by number, in one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Heads {
    /// Adds a part that is above all before; one without messages is left out.
    pub fn push(&mut self, part: impl Packed + 'static) {
        let messages = part.messages();
        if messages > 0 {
            self.messages += messages;
            self.parts.push(Box::new(part));
        }
    }

    /// How many messages there are.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.messages
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// The parts, ascending, each read when it is asked for.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = Part> {
        self.parts.iter().map(|part| part.read())
    }

    /// The same, and what was read is given back at once.
    pub fn into_parts(self) -> impl Iterator<Item = Part> {
        self.parts.into_iter().map(|part| part.read())
    }

    /// Every head with its subject, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Head, Box<str>)> {
        self.parts().flat_map(|part| {
            let Part { subjects, heads } = part;
            let heads = heads.into_iter();
            heads.map(move |head| {
                let subject = subjects.get(head.subject).unwrap_or_default().into();
                (head, subject)
            })
        })
    }

    /// The newest.
    #[must_use]
    pub fn last(&self) -> Option<Seq> {
        let mut parts = self.parts().rev();
        parts.find_map(|part| part.heads.last().map(|head| head.seq))
    }
}

impl Names {
    /// Adds a text and tells its number. One that would bring all of them past 4 GiB gets a number
    /// that nothing has, and so do those after it.
    pub fn push(&mut self, name: &str) -> u32 {
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        let Ok(end) = u32::try_from(self.text.len() + name.len()) else {
            return u32::MAX;
        };
        self.text.push_str(name);
        self.ends.push(end);
        number
    }

    /// The text with this number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        let end = *self.ends.get(number)? as usize;
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        self.text.get(start..end)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl Packed for Part {
    fn messages(&self) -> u64 {
        self.heads.len() as u64
    }

    fn read(&self) -> Part {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Timestamp;

    fn head(seq: Seq, subject: u32) -> Head {
        Head {
            seq,
            time: Timestamp::default(),
            subject,
            header_len: 0,
            payload_len: 1,
            dedupe_id: None,
            mark: 0,
        }
    }

    #[test]
    fn each_head_is_told_with_the_subject_of_its_part() {
        let mut heads = Heads::default();
        assert_eq!((heads.len(), heads.last()), (0, None));
        for (names, seqs) in [(["a", ""], [1, 2]), (["b", "a"], [5, 9])] {
            let mut part = Part::default();
            for (name, seq) in names.into_iter().zip(seqs) {
                let subject = part.subjects.push(name);
                part.heads.push(head(seq, subject));
            }
            heads.push(part);
        }
        heads.push(Part::default());
        assert_eq!((heads.len(), heads.last()), (4, Some(9)));
        let told: Vec<_> = heads.iter().map(|(head, name)| (head.seq, name)).collect();
        let expected = [(1, "a"), (2, ""), (5, "b"), (9, "a")];
        assert_eq!(told, expected.map(|(seq, name)| (seq, Box::from(name))));
    }
}
