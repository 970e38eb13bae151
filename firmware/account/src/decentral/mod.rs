//! Decentralised authentication: operators vouch for accounts, accounts for users.
//! spec: nats-server v2.15.1 server/auth.go `processClientOrLeafAuthentication`,
//! server/accounts.go `updateAccountClaims`.

mod claimed;
pub(crate) mod daytime;
mod login;
pub(crate) mod permissions;
mod plan;
mod standing;
mod template;
mod trust;

pub use claimed::ClaimedAccount;
pub use daytime::Zone;
pub use login::JwtUser;
pub use trust::Trust;

#[cfg(test)]
mod tests;
