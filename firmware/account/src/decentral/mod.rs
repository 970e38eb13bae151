//! Decentralised authentication: operators vouch for accounts, accounts for users.
//! spec: nats-server v2.15.1 server/auth.go `processClientOrLeafAuthentication`,
//! server/accounts.go `updateAccountClaims`.

mod allowance;
mod claimed;
pub(crate) mod daytime;
mod login;
pub(crate) mod permissions;
mod plan;
mod refusal;
mod shown;
mod standing;
mod template;
mod trust;

pub(crate) use allowance::Unvouched;
pub use claimed::ClaimedAccount;
pub(crate) use claimed::Signer;
pub use daytime::Zone;
pub use login::JwtUser;
pub use refusal::JwtRefusal;
pub use shown::Voucher;
pub use trust::Trust;

#[cfg(test)]
mod tests;
