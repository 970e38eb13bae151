//! Who someone is and what they may do: accounts, users, nkeys and permissions.
//!
//! This crate knows no connections and no configuration files; it is told a directory of
//! accounts and users and answers questions about it.

mod credentials;
mod permissions;

pub use credentials::{AccountId, Credentials};
pub use permissions::{AllowResponses, Permissions, SubjectRules};
