use std::time::Duration;

use frond_clock::{Instant, Now};

use crate::{Node, Output};

/// Leads the clients away one after another, so that they do not all arrive elsewhere at once.
///
/// spec: nats-server v2.15.1 server/server.go `lameDuckMode`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LameDuck {
    /// The server stays.
    #[default]
    Off,
    /// Clients were told; the next is closed at `next`.
    Leading {
        /// When the next client is closed.
        next: Instant,
        /// Pause between two.
        pause: Duration,
    },
    /// Nobody is left.
    Done,
}

impl LameDuck {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Off | Self::Done => None,
            Self::Leading { next, .. } => Some(*next),
        }
    }
}

impl Node {
    pub(crate) fn start_lame_duck(&mut self, now: Now) {
        if self.lame_duck != LameDuck::Off {
            return;
        }
        self.tell_lame_duck(now);
        self.broker.lame_duck(now);
        let grace = self.config.lame_duck_grace_period;
        let left = self.config.lame_duck_duration.saturating_sub(grace);
        let clients = u32::try_from(self.clients.len()).unwrap_or(u32::MAX).max(1);
        self.lame_duck = LameDuck::Leading {
            next: now.mono + grace,
            pause: left / clients,
        };
        self.end_when_empty();
    }

    pub(crate) fn lame_duck_time(&mut self, now: Now) {
        let LameDuck::Leading { next, pause } = self.lame_duck else {
            return;
        };
        if next > now.mono {
            self.end_when_empty();
            return;
        }
        if let Some(conn) = self.clients.pop_first() {
            self.broker.close(now, conn, "Server Shutdown");
        }
        self.lame_duck = LameDuck::Leading {
            next: now.mono + pause,
            pause,
        };
        self.end_when_empty();
    }

    fn end_when_empty(&mut self) {
        if self.clients.is_empty() {
            self.lame_duck = LameDuck::Done;
            self.outputs.push_back(Output::Finished);
        }
    }
}
