use super::client::Client;
use super::line::{Chunk, SECOND};
use super::side::Side;
use super::topics::End;
use super::world::World;

/// What goes wrong.
impl World {
    pub(super) fn fault(&mut self) {
        let newest = self.next_line;
        let end = if self.rng.below(2) == 0 {
            End::Leaf
        } else {
            End::Hub
        };
        let kind = self.rng.below(6);
        self.trace
            .note(format_args!("{} fault {kind} {end:?}", self.now));
        match kind {
            0 => self.restart(end),
            1 => self.away_until = self.now + self.rng.below(8 * SECOND),
            _ => {
                let Some(line) = self.lines.get_mut(&newest) else {
                    return;
                };
                if kind == 2 {
                    for end in End::BOTH {
                        line.pipe(end).silent = true;
                    }
                } else if kind == 3 {
                    line.pipe(end).silent = true;
                } else {
                    line.pipe(end).cut_after = Some(self.rng.below(600) as usize);
                }
            }
        }
    }

    /// The server starts again; its clients come back to it. Its lines end, or nobody knows.
    fn restart(&mut self, end: End) {
        self.lives += 1;
        let lines: Vec<u64> = self.lines.keys().copied().collect();
        for line in lines {
            if self.rng.below(2) == 0 {
                self.send(line, end.other(), Chunk::End);
            }
            if let Some(line) = self.lines.get_mut(&line) {
                line.pipe(end).silent = true;
            }
        }
        let now = self.clock();
        let mut new = Side::start(end, self.lives, now, &mut self.rng, self.variant);
        let old: Vec<Client> = self.side(end).clients.drain(..).collect();
        core::mem::swap(self.side(end), &mut new);
        for client in old {
            self.join(end);
            let which = self.side(end).clients.len() - 1;
            for sub in client.subs.into_values() {
                self.subscribe(end, which, sub);
            }
        }
    }
}
