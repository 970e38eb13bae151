use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::validation::Validation;
use super::{Claim, Claims, JwtError, v1};
use crate::nkey::Role;

/// What a kind of claim says: the `nats` part of it.
pub trait Body: Clone + Default + Serialize + DeserializeOwned {
    /// The kind as an error names it.
    const KIND: &'static str;
    /// Who may sign it.
    const ISSUERS: &'static [Role];
    /// `ISSUERS` as nats-io/jwt prints them.
    const ISSUERS_TEXT: &'static str;

    /// The claim if it is of this kind.
    fn of(claims: Claims) -> Option<Claim<Self>>;

    /// Writes kind and version into it.
    fn stamp(&mut self);

    /// The claim of a token of version 1, whose parts sat elsewhere.
    ///
    /// # Errors
    /// When a part has another type.
    fn from_v1(claim: Value) -> Result<Claim<Self>, JwtError> {
        v1::moved(claim, |_| {})
    }

    /// Notes what is wrong with it at `wall_s`, unix seconds.
    fn check(claim: &Claim<Self>, wall_s: i64, found: &mut Validation);
}
