/// How much of this box somebody may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Who sits at it, or is of the system account: everything.
    All,
    /// Who is of another account: that one's devices, streams and links.
    Account(String),
}

impl Seen {
    /// Whether what is in this account is shown.
    pub(super) fn shows(&self, account: &str) -> bool {
        match self {
            Self::All => true,
            Self::Account(own) => own == account,
        }
    }
}
