use frond_account::Zone;
use frond_broker::Conn;

/// What accounts by JWT want from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimsWish {
    /// Keep a JWT in the directory; answered with [`ClaimsNews::Stored`].
    Keep {
        /// Comes back with the answer.
        ticket: u64,
        /// The account's public key.
        key: String,
        /// The JWT.
        text: String,
    },
    /// Take one away; answered with [`ClaimsNews::Stored`].
    Remove {
        /// Comes back with the answer.
        ticket: u64,
        /// The account's public key.
        key: String,
        /// Whether the file stays under another name.
        renames: bool,
    },
    /// GET a URL; answered with [`ClaimsNews::Fetched`].
    Fetch {
        /// Comes back with the answer.
        key: String,
        /// `http` or `https`.
        url: String,
    },
    /// Read a time zone; answered with [`ClaimsNews::Zone`].
    Zone {
        /// Comes back with the answer.
        conn: Conn,
        /// Comes back with the answer.
        token: u64,
        /// `Europe/Berlin`.
        name: String,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimsNews {
    /// The directory has it, or why not.
    Stored {
        /// As in the wish.
        ticket: u64,
        /// Why not, in the system's words.
        result: Result<(), String>,
    },
    /// What the URL answered with status 200, or why not.
    Fetched {
        /// As in the wish.
        key: String,
        /// The body.
        result: Result<String, String>,
    },
    /// The zone, if the system knows it.
    Zone {
        /// As in the wish.
        conn: Conn,
        /// As in the wish.
        token: u64,
        /// As in the wish.
        name: String,
        /// The zone.
        zone: Option<Zone>,
    },
}
