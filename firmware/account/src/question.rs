use crate::{Delegation, Identity, Verdict};

/// What has to be known before credentials can be judged; others find it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether `password` belongs to `hash`, which takes long to compute. The answer is
    /// [`Answer::Accept`] with `then`, or a refusal.
    Bcrypt {
        /// A bcrypt hash.
        hash: String,
        /// What the peer gave.
        password: String,
        /// Who it is if it fits.
        then: Identity,
    },
    /// The account of this public key, which is not in the directory. Once it is there the
    /// answer is [`Answer::Again`].
    Account {
        /// `A…`.
        key: String,
    },
    /// A time zone that is not in the directory. Once it is there the answer is
    /// [`Answer::Again`].
    Zone {
        /// `Europe/Berlin`.
        name: String,
    },
    /// What an authorization service says of the peer; answered with [`Answer::Accept`] or a
    /// refusal, see [`crate::Directory::take_answer`].
    Callout(Box<Delegation>),
    /// There is no such account to ask an authorization service in: a refusal is the only answer.
    NoService {
        /// Its name.
        account: String,
    },
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Not welcome; the reason is for the log and may be empty.
    Refuse(String),
    /// Welcome.
    Accept(Identity),
    /// The directory knows more now: judge the same credentials again.
    Again,
}

impl Question {
    /// Who the peer would be, if that is known already.
    pub(crate) const fn expected(&self) -> Option<&Identity> {
        match self {
            Self::Bcrypt { then, .. } => Some(then),
            Self::Account { .. }
            | Self::Zone { .. }
            | Self::Callout(_)
            | Self::NoService { .. } => None,
        }
    }
}

impl Verdict {
    /// Who the peer is, or would be.
    pub(crate) const fn expected(&self) -> Option<&Identity> {
        match self {
            Self::Accept(who) => Some(who),
            Self::Ask(question) => question.expected(),
            Self::Refuse | Self::RefuseFor(_) => None,
        }
    }
}
