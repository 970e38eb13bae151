/// What a server of the same system said, in slices of the connection's read buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteOp<'a> {
    /// `RS+` or `LS+` from a route or a gateway.
    Subscribe {
        /// The account, unless the route is for one.
        account: Option<&'a str>,
        /// The cluster of the leafnode it is held for (`LS+`).
        origin: Option<&'a str>,
        /// Subject filter as sent, not yet validated.
        subject: &'a str,
        /// Queue group and its weight.
        queue: Option<(&'a str, u32)>,
    },
    /// `RS-` or `LS-` from a route or a gateway.
    Unsubscribe {
        /// The account, unless the route is for one.
        account: Option<&'a str>,
        /// The cluster of the leafnode it was held for (`LS-`).
        origin: Option<&'a str>,
        /// Subject filter as sent.
        subject: &'a str,
        /// Queue group.
        queue: Option<&'a str>,
    },
    /// `RMSG`, `HMSG` or `LMSG` from a route or a gateway.
    Message {
        /// The account, unless the route is for one.
        account: Option<&'a str>,
        /// The cluster of the leafnode it came from (`LMSG`).
        origin: Option<&'a str>,
        /// The message.
        message: crate::Message<'a>,
        /// The queue groups it is for, besides plain subscriptions.
        queues: Vec<&'a str>,
    },
    /// `A+ <account>` or `A- <account>` from a gateway: whether the account is wanted at all.
    Account {
        /// The account.
        name: &'a str,
        /// Whether it is wanted.
        wanted: bool,
    },
}
