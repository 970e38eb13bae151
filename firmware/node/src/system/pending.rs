use frond_account::AccountId;
use frond_wire::{Headers, Message};

/// An answer that waits for something outside the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// The document goes into an answer as `data`.
    Answer(Asker),
    /// The figures go out on a subject, with this server at their head.
    Figures { account: AccountId, subject: String },
}

/// Who wants an answer, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) account: AccountId,
    pub(crate) reply: String,
    pub(crate) encoding: Encoding,
}

/// How an answer is packed.
///
/// spec: nats-server v2.15.1 server/events.go `getAcceptEncoding`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// It wasn't asked about.
    Plain,
    /// Plain, and said so.
    Identity,
}

impl Asker {
    /// Who sent this request; `None` when no answer is wanted.
    pub(crate) fn of(account: AccountId, message: &Message<'_>) -> Option<Self> {
        Some(Self {
            account,
            reply: message.reply.filter(|reply| !reply.is_empty())?.to_owned(),
            encoding: Encoding::wanted(message.header),
        })
    }
}

impl Encoding {
    fn wanted(header: &[u8]) -> Self {
        match Headers::new(header).get("Accept-Encoding") {
            None | Some("") => Self::Plain,
            Some(_) => Self::Identity,
        }
    }
}
