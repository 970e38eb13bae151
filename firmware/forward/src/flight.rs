use std::collections::BTreeMap;

use frond_clock::Instant;

use crate::limits::{
    FLIGHT_BYTES_MAX, FLIGHT_BYTES_MIN, FLIGHT_TIME_LONG, FLIGHT_TIME_SHORT, FLIGHTS_MAX,
};

/// A message on its way to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// Its sequence here.
    pub(crate) seq: u64,
    pub(crate) bytes: u64,
    /// What was counted for it.
    pub(crate) spent: u64,
    pub(crate) sent: Instant,
}

/// All that are on their way, by the sequence they are to have at the hub.
///
/// As many are on their way as the line brings in a second or a few: what is published now must not
/// wait behind minutes of what waited.
#[derive(Clone, Debug)]
pub(crate) struct Flights {
    all: BTreeMap<u64, Flight>,
    bytes: u64,
    /// How many may be.
    room: u64,
    /// The last sequence at the hub, once all have arrived.
    last: u64,
}

impl Flights {
    /// The hub's stream ends there, and nothing is on its way.
    pub(crate) fn begin(&mut self, last: u64) {
        self.all.clear();
        (self.bytes, self.last) = (0, last);
    }

    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.all.is_empty() || (self.all.len() < FLIGHTS_MAX && self.bytes + bytes <= self.room)
    }

    /// The sequence that must be the last at the hub for the next one.
    pub(crate) const fn next(&self) -> u64 {
        self.last
    }

    /// One more.
    pub(crate) fn add(&mut self, flight: Flight) {
        self.last += 1;
        self.bytes += flight.bytes;
        self.all.insert(self.last, flight);
    }

    pub(crate) fn arrived(&mut self, now: Instant, hub_seq: u64) -> Option<Flight> {
        let flight = self.all.remove(&hub_seq)?;
        self.bytes -= flight.bytes;
        let took = now.since(flight.sent);
        if took < FLIGHT_TIME_SHORT {
            self.room = FLIGHT_BYTES_MAX.min(self.room + flight.bytes);
        } else if took > FLIGHT_TIME_LONG {
            self.room = FLIGHT_BYTES_MIN.max(self.room.saturating_sub(flight.bytes));
        }
        Some(flight)
    }

    /// Up to which sequence of the hub all have arrived.
    pub(crate) fn floor(&self) -> u64 {
        self.all.keys().next().map_or(self.last, |first| first - 1)
    }

    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.all.values().next().map(|flight| flight.sent)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, hub_seq: u64) -> Option<&Flight> {
        self.all.get(&hub_seq)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Flight)> {
        self.all.iter().map(|(hub_seq, flight)| (*hub_seq, flight))
    }
}

impl Default for Flights {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            bytes: 0,
            room: FLIGHT_BYTES_MIN,
            last: 0,
        }
    }
}
