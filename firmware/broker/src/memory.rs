//! What is kept for all connections together, and who goes when that is too much.
//!
//! Everything that is kept is added where it begins and subtracted where it ends; nobody is
//! visited to know the sum. Only when it is too large all connections are looked at once, and
//! enough of them go that this is not soon necessary again.

use frond_clock::Now;

use crate::account_limits::TOO_MANY_SUBS;
use crate::closing::Slow;
use crate::connection::{Kept, Kind};
use crate::interest::{Owner, Sub};
use crate::limits::{MODEST_BYTES, SUBSCRIPTION_BYTES, SUBSCRIPTION_TOKEN_BYTES};
use crate::{Broker, Conn, Level};

/// Whether a subscription comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weigh {
    Add,
    Remove,
}

/// Who holds how much.
struct Holder {
    bytes: usize,
    slot: u32,
}

impl Broker {
    /// Bytes kept for all connections: about what they cost.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.stock.held()
    }

    /// The shell holds so many bytes for a connection: read and not yet understood, or of its
    /// TLS session and its frames. Take what [`Broker::poll`] has after it.
    pub fn hold(&mut self, now: Now, conn: Conn, bytes: usize) {
        self.now = now;
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        match connection.kind {
            Kind::Client(_) | Kind::Link(_) => {}
            Kind::Closing => return,
        }
        let before = core::mem::replace(&mut connection.kept.shell, bytes);
        self.stock.release(before);
        self.stock.hold(bytes);
        self.settle();
    }

    /// Nothing is kept for a connection any more but what is to be written to it.
    pub(crate) fn lighten(&mut self, slot: u32) {
        if let Some(connection) = self.conns.get_mut(slot) {
            let kept = core::mem::take(&mut connection.kept);
            self.stock.release(kept.sum());
        }
    }

    /// A subscription comes or goes. What is this server's own is not counted.
    pub(crate) fn weigh_sub(&mut self, sub: &Sub, weigh: Weigh) {
        let slot = match &sub.owner {
            Owner::Client { slot, .. } => Some(*slot),
            Owner::Link { link, .. } => self.links.get(link).and_then(|link| link.slot),
            Owner::Internal(_) | Owner::Import(_) | Owner::Responses => None,
        };
        let Some(connection) = slot.and_then(|slot| self.conns.get_mut(slot)) else {
            return;
        };
        let subs = &mut connection.kept.subs;
        match weigh {
            Weigh::Add => {
                let bytes = weight(sub);
                *subs += bytes;
                self.stock.hold(bytes);
            }
            Weigh::Remove => {
                let bytes = weight(sub).min(*subs);
                *subs -= bytes;
                self.stock.release(bytes);
            }
        }
    }

    /// Whether there is hardly room left: nobody new comes in.
    pub(crate) fn is_crowded(&self) -> bool {
        let max = self.limits.memory_bytes_max.unwrap_or(usize::MAX);
        self.stock.held() > max / 8 * 7
    }

    /// Whether a connection already holds more than its share while there is hardly room left.
    pub(crate) fn is_greedy(&self, slot: u32) -> bool {
        if !self.is_crowded() {
            return false;
        }
        let max = self.limits.memory_bytes_max.unwrap_or(usize::MAX);
        let share = max / (2 * self.conns.len().max(1));
        let held = self.conns.get(slot).map_or(0, |connection| {
            connection.kept.sum() + connection.outbox.held()
        });
        held > share.max(MODEST_BYTES)
    }

    /// Why a subscription is refused that would only add to more than its client's share.
    pub(crate) fn greed(&mut self, slot: u32) -> Option<String> {
        let greedy = self.is_greedy(slot);
        self.totals.refused_for_memory += u64::from(greedy);
        greedy.then(|| TOO_MANY_SUBS.to_owned())
    }

    /// Makes room when there is none left: first those go that hold much more than others, then
    /// those that have not said who they are, then whoever holds most.
    pub(crate) fn relieve_memory(&mut self) {
        let max = self.limits.memory_bytes_max.unwrap_or(usize::MAX);
        if self.stock.held() > max {
            self.drop_last_words();
        }
        if self.stock.held() <= max {
            return;
        }
        let enough = max / 8 * 7;
        let mut holders: Vec<Holder> = self
            .conns
            .iter()
            .filter(|(_, connection)| match connection.kind {
                Kind::Client(_) | Kind::Link(_) => true,
                Kind::Closing => false,
            })
            .map(|(slot, connection)| Holder {
                bytes: connection.kept.sum() + connection.outbox.held(),
                slot,
            })
            .collect();
        let mean = self.stock.held() / holders.len().max(1);
        holders.sort_unstable_by(|a, b| b.bytes.cmp(&a.bytes).then(a.slot.cmp(&b.slot)));
        let hogs = holders.partition_point(|holder| holder.bytes > mean.saturating_mul(4));
        let (hogs, others) = holders.split_at(hogs);
        for hog in hogs {
            if self.stock.held() <= enough {
                return;
            }
            self.crowd_out(hog);
        }
        while self.stock.held() > enough && self.shed_stranger() {}
        for one in others {
            if self.stock.held() <= enough {
                return;
            }
            self.crowd_out(one);
        }
    }

    /// Gives up what waits for those who are on their way out: nobody else shall go for it.
    pub(crate) fn drop_last_words(&mut self) {
        for connection in self.conns.values_mut() {
            match connection.kind {
                Kind::Client(_) | Kind::Link(_) => {}
                Kind::Closing => connection.outbox.clear(),
            }
        }
    }

    /// Closes a connection for what it holds, in the words that fit that best.
    fn crowd_out(&mut self, holder: &Holder) {
        let slot = holder.slot;
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let (kept, outbox) = (connection.kept, connection.outbox.held());
        let link = match &connection.kind {
            Kind::Client(_) => None,
            Kind::Link(link) => Some(*link),
            Kind::Closing => return,
        };
        self.totals.crowded_out += 1;
        let (held, max) = (self.stock.held(), self.limits.memory_bytes_max);
        let text = format!(
            "all connections hold {held} bytes, this one {} of them, and there is room for {}",
            holder.bytes,
            max.unwrap_or(usize::MAX)
        );
        self.log_connection(slot, Level::Warn, &text);
        match Excess::of(&kept, outbox) {
            Excess::Unread => self.close_slow_consumer(slot, Slow::OfAll),
            Excess::Told(text, cause) => match link {
                Some(link) => self.evict_link(link, text, cause),
                None => self.refuse(slot, text, cause),
            },
        }
    }
}

/// What a connection holds most of.
enum Excess {
    /// What its peer does not read.
    Unread,
    /// Something else: the text for its peer, and the cause.
    Told(&'static str, &'static str),
}

impl Excess {
    const fn of(kept: &Kept, outbox: usize) -> Self {
        if outbox >= kept.subs && outbox >= kept.shell {
            Self::Unread
        } else if kept.subs >= kept.shell {
            Self::Told(TOO_MANY_SUBS, "Maximum Subscriptions Exceeded")
        } else {
            Self::Told(
                "Maximum Payload Violation",
                "Maximum Message Payload Exceeded",
            )
        }
    }
}

/// What a subscription costs, about: the tree has a place for each token, and its words are kept
/// there, in the subscription and with the connection.
fn weight(sub: &Sub) -> usize {
    let sid = match &sub.owner {
        Owner::Client { sid, .. } => sid.len(),
        Owner::Link { .. } | Owner::Internal(_) | Owner::Import(_) | Owner::Responses => 0,
    };
    let tokens = sub.filter.bytes().filter(|byte| *byte == b'.').count() + 1;
    let queue = sub.queue.as_ref().map_or(0, |queue| queue.len());
    SUBSCRIPTION_BYTES + tokens * SUBSCRIPTION_TOKEN_BYTES + 2 * (sub.filter.len() + sid + queue)
}
