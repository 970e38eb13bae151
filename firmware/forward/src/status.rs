use frond_clock::Timestamp;
use serde::Serialize;

/// How a forward block is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Of the block.
    pub name: String,
    /// The account it is in, which is that of its remote.
    pub account: String,
    /// The JetStream domain of the hub.
    pub hub: String,
    /// The first url of the remote that leads there.
    pub url: String,
    /// The stream at the hub.
    pub stream: String,
    /// What it is doing.
    pub state: State,
    /// What is wrong, in the words of who noticed.
    pub trouble: String,
    /// Messages that are kept here and are not at the hub.
    pub backlog_messages: u64,
    /// Bytes of them.
    pub backlog_bytes: u64,
    /// When the oldest of them came, in milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Those of them that are on their way.
    pub in_flight: u64,
    /// Messages that arrived since the start.
    pub arrived_messages: u64,
    /// Bytes that went over the line for it since the start, before compression.
    pub sent_bytes: u64,
    /// Bytes that may in each period; `None`: as many as there are.
    pub budget_bytes: Option<u64>,
    /// Which period: `hour`, `day`, `month`.
    pub budget_period: Option<&'static str>,
    /// Bytes that did in this one.
    pub budget_used: u64,
    /// When the next one begins, in milliseconds since 1970.
    pub budget_until_ms: Option<i64>,
    /// Messages that will never arrive: dropped for room, too old, or replaced by a newer one.
    pub left_out: u64,
    /// Messages dropped for room by their importance, since the start.
    pub dropped: Vec<Dropped>,
    /// Messages that the hub will not have.
    pub refused: u64,
}

/// Messages of one importance that were dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The priority; `>` is everything that none names.
    pub priority: String,
    /// How many.
    pub messages: u64,
}

/// What a forward block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It makes its stream on this box.
    #[default]
    Starting,
    /// The hub cannot be reached.
    HubAway,
    /// There is a backlog, and it goes.
    Forwarding,
    /// Everything has arrived.
    Settled,
    /// What the line may cost is spent.
    BudgetSpent,
    /// The hub has no room.
    HubFull,
    /// Something is wrong that does not go away by itself.
    Trouble,
}

pub(crate) fn millis(at: Timestamp) -> i64 {
    at.as_nanos() / 1_000_000
}
