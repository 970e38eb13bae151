use std::time::Duration;

use crate::connection::Kind;

/// How much of everything there may be. The defaults are nats-server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Client connections at a time (`max_connections`); with 0 nobody comes in.
    pub connections_max: usize,
    /// Subscriptions of one connection (`max_subscriptions`); `None` is unlimited.
    pub subscriptions_max: Option<usize>,
    /// Tokens of a subscription's subject (`max_subscription_tokens`); `None` is unlimited.
    pub subscription_tokens_max: Option<usize>,
    /// Arguments of one control line (`max_control_line`).
    pub control_line_bytes_max: usize,
    /// Header and payload of one message (`max_payload`); `None` is unlimited.
    pub payload_bytes_max: Option<usize>,
    /// Bytes waiting to be written to one connection (`max_pending`).
    pub outbox_bytes_max: usize,
    /// Connections at a time that have not said who they are; of more the oldest is let go.
    pub strangers_max: usize,
    /// Bytes waiting for all connections together; past it the fullest outbox is given up,
    /// as a slow consumer. `None` is unlimited.
    pub outboxes_bytes_max: Option<usize>,
    /// Bytes kept for all connections together, whatever for; past it those go that hold most,
    /// and before that nobody new comes in. `None` is unlimited.
    pub memory_bytes_max: Option<usize>,
    /// What a fast producer does to a receiver that can hardly follow.
    pub fast_producers: FastProducers,
    /// How long a peer may take to say who it is (`authorization.timeout`).
    pub auth_time_max: Duration,
    /// Silence after which a client is pinged (`ping_interval`).
    pub ping_interval: Duration,
    /// Pings that may be unanswered (`ping_max`).
    pub pings_out_max: u32,
    /// Closed connections remembered for monitoring (`max_closed_clients`).
    pub closed_clients_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 65_536,
            subscriptions_max: None,
            subscription_tokens_max: None,
            control_line_bytes_max: frond_wire::limits::CONTROL_LINE_BYTES_MAX,
            payload_bytes_max: Some(frond_wire::limits::PAYLOAD_BYTES_MAX),
            outbox_bytes_max: 64 * 1024 * 1024,
            strangers_max: 4096,
            outboxes_bytes_max: None,
            memory_bytes_max: None,
            fast_producers: FastProducers::Wait,
            auth_time_max: Duration::from_secs(2),
            ping_interval: Duration::from_secs(120),
            pings_out_max: 2,
            closed_clients_max: 256,
        }
    }
}

/// What happens when a client publishes more than a receiver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastProducers {
    /// They are held back a little, in the hope that the receiver catches up.
    Wait,
    /// They go on, and the receiver misses what they say until it has caught up
    /// (`no_fast_producer_stall`).
    Go,
}

/// The first ping comes this soon: it measures the round trip.
pub(crate) const FIRST_PING_AFTER: Duration = Duration::from_secs(2);

/// What happens again and again is logged this often.
pub(crate) const REFRAIN_EVERY: Duration = Duration::from_secs(600);

/// Things that are remembered for that.
pub(crate) const REFRAINS_MAX: usize = 256;

/// Shorter times a client is held back are not told.
///
/// spec: nats-server v2.15.1 server/client.go `stallClientMaxDuration`
pub(crate) const STALL_TOLD_FROM: Duration = Duration::from_millis(5);

/// How often the log tells of a client that was held back.
pub(crate) const STALLS_TOLD_EVERY: Duration = Duration::from_secs(1);

/// Strangers that were let go are told of this often.
pub(crate) const STRANGERS_TOLD_EVERY: Duration = Duration::from_secs(10);

impl Limits {
    pub(crate) fn holds_producers(&self) -> bool {
        self.fast_producers == FastProducers::Wait
    }

    /// Bytes that may wait for a connection: servers tell each other all interest at once, and
    /// are cut only when they take nothing for long.
    pub(crate) fn outbox_max_of(&self, kind: &Kind) -> usize {
        match kind {
            Kind::Link(_) => self.outbox_bytes_max.max(LINK_OUTBOX_BYTES_MIN),
            Kind::Client(_) | Kind::Closing => self.outbox_bytes_max,
        }
    }

    /// Whether a receiver with this much waiting misses what a fast producer says.
    /// spec: nats-server v2.15.1 server/client.go `deliverMsg`, `queueOutbound`
    pub(crate) const fn misses(&self, waiting_bytes: usize) -> bool {
        match self.fast_producers {
            FastProducers::Wait => false,
            FastProducers::Go => waiting_bytes > self.outbox_bytes_max / 4 * 3,
        }
    }
}

/// What may wait for another server whatever `max_pending` says.
pub(crate) const LINK_OUTBOX_BYTES_MIN: usize = 64 * 1024 * 1024;

/// What an idle connection costs, its socket's task included, about.
pub(crate) const CONNECTION_BYTES: usize = 4 * 1024;

/// What its TLS session costs more, about.
pub(crate) const SECURED_BYTES: usize = 8 * 1024;

/// What a subscription costs besides its words, about.
pub(crate) const SUBSCRIPTION_BYTES: usize = 512;

/// What each token of its filter costs in the tree, about.
pub(crate) const SUBSCRIPTION_TOKEN_BYTES: usize = 192;

/// Who holds no more than this is not refused a subscription for want of memory.
pub(crate) const MODEST_BYTES: usize = 16 * 1024;

/// A measured round trip is good for this long.
pub(crate) const RTT_AGE_MAX: Duration = Duration::from_secs(3600);

/// Subjects whose matches an account remembers.
pub(crate) const CACHED_MATCHES_MAX: usize = 1024;

/// Subscribers in all matches that an account remembers.
pub(crate) const CACHED_SUBSCRIBERS_MAX: usize = 1 << 20;

/// Bytes of the subjects whose matches an account remembers.
pub(crate) const CACHED_SUBJECTS_BYTES_MAX: usize = 512 * 1024;

/// Replies a client with `allow_responses` may still use.
/// spec: nats-server v2.15.1 server/client.go `replyPermLimit`.
pub(crate) const TRACKED_REPLIES_MAX: usize = 4096;

/// Bytes of their subjects.
pub(crate) const TRACKED_REPLIES_BYTES_MAX: usize = 512 * 1024;

/// The first chunk of an outbox: most need no more.
pub(crate) const CHUNK_BYTES_MIN: usize = 4 * 1024;

/// Further chunks, unless one message needs more.
pub(crate) const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// Empty chunks that are kept for all connections together.
pub(crate) const SPARE_BYTES_MAX: usize = 1280 * 1024;

/// Bytes of a connection's name, language or version that are kept.
pub(crate) const CLIENT_WORD_BYTES_MAX: usize = 256;

/// Answers that services of one account owe to other accounts, at most; further requests find
/// nobody.
pub(crate) const AWAITED_RESPONSES_MAX: usize = 262_144;

/// Bytes of their subjects.
pub(crate) const AWAITED_RESPONSES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Operations of one connection before others have their turn that change what the whole server
/// knows: subscriptions, and who somebody is.
pub(crate) const OPERATIONS_PER_TURN: usize = 8;

/// Messages delivered for one connection before others have their turn.
pub(crate) const DELIVERIES_PER_TURN: u64 = 16 * 1024;

/// How long a reply that a gateway mapped may be answered where it came from.
/// spec: nats-server v2.15.1 server/gateway.go `defaultGatewayRecentSubExpiration`
pub(crate) const MAPPED_REPLY_TIME: Duration = Duration::from_secs(2);

/// Mapped replies of one client that are kept at a time.
pub(crate) const MAPPED_REPLIES_MAX: usize = 65_536;

/// The bytes of them.
pub(crate) const MAPPED_REPLIES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Interest in accounts that this server doesn't know yet, in bytes per connection.
pub(crate) const UNMET_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What is kept of a subscription whose connection is gone costs this besides its words, about.
pub(crate) const GONE_SUBSCRIPTION_BYTES: usize = 96;

/// What is kept of all such subscriptions together; of more the oldest connections lose theirs.
pub(crate) const GONE_SUBSCRIPTIONS_BYTES_MAX: usize = 2 * 1024 * 1024;
