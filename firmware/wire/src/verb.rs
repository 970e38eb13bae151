use crate::WireError;

/// Who is on the other end, which decides what operations exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A NATS client.
    Client,
    /// A leafnode, either end.
    Leaf,
    /// A route or a gateway: each operation names its account.
    Route,
    /// A route for one account, which its operations do not name.
    PinnedRoute,
}

/// The first word of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Info,
    Connect,
    Ping,
    Pong,
    Ok,
    Err,
    Pub,
    Hpub,
    Sub,
    Unsub,
    LeafSub,
    LeafUnsub,
    LeafMsg,
    LeafHmsg,
    RouteSub,
    RouteUnsub,
    RouteMsg,
    RouteHmsg,
    OriginSub,
    OriginUnsub,
    OriginMsg,
    AccountUp,
    AccountDown,
}

impl Verb {
    /// The verb at the start of `buf` and its length, or `None` while too few bytes are there.
    ///
    /// A byte that no verb of the dialect continues with is refused at once,
    /// before a line end arrives, as nats-server does.
    pub(crate) fn read(buf: &[u8], dialect: Dialect) -> Result<Option<(Self, usize)>, WireError> {
        let Some(first) = buf.first() else {
            return Ok(None);
        };
        let mut unfinished = false;
        for (name, verb) in candidates(dialect, *first) {
            let have = buf.len().min(name.len());
            if !buf[..have].eq_ignore_ascii_case(&name[..have]) {
                continue;
            }
            if have == name.len() {
                return Ok(Some((*verb, have)));
            }
            unfinished = true;
        }
        if unfinished {
            Ok(None)
        } else {
            Err(WireError::UnknownOperation)
        }
    }

    /// Whether white space must follow, or what follows may touch.
    pub(crate) const fn needs_space(self) -> bool {
        !matches!(
            self,
            Self::Info | Self::Connect | Self::Ping | Self::Pong | Self::Ok
        )
    }
}

type Names = &'static [(&'static [u8], Verb)];

/// Verbs of a dialect that start with this byte, the frequent ones first.
const fn candidates(dialect: Dialect, first: u8) -> Names {
    match (first.to_ascii_uppercase(), dialect) {
        (b'P', Dialect::Client) => &[
            (b"PUB", Verb::Pub),
            (b"PING", Verb::Ping),
            (b"PONG", Verb::Pong),
        ],
        (b'P', Dialect::Leaf | Dialect::Route | Dialect::PinnedRoute) => {
            &[(b"PING", Verb::Ping), (b"PONG", Verb::Pong)]
        }
        (b'H', Dialect::Client) => &[(b"HPUB", Verb::Hpub)],
        (b'H', Dialect::Leaf) => &[(b"HMSG", Verb::LeafHmsg)],
        (b'S', Dialect::Client) => &[(b"SUB", Verb::Sub)],
        (b'U', Dialect::Client) => &[(b"UNSUB", Verb::Unsub)],
        (b'L', Dialect::Leaf) => &[
            (b"LMSG", Verb::LeafMsg),
            (b"LS+", Verb::LeafSub),
            (b"LS-", Verb::LeafUnsub),
        ],
        // A leafnode's routed verbs mean the same: only the first letter differs.
        (b'R', Dialect::Leaf) => &[
            (b"RMSG", Verb::LeafMsg),
            (b"RS+", Verb::LeafSub),
            (b"RS-", Verb::LeafUnsub),
        ],
        (b'R', Dialect::Route | Dialect::PinnedRoute) => &[
            (b"RMSG", Verb::RouteMsg),
            (b"RS+", Verb::RouteSub),
            (b"RS-", Verb::RouteUnsub),
        ],
        (b'H', Dialect::Route | Dialect::PinnedRoute) => &[(b"HMSG", Verb::RouteHmsg)],
        (b'L', Dialect::Route | Dialect::PinnedRoute) => &[
            (b"LMSG", Verb::OriginMsg),
            (b"LS+", Verb::OriginSub),
            (b"LS-", Verb::OriginUnsub),
        ],
        (b'A', Dialect::Route | Dialect::PinnedRoute) => {
            &[(b"A+", Verb::AccountUp), (b"A-", Verb::AccountDown)]
        }
        (b'I', _) => &[(b"INFO", Verb::Info)],
        (b'C', _) => &[(b"CONNECT", Verb::Connect)],
        (b'+', _) => &[(b"+OK", Verb::Ok)],
        (b'-', _) => &[(b"-ERR", Verb::Err)],
        (_, _) => &[],
    }
}
