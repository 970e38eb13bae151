use std::collections::BTreeMap;

use frond_broker::Conn;

use crate::link_world::line::Pipe;

/// Everything between the servers.
#[derive(Debug, Default)]
pub(super) struct Lines {
    all: BTreeMap<u64, Line>,
    by_end: BTreeMap<(usize, Conn), (u64, usize)>,
    /// Pairs of servers that can't reach each other, and until when.
    apart: BTreeMap<(usize, usize), u64>,
    pub(super) made: u64,
    /// Until when new ones are cut within their first bytes.
    pub(super) frail_until: u64,
}

/// One connection between two servers.
#[derive(Debug)]
pub(super) struct Line {
    /// Who dialed, and who was called.
    pub(super) ends: [End; 2],
    /// What is on its way to each.
    pub(super) pipes: [Pipe; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) node: usize,
    pub(super) life: u64,
    pub(super) conn: Conn,
}

impl Lines {
    pub(super) fn add(&mut self, ends: [End; 2]) -> u64 {
        self.made += 1;
        for (side, end) in ends.iter().enumerate() {
            self.by_end.insert((end.node, end.conn), (self.made, side));
        }
        let pipes = [Pipe::default(), Pipe::default()];
        self.all.insert(self.made, Line { ends, pipes });
        self.made
    }

    pub(super) fn remove(&mut self, line: u64) {
        for end in self.all.remove(&line).iter().flat_map(|line| &line.ends) {
            self.by_end.remove(&(end.node, end.conn));
        }
    }

    pub(super) fn get(&mut self, line: u64) -> Option<&mut Line> {
        self.all.get_mut(&line)
    }

    /// The line of a connection, and which of its ends that is.
    pub(super) fn find(&self, node: usize, conn: Conn) -> Option<(u64, usize)> {
        self.by_end.get(&(node, conn)).copied()
    }

    /// The other end, when bytes get there and back.
    pub(super) fn working(&self, node: usize, conn: Conn) -> Option<End> {
        let (line, side) = self.find(node, conn)?;
        let line = self.all.get(&line)?;
        let is_well = line.pipes.iter().all(|pipe| !pipe.silent);
        is_well.then(|| line.ends[1 - side])
    }

    /// One of all, by chance.
    pub(super) fn nth(&mut self, chance: u64) -> Option<&mut Line> {
        let count = self.all.len() as u64;
        let at = chance.checked_rem(count)?;
        self.all.values_mut().nth(at as usize)
    }

    /// Those of one start of a server, and which end it is.
    pub(super) fn of(&self, node: usize) -> Vec<(u64, usize)> {
        let ends = self.by_end.range((node, Conn(0))..(node + 1, Conn(0)));
        ends.map(|(_, at)| *at).collect()
    }

    /// Nothing gets through between two servers until then.
    pub(super) fn part(&mut self, one: usize, other: usize, until: u64) {
        let pair = (one.min(other), one.max(other));
        self.apart.insert(pair, until);
        for line in self.all.values_mut() {
            let [a, b] = line.ends.map(|end| end.node);
            if (a.min(b), a.max(b)) == pair {
                for pipe in &mut line.pipes {
                    pipe.silent = true;
                }
            }
        }
    }

    pub(super) fn are_apart(&self, one: usize, other: usize, now: u64) -> bool {
        let until = self.apart.get(&(one.min(other), one.max(other)));
        until.is_some_and(|until| now < *until)
    }

    /// No faults from here on; what is silent already stays so.
    pub(super) fn mend(&mut self) {
        self.apart.clear();
        self.frail_until = 0;
        for pipe in self.all.values_mut().flat_map(|line| &mut line.pipes) {
            pipe.cut_after = None;
        }
    }
}
