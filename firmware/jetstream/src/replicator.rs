use frond_clock::Now;
use frond_ledger::{Batch, Receipt, Record, Ticket};

/// A replication group: alone the node itself, in a cluster one raft group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// What is proposed to a group: records that must be agreed and kept before anybody is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The records, in order.
    pub records: Vec<Record>,
}

/// Why a proposal was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLeader {
    /// Another node decides.
    Elsewhere,
    /// Nobody decides at the moment.
    Nobody,
}

/// What a replicator wants done.
#[derive(Debug)]
pub enum Step {
    /// Keep this batch; its receipt comes back through [`Replicator::persisted`].
    Append(Batch),
    /// The entry proposed under this ticket is agreed and kept.
    Committed(Committed),
}

/// Proof that an entry may be told to the world.
///
/// Made from a [`Receipt`] when one replica decides (or from a quorum of them), or for an
/// entry whose owner asked for no durability: [`Committed::volatile`].
#[derive(Debug, PartialEq, Eq)]
pub struct Committed {
    ticket: Ticket,
}

impl Committed {
    /// One replica, one receipt.
    #[must_use]
    pub fn from_receipt(receipt: &Receipt) -> Self {
        Self {
            ticket: receipt.ticket(),
        }
    }

    /// For memory storage and `persist_mode: async`, where the client asked for no disk:
    /// the [`Volatile`] can only be had from such a stream's configuration.
    #[must_use]
    pub fn volatile(ticket: Ticket, _: Volatile) -> Self {
        Self { ticket }
    }

    /// The proposal it proves.
    #[must_use]
    pub const fn ticket(&self) -> Ticket {
        self.ticket
    }
}

/// A stream's promise that its owner asked for acks without the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volatile(pub(crate) ());

/// Who decides an append: this node alone, or a group.
pub trait Replicator: std::fmt::Debug {
    /// Proposes an entry.
    ///
    /// # Errors
    /// When this node does not lead the group.
    fn propose(&mut self, now: Now, group: GroupId, entry: Entry) -> Result<Ticket, NotLeader>;

    /// A batch of ours is on the medium.
    fn persisted(&mut self, receipt: Receipt);

    /// What to do next, in order, until `None`.
    fn poll(&mut self) -> Option<Step>;
}
