use super::node::{Member, Node};
use super::shape::pick;
use super::world::World;
use crate::link_world::line::{Chunk, SECOND};

/// What goes wrong.
impl World {
    pub(super) fn fault(&mut self) {
        let node = pick(&mut self.rng, self.nodes.len());
        let (kind, chance) = (self.rng.below(10), self.rng.next_u64());
        self.trace
            .note(format_args!("{} fault {kind} at node {node}", self.now));
        match kind {
            0 => self.restart(node),
            1 => {
                self.restart(node);
                self.nodes[node].away_until = self.now + self.rng.below(8 * SECOND);
            }
            2 => self.nodes[node].away_until = self.now + self.rng.below(8 * SECOND),
            3 => {
                let other = pick(&mut self.rng, self.nodes.len());
                let until = self.now + self.rng.below(25 * SECOND);
                if other != node {
                    self.lines.part(node, other, until);
                }
            }
            4 => self.lines.frail_until = self.now + self.rng.below(8 * SECOND),
            _ => {
                let (after, side) = (self.rng.below(900) as usize, pick(&mut self.rng, 2));
                let Some(line) = self.lines.nth(chance) else {
                    return;
                };
                match kind {
                    5 => line.pipes.iter_mut().for_each(|pipe| pipe.silent = true),
                    6 => line.pipes[side].silent = true,
                    _ => line.pipes[side].cut_after = Some(after),
                }
            }
        }
    }

    /// The server starts again; its clients come back to it. Its lines end, or nobody knows.
    fn restart(&mut self, node: usize) {
        for (line, side) in self.lines.of(node) {
            if self.rng.below(2) == 0 {
                self.send(line, 1 - side, Chunk::End);
            }
            if let Some(line) = self.lines.get(line) {
                line.pipes[side].silent = true;
            }
        }
        self.lives += 1;
        let (now, place) = (self.clock(), &self.shape.nodes[node]);
        let mut new = match Node::start(node, self.lives, place, now, &mut self.rng) {
            Ok(new) => new,
            Err(why) => return self.break_with(why),
        };
        let old: Vec<Member> = self.nodes[node].clients.drain(..).collect();
        core::mem::swap(&mut self.nodes[node], &mut new);
        for member in old {
            let Some(which) = self.join(node, Some(member.account)) else {
                return;
            };
            for sub in member.client.subs.into_values() {
                self.subscribe(node, which, sub);
            }
        }
    }
}
