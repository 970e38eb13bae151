use frond_account::AccountId;
use frond_wire::Message;

use super::packing::Packing;

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
    pub(crate) packing: Packing,
}

impl Asker {
    /// Who sent this request; `None` when no answer is wanted.
    pub(crate) fn of(account: AccountId, message: &Message<'_>) -> Option<Self> {
        Some(Self {
            account,
            reply: message.reply.filter(|reply| !reply.is_empty())?.to_owned(),
            packing: Packing::wanted(message.header),
        })
    }
}
