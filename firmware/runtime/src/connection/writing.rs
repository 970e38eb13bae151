//! Writing to a peer, and what is done when it is slow.

use frond_broker::Outbox;
use frond_node::{Late, Node};
use tokio::time::Instant;

use super::{Connection, Socket};
use crate::limits::TIMED_WRITE_BYTES_MAX;
use crate::line::Written;

/// How far a slow peer has come with what waited for it.
///
/// spec: nats-server v2.15.1 server/client.go `flushOutbound`: the deadline is for all that waited
/// when the write began, at most 64 MB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// When that was.
    since: Instant,
    /// Bytes of it that are not written.
    left: usize,
    /// Whether any was since.
    moved: bool,
}

impl Pace {
    /// From now on, so much waits.
    pub(super) fn of(waiting: usize) -> Self {
        Self {
            since: Instant::now(),
            left: waiting.min(TIMED_WRITE_BYTES_MAX),
            moved: false,
        }
    }

    /// So many bytes were written, and so many wait now.
    ///
    /// When all is written that this was for, what waits now is the next, and what was written
    /// beyond is of that.
    fn wrote(self, bytes: usize, waiting: usize) -> Self {
        if bytes == 0 {
            self
        } else if bytes >= self.left {
            Self {
                moved: bytes > self.left,
                ..Self::of(waiting)
            }
        } else {
            Self {
                left: self.left - bytes,
                moved: true,
                ..self
            }
        }
    }
}

impl Socket {
    /// Writes what the outbox holds as far as the peer takes it now.
    pub(crate) fn flush(&self, outbox: &mut Outbox) {
        if self.blocked.get() {
            return;
        }
        let before = outbox.len() + self.line.unsent_bytes();
        match self.line.write(outbox) {
            Ok(Written::All) => {}
            // An error shows again, and ends the task, when it reads or writes next.
            Ok(Written::Part) | Err(_) => {
                self.blocked.set(true);
                let waiting = outbox.len() + self.line.unsent_bytes();
                self.pace.set(Pace {
                    moved: waiting < before,
                    ..Pace::of(waiting)
                });
                self.changed.notify_one();
            }
        }
    }

    /// When a slow peer is late.
    pub(super) fn late_at(&self) -> Option<Instant> {
        let at = self.pace.get().since.checked_add(self.rule.deadline);
        at.filter(|_| self.blocked.get())
    }
}

impl Connection {
    /// The peer is late: whether it is given time.
    pub(super) fn goes_on_late(&self) -> bool {
        let goes_on = match self.socket.rule.late {
            Late::Close => false,
            Late::Retry => self.socket.pace.get().moved,
        };
        let now = self.core.clock().now();
        if !goes_on {
            let deadline = self.socket.rule.deadline;
            let node = |node: &mut Node| node.write_too_late(now, self.conn, deadline);
            self.core.with_node(node);
            self.core.settle();
            return false;
        }
        self.core.with_node(|node| {
            let waiting = node.outbox(self.conn).map_or(0, |outbox| outbox.len());
            let waiting = waiting + self.socket.line.unsent_bytes();
            self.socket.pace.set(Pace::of(waiting));
            node.write_late(now, self.conn, self.socket.rule.deadline);
        });
        self.core.settle();
        // There may be room that is too small for the system to tell of it.
        self.write_rest()
    }

    /// Writes on; false when that failed.
    pub(super) fn write_rest(&self) -> bool {
        self.core.with_node(|node| {
            let Some(outbox) = node.outbox(self.conn) else {
                return true;
            };
            let line = &self.socket.line;
            let before = outbox.len() + line.unsent_bytes();
            let written = line.write(outbox);
            let waiting = outbox.len() + line.unsent_bytes();
            let pace = self.socket.pace.get();
            self.socket
                .pace
                .set(pace.wrote(before.saturating_sub(waiting), waiting));
            self.socket
                .blocked
                .set(matches!(written, Ok(Written::Part)));
            written.is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_deadline_is_for_what_waited_when_the_write_began() {
        let mut began = Pace::of(100);
        began.since -= Duration::from_secs(3);
        // What comes meanwhile has its own deadline, and begins when the first is through.
        let half = began.wrote(60, 500);
        assert_eq!((half.since, half.left, half.moved), (began.since, 40, true));
        let same = half.wrote(0, 500);
        assert_eq!((same.since, same.left), (began.since, 40));
        let next = half.wrote(40, 460);
        assert!(next.since > began.since);
        assert_eq!((next.left, next.moved), (460, false));
        assert!(half.wrote(41, 460).moved);
        assert_eq!(Pace::of(usize::MAX).left, TIMED_WRITE_BYTES_MAX);
    }
}
