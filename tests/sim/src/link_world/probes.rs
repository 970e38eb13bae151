//! After the faults: everything works again, and soon.

use frond_subject::matches;

use super::client::Subscription;
use super::line::{MILLI, SECOND};
use super::topics::{End, is_told, may_cross, subjects};
use super::world::World;

/// A dead line is noticed within 30 s; a dial follows within 2 s; the handshake takes a moment.
const HEALED_WITHIN: u64 = 35 * SECOND;

impl World {
    pub(super) fn check_healed(&mut self) {
        let until = self.now + HEALED_WITHIN;
        // What the faults left on its way may still do harm, as a late CONNECT of a server that
        // is no more: it pushes out the connection of the one that took its place.
        self.run_until(self.now + SECOND);
        while self.broken.is_none() && self.now < until && !self.is_whole() {
            self.run_until(self.now + 200 * MILLI);
        }
        if self.broken.is_none() && !self.is_whole() {
            self.break_with(self.what_is_missing());
        }
        self.check_requests();
        self.check_messages();
    }

    /// Both ends are up and know what the other wants.
    fn is_whole(&self) -> bool {
        self.is_attached()
            && self.leaf.wanted_by_peer() == self.wishes(End::Hub)
            && self.hub.wanted_by_peer() == self.wishes(End::Leaf)
    }

    fn what_is_missing(&self) -> String {
        format!(
            "not healed: leaf up {:?}, hub up {:?}; leaf wants {:?}, hub knows {:?}; hub wants {:?}, leaf knows {:?}",
            self.leaf.attached(),
            self.hub.attached(),
            self.wishes(End::Leaf),
            self.hub.wanted_by_peer(),
            self.wishes(End::Hub),
            self.leaf.wanted_by_peer(),
        )
    }

    /// What an end should have told the other.
    fn wishes(&self, end: End) -> Vec<String> {
        let side = match end {
            End::Leaf => &self.leaf,
            End::Hub => &self.hub,
        };
        let mut wishes: Vec<String> = side
            .clients
            .iter()
            .flat_map(|client| client.subs.values())
            .map(|sub| sub.filter.clone())
            .filter(|filter| is_told(filter, end))
            .collect();
        wishes.sort_unstable();
        wishes.dedup();
        wishes
    }

    /// A request from each end is answered once from the other.
    fn check_requests(&mut self) {
        for end in End::BOTH {
            let service = format!("svc.{}", end.letter());
            let inbox = format!("_INBOX.{}", end.letter());
            for (at, filter) in [(end.other(), &service), (end, &inbox)] {
                if self.side(at).clients.is_empty() {
                    return;
                }
                let sub = Subscription {
                    filter: filter.clone(),
                    queue: None,
                };
                self.subscribe(at, 0, sub);
            }
            self.settle();
            let before = self.copies_of_inbox(end);
            let conn = self.side(end).clients[0].conn;
            self.publish_numbered(end, conn, &service, Some(&inbox));
            self.settle();
            let answers = self.copies_of_inbox(end) - before;
            if answers != 1 && self.broken.is_none() {
                self.break_with(format!("a request from {end:?} got {answers} answers"));
            }
        }
    }

    /// Each subject from each end reaches exactly whom it should.
    fn check_messages(&mut self) {
        for end in End::BOTH {
            for subject in subjects() {
                if self.broken.is_some() || self.side(end).clients.is_empty() {
                    return;
                }
                let conn = self.side(end).clients[0].conn;
                let id = self.publish_numbered(end, conn, subject, None);
                self.settle();
                self.check_copies(id, subject, end);
            }
        }
    }

    fn check_copies(&mut self, id: u64, subject: &str, from: End) {
        let mut groups = Vec::new();
        let mut missing = Vec::new();
        for end in End::BOTH {
            let reaches = end == from || may_cross(subject, from);
            let side = match end {
                End::Leaf => &self.leaf,
                End::Hub => &self.hub,
            };
            for client in &side.clients {
                for (sid, sub) in &client.subs {
                    if !reaches || !matches(&sub.filter, subject) {
                        continue;
                    }
                    match sub.queue {
                        Some(queue) => groups.push(queue),
                        None if self.judge.copies(id, end, client.conn, *sid) != 1 => {
                            missing.push(format!("{sub:?} at {end:?}"));
                        }
                        None => {}
                    }
                }
            }
        }
        let unserved = groups
            .iter()
            .filter(|queue| self.judge.grouped(id, queue) != 1);
        missing.extend(unserved.map(|queue| format!("group {queue}")));
        if !missing.is_empty() {
            self.break_with(format!("{subject} from {from:?} did not reach {missing:?}"));
        }
    }

    fn copies_of_inbox(&self, end: End) -> u64 {
        let side = match end {
            End::Leaf => &self.leaf,
            End::Hub => &self.hub,
        };
        let inbox = format!("_INBOX.{}", end.letter());
        let client = &side.clients[0];
        let sids = client.subs.iter().filter(|(_, sub)| sub.filter == inbox);
        sids.map(|(sid, _)| self.judge.copies_of(end, client.conn, *sid))
            .sum()
    }

    /// Until nothing is under way.
    fn settle(&mut self) {
        self.run_until(self.now + 5 * MILLI);
        while self.broken.is_none() && self.is_busy() {
            self.run_until(self.now + 50 * MILLI);
        }
    }
}
