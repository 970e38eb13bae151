use crate::{Message, RouteOp};

/// What a peer said, in slices of the connection's read buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op<'a> {
    /// `INFO {json}`.
    Info(&'a [u8]),
    /// `CONNECT {json}`.
    Connect(&'a [u8]),
    /// `PUB` or `HPUB` from a client.
    Publish(Message<'a>),
    /// `SUB <subject> [queue] <sid>` from a client.
    Subscribe {
        /// Subject filter as sent, not yet validated.
        subject: &'a str,
        /// Queue group.
        queue: Option<&'a str>,
        /// The client's own name for the subscription.
        sid: &'a str,
    },
    /// `UNSUB <sid> [max]` from a client.
    Unsubscribe {
        /// The client's own name for the subscription.
        sid: &'a str,
        /// Remove after this many messages were delivered in total.
        max: Option<u64>,
    },
    /// `PING`.
    Ping,
    /// `PONG`.
    Pong,
    /// `+OK`.
    Ok,
    /// `-ERR '<text>'`, quotes removed.
    Err(&'a str),
    /// `LS+ <subject> [<queue> <weight>]` from a leafnode.
    LeafSubscribe {
        /// Subject filter as sent, not yet validated.
        subject: &'a str,
        /// Queue group and its weight.
        queue: Option<(&'a str, u32)>,
    },
    /// `LS- <subject> [<queue>]` from a leafnode.
    LeafUnsubscribe {
        /// Subject filter as sent.
        subject: &'a str,
        /// Queue group.
        queue: Option<&'a str>,
    },
    /// `LMSG` or a leafnode's `HMSG`.
    LeafMessage {
        /// The message.
        message: Message<'a>,
        /// The queue groups it is for, besides plain subscriptions.
        queues: Vec<&'a str>,
    },
    /// What only a route or a gateway says.
    Route(RouteOp<'a>),
}
