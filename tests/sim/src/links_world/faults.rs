use super::actions::INBOX;
use super::node::{Member, Node};
use super::shape::pick;
use super::world::{Event, World};
use crate::link_world::line::{Chunk, SECOND};

/// What goes wrong.
impl World {
    pub(super) fn fault(&mut self) {
        let node = pick(&mut self.rng, self.nodes.len());
        let (kind, chance) = (self.rng.below(12), self.rng.next_u64());
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
            5 if chance.is_multiple_of(2) => self.regulate(node, chance.is_multiple_of(4)),
            5 => self.reload(node),
            6 => self.lead_away(node),
            _ => {
                let (after, side) = (self.rng.below(900) as usize, pick(&mut self.rng, 2));
                let Some(line) = self.lines.nth(chance) else {
                    return;
                };
                match kind {
                    7 => line.pipes.iter_mut().for_each(|pipe| pipe.silent = true),
                    8 => line.pipes[side].silent = true,
                    _ => line.pipes[side].cut_after = Some(after),
                }
            }
        }
    }

    /// The server takes up another configuration, which is the same for its peers.
    fn reload(&mut self, node: usize) {
        let (now, place) = (self.clock(), &self.shape.nodes[node]);
        if let Err(why) = self.nodes[node].reload(now, place) {
            return self.break_with(why);
        }
        self.drain(node);
    }

    /// The server takes and gives less by its routes from here on, or all: they stay.
    pub(super) fn regulate(&mut self, node: usize, is_narrow: bool) {
        let (now, place) = (self.clock(), &self.shape.nodes[node]);
        if let Err(why) = self.nodes[node].regulate(now, place, is_narrow) {
            return self.break_with(why);
        }
        self.drain(node);
    }

    /// The server asks its clients to leave, and goes.
    fn lead_away(&mut self, node: usize) {
        let now = self.clock();
        self.nodes[node].broker.lame_duck(now);
        self.drain(node);
        let (life, pause) = (self.nodes[node].life, self.rng.below(4 * SECOND));
        self.plan(pause, Event::Leave { node, life });
    }

    /// The server starts again; its clients come back to it. Its lines end, or nobody knows.
    pub(super) fn restart(&mut self, node: usize) {
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
        let with = (now, &mut self.rng);
        let mut new = match Node::start(node, self.lives, place, self.variant, with) {
            Ok(new) => new,
            Err(why) => return self.break_with(why),
        };
        let old: Vec<Member> = self.nodes[node].clients.drain(..).collect();
        core::mem::swap(&mut self.nodes[node], &mut new);
        for member in old {
            let Some(which) = self.join(node, Some(member.account), member.client.is_limited)
            else {
                return;
            };
            let subs = member.client.subs.into_values();
            for sub in subs.filter(|sub| !sub.filter.starts_with(INBOX)) {
                self.subscribe(node, which, sub);
            }
        }
    }
}
