//! Who someone is and what they may do: accounts, users, nkeys, JWT and permissions.
//!
//! This crate knows no connections and no configuration files; it is told a directory of
//! accounts and users and answers questions about it. It runs no password hash: see
//! [`Question`].

mod access;
mod authenticate;
mod caller;
mod callout;
mod cert_user;
mod credentials;
mod decentral;
mod directory;
pub mod jwt;
mod limits;
mod mappings;
pub mod nkey;
mod peer_names;
mod permissions;
mod plan;
mod proxies;
mod question;
mod secret;
mod server_login;
mod shared;
mod sharing;
mod tls;
mod user_file;
pub mod xkey;

pub use access::Access;
pub use authenticate::{Identity, Verdict};
pub use caller::{Caller, ConnectionType, PeerKind, Transport};
pub use callout::{
    AUTH_SUBJECT, Asked, Basis, CalloutPlan, Delegated, Delegation, Vouched, Withheld,
};
pub use credentials::{AccountId, Credentials};
pub use decentral::{ClaimedAccount, JwtRefusal, JwtUser, Trust, Voucher, Zone};
pub use directory::{
    Account, DEFAULT_ACCOUNT, DEFAULT_SYSTEM_ACCOUNT, Directory, DirectoryError, Standing, User,
};
pub use mappings::{Mapped, Mappings};
pub use peer_names::PeerNames;
pub use permissions::{AllowResponses, Permissions, SubjectRules};
pub use plan::{AccountLimits, AccountPlan, CertMaps, DoorPlan, Login, Plan, UserPlan};
pub use proxies::{Proxied, Refusal};
pub use question::{Answer, Question};
pub use secret::Secret;
pub use server_login::{Entry, ServerLogin};
pub use shared::{Rename, Service, ServiceImport, Sharing, StreamImport};
pub use sharing::{
    Activation, Destination, Export, ExportAccess, ExportKind, Import, ImportKind, LatencyPlan,
    Mapping, ResponseType, Sampling, ServiceExport, TracePlan,
};
pub use tls::{DnPart, PeerCert, TlsSession};
pub use user_file::UserFile;
