//! Signed claims: who an operator, an account or a user is, and what may be done.
//! spec: nats-io/jwt v2 (field names, `Decode`, `Validate`), ADR-14, ADR-26.
//!
//! Nothing here trusts an issuer: [`decode`] says that the named issuer signed the text, whether it
//! is one to listen to is for others.

mod account;
mod activation;
mod authorization;
mod body;
mod cidr;
mod claim;
mod error;
mod exports;
mod imports;
mod limits;
mod mappings;
mod operator;
mod permissions;
mod signing_keys;
mod subject_text;
mod token;
mod user;
mod v1;
mod validation;

pub use account::{Account, ExternalAuthorization, MsgTrace, is_revoked};
pub use activation::Activation;
pub use authorization::{
    AuthRequest, AuthResponse, ClientInformation, ClientTls, ConnectOptions, ServerId,
};
pub use body::Body;
pub use cidr::Cidr;
pub use claim::{
    AccountClaims, ActivationClaims, AuthRequestClaims, AuthResponseClaims, Claim, Claims,
    GenericClaims, OperatorClaims, UserClaims,
};
pub use error::JwtError;
pub use exports::{ClaimedExport, ClaimedKind, SamplingRate, ServiceLatency};
pub use imports::ClaimedImport;
pub use limits::{JetStreamLimits, OperatorLimits};
pub use mappings::WeightedMapping;
pub use operator::Operator;
pub use permissions::{Permission, PermissionClaims, ResponsePermission};
pub use signing_keys::{SigningKeys, UserScope};
pub use token::{decode, decode_generic};
pub use user::{TimeRange, User, UserPermissionLimits};
pub use validation::{Issue, Severity, Validation};

/// A number that is no limit.
pub const NO_LIMIT: i64 = -1;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests;
