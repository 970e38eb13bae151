use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use frond_clock::Timestamp;
use frond_ledger::Seq;

use super::table::Table;
use crate::limits::{CLOCK_AHEAD_MAX, RECENT_IDS_MAX};

/// Ids that lie together.
const PAGE: usize = 512;
/// Bytes of memory for an id: what is kept of it, and its place in the table.
const ID_BYTES: usize = size_of::<Known>() + 14;
/// Bytes of memory beside a text that is kept.
const TEXT_BYTES: usize = size_of::<(Seq, Box<str>)>() + 16;

/// Message ids seen within the window, whether their messages are kept or still on their way. Of
/// each its hash is kept: 128 bits of a secret key, so that no two are alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dedupe {
    window: Duration,
    /// By age.
    ring: Ring,
    /// Places in the ring, counted from the first that ever was, by hash.
    table: Table,
    hashers: [RandomState; 2],
    /// The texts of the newest ids.
    recent: VecDeque<(Seq, Box<str>)>,
    /// Bytes that those take.
    recent_bytes: usize,
}

/// Where an id is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

#[derive(Clone, Copy, Debug)]
struct Known {
    id: [u64; 2],
    time: Timestamp,
    /// 0 when it was forgotten.
    seq: Seq,
}

/// A queue in pages: it grows and shrinks without being moved.
#[derive(Clone, Debug, Default)]
struct Ring {
    pages: VecDeque<Vec<Known>>,
    /// How many of the first page are gone.
    skipped: usize,
    /// How many are gone at all.
    gone: u32,
}

impl Dedupe {
    /// For a window; zero remembers nothing.
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    /// Changes the window.
    pub(crate) fn set_window(&mut self, window: Duration) {
        self.window = window;
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.table.len() * ID_BYTES + self.recent_bytes
    }

    /// The sequence that an id was given.
    pub(crate) fn find(&self, id: &str) -> Option<Seq> {
        let place = self.place_of(self.hash(id))?;
        self.ring.at(place).map(|known| known.seq)
    }

    /// The id of the message with this sequence, when no later message had one. The window does
    /// not matter.
    pub(crate) fn newest(&self, last: Seq) -> Option<&str> {
        let (seq, id) = self.recent.back()?;
        (*seq == last).then_some(id.as_ref())
    }

    /// Remembers an id, and says where.
    pub(crate) fn insert(&mut self, id: &str, seq: Seq, time: Timestamp) -> Option<Place> {
        self.note(id, seq);
        if self.window.is_zero() {
            return None;
        }
        let id = self.hash(id);
        if let Some(place) = self.place_of(id) {
            self.table.remove(short(id), place);
        }
        let place = self.ring.push(Known { id, time, seq });
        self.table.insert(short(id), place);
        Some(Place(place))
    }

    /// Remembers an id whose window is over as the newest.
    pub(crate) fn note(&mut self, id: &str, seq: Seq) {
        if self.recent.len() == RECENT_IDS_MAX
            && let Some((_, oldest)) = self.recent.pop_front()
        {
            self.recent_bytes -= TEXT_BYTES + oldest.len();
        }
        self.recent_bytes += TEXT_BYTES + id.len();
        self.recent.push_back((seq, id.into()));
    }

    /// The window of an id of this time is over when a message of the time `newest` came.
    pub(crate) fn is_over(&self, time: Timestamp, newest: Timestamp) -> bool {
        newest.since(time) >= self.window
    }

    /// Forgets an id whose message could not be kept, and that was remembered there.
    pub(crate) fn forget(&mut self, seq: Seq, place: Option<Place>) {
        if let Some(Place(place)) = place
            && let Some(id) = self.ring.clear(place, seq)
        {
            self.table.remove(short(id), place);
        }
        while self.ring.front().is_some_and(|(_, known)| known.seq == 0) {
            self.ring.pop();
        }
        let recent_bytes = &mut self.recent_bytes;
        self.recent.retain(|(other, text)| {
            let stays = *other != seq;
            if !stays {
                *recent_bytes -= TEXT_BYTES + text.len();
            }
            stays
        });
    }

    /// Forgets what is older than the window.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        self.ring.bound(now);
        while let Some((place, known)) = self.ring.front() {
            let is_young = now.since(known.time) < self.window && !self.window.is_zero();
            if is_young && known.seq > 0 {
                return;
            }
            self.table.remove(short(known.id), place);
            self.ring.pop();
        }
    }

    /// When the oldest id is to be forgotten.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        self.ring.front().map(|(_, known)| known.time + self.window)
    }

    fn place_of(&self, id: [u64; 2]) -> Option<u32> {
        let is_it = |place| self.ring.at(place).is_some_and(|known| known.id == id);
        self.table.find(short(id), is_it)
    }

    fn hash(&self, id: &str) -> [u64; 2] {
        self.hashers.each_ref().map(|hasher| hasher.hash_one(id))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "any part of a hash is one")]
const fn short(id: [u64; 2]) -> u32 {
    id[0] as u32
}

impl Ring {
    /// The place it got. Fewer than four thousand millions are there at once.
    fn push(&mut self, known: Known) -> u32 {
        if self.pages.back().is_none_or(|page| page.len() == PAGE) {
            self.pages.push_back(Vec::new());
        }
        if let Some(page) = self.pages.back_mut() {
            page.push(known);
        }
        after(self.gone, self.len() - 1)
    }

    fn len(&self) -> usize {
        let last = self.pages.back().map_or(0, Vec::len);
        (self.pages.len() * PAGE + last).saturating_sub(PAGE + self.skipped)
    }

    fn at(&self, place: u32) -> Option<&Known> {
        let index = self.skipped + distance(self.gone, place);
        self.pages.get(index / PAGE)?.get(index % PAGE)
    }

    fn front(&self) -> Option<(u32, Known)> {
        let known = self.pages.front()?.get(self.skipped)?;
        Some((self.gone, *known))
    }

    fn pop(&mut self) {
        if self.len() == 0 {
            return;
        }
        self.skipped += 1;
        self.gone = after(self.gone, 1);
        if self.skipped == PAGE || self.len() == 0 {
            self.pages.pop_front();
            self.skipped = 0;
        }
    }

    /// None is from a time far after `now`: the clock was wrong then.
    fn bound(&mut self, now: Timestamp) {
        let newest_first = self
            .pages
            .iter_mut()
            .rev()
            .flat_map(|page| page.iter_mut().rev());
        for known in newest_first {
            if known.time.since(now) <= CLOCK_AHEAD_MAX {
                return;
            }
            known.time = now;
        }
    }

    /// Marks one as forgotten, if it has this sequence; its id.
    fn clear(&mut self, place: u32, seq: Seq) -> Option<[u64; 2]> {
        let index = self.skipped + distance(self.gone, place);
        let known = self.pages.get_mut(index / PAGE)?.get_mut(index % PAGE)?;
        if known.seq != seq {
            return None;
        }
        known.seq = 0;
        Some(known.id)
    }
}

/// Places are counted around: the table of ids knows numbers below `u32::MAX`.
const PLACES: u64 = u32::MAX as u64;

/// The place so many behind another.
fn after(place: u32, count: usize) -> u32 {
    let place = (u64::from(place) + count as u64) % PLACES;
    u32::try_from(place).unwrap_or(0)
}

/// How many places `to` is behind `from`.
fn distance(from: u32, to: u32) -> usize {
    let behind = (u64::from(to) + PLACES - u64::from(from)) % PLACES;
    usize::try_from(behind).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn an_id_is_known_for_the_window_only() {
        let mut dedupe = Dedupe::new(Duration::from_secs(10));
        dedupe.insert("a", 1, at(0));
        let place = dedupe.insert("b", 2, at(5));
        dedupe.expire(at(9));
        assert_eq!((dedupe.find("a"), dedupe.newest(2)), (Some(1), Some("b")));
        assert_eq!(dedupe.newest(3), None);
        dedupe.expire(at(10));
        assert_eq!((dedupe.find("a"), dedupe.find("b")), (None, Some(2)));
        assert_eq!(dedupe.expires_at(), Some(at(15)));
        dedupe.forget(2, place);
        assert_eq!((dedupe.find("b"), dedupe.expires_at()), (None, None));
    }

    #[test]
    fn ids_are_told_apart_and_leave_by_age() {
        let mut dedupe = Dedupe::new(Duration::from_secs(1000));
        let places: Vec<_> = (0..5000)
            .map(|n| dedupe.insert(&format!("id-{n}"), n + 1, at(i64::try_from(n).unwrap())))
            .collect();
        assert_eq!(
            (dedupe.memory_bytes() - dedupe.recent_bytes) / 5000,
            ID_BYTES
        );
        const { assert!(ID_BYTES <= 48) };
        dedupe.forget(4000, places[3999]);
        // A place that another has now, or none.
        dedupe.forget(9999, places[4000]);
        dedupe.forget(4001, None);
        dedupe.expire(at(4500));
        for n in 0..5000 {
            let known = (n > 3500 && n != 3999).then_some(n + 1);
            assert_eq!(dedupe.find(&format!("id-{n}")), known, "{n}");
        }
        dedupe.insert("id-4998", 6000, at(5000));
        dedupe.expire(at(5998));
        assert_eq!(dedupe.find("id-4998"), Some(6000));
        dedupe.expire(at(6000));
        assert_eq!(dedupe.memory_bytes(), dedupe.recent_bytes);
        assert_eq!(dedupe.expires_at(), None);
    }

    /// After four thousand millions of them the places begin again.
    #[test]
    fn no_id_is_lost_where_places_begin_again() {
        let mut dedupe = Dedupe::new(Duration::from_secs(10));
        dedupe.ring.gone = u32::MAX - 3;
        let places = [0, 1, 2, 3, 4, 5].map(|n| dedupe.insert(&format!("id-{n}"), n + 1, at(0)));
        for n in 0..6 {
            assert_eq!(dedupe.find(&format!("id-{n}")), Some(n + 1), "{n}");
        }
        dedupe.forget(6, places[5]);
        assert_eq!(dedupe.find("id-5"), None);
        dedupe.expire(at(10));
        assert_eq!(dedupe.memory_bytes(), dedupe.recent_bytes);
        assert_eq!(dedupe.expires_at(), None);
    }
}
