use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::validation::Validation;
use super::{
    Account, Activation, AuthRequest, AuthResponse, Body, JwtError, Operator, User, is_default,
    token,
};
use crate::nkey::KeyPair;

/// Who says what about whom, and how long it holds. Times are unix seconds, 0 is unset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim<T> {
    /// Whom it is for.
    #[serde(rename = "aud", skip_serializing_if = "is_default")]
    pub audience: String,
    /// The last second it holds.
    #[serde(rename = "exp", skip_serializing_if = "is_default")]
    pub expires: i64,
    /// A hash of the other fields.
    #[serde(rename = "jti", skip_serializing_if = "is_default")]
    pub id: String,
    /// When it was made.
    #[serde(rename = "iat", skip_serializing_if = "is_default")]
    pub issued_at: i64,
    /// The public key that signed it.
    #[serde(rename = "iss", skip_serializing_if = "is_default")]
    pub issuer: String,
    /// A name for people.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// The first second it holds.
    #[serde(rename = "nbf", skip_serializing_if = "is_default")]
    pub not_before: i64,
    /// The public key it is about.
    #[serde(rename = "sub", skip_serializing_if = "is_default")]
    pub subject: String,
    /// What is said.
    pub nats: T,
}

/// About an operator.
pub type OperatorClaims = Claim<Operator>;
/// About an account.
pub type AccountClaims = Claim<Account>;
/// About a user.
pub type UserClaims = Claim<User>;
/// That an account may import something.
pub type ActivationClaims = Claim<Activation>;
/// A server's question who a client is.
pub type AuthRequestClaims = Claim<AuthRequest>;
/// The answer to it.
pub type AuthResponseClaims = Claim<AuthResponse>;
/// Anything else.
pub type GenericClaims = Claim<Map<String, Value>>;

/// A claim of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claims {
    /// `operator`.
    Operator(Box<OperatorClaims>),
    /// `account`.
    Account(Box<AccountClaims>),
    /// `user`.
    User(Box<UserClaims>),
    /// `activation`.
    Activation(Box<ActivationClaims>),
    /// `authorization_request`.
    AuthRequest(Box<AuthRequestClaims>),
    /// `authorization_response`.
    AuthResponse(Box<AuthResponseClaims>),
    /// None of these.
    Generic(Box<GenericClaims>),
}

impl<T> Claim<T> {
    /// Whether the issuer speaks about itself.
    #[must_use]
    pub fn is_self_signed(&self) -> bool {
        self.issuer == self.subject
    }

    /// Notes when it does not hold at `wall_s`, unix seconds.
    pub(super) fn check_time(&self, wall_s: i64, found: &mut Validation) {
        if self.expires > 0 && wall_s > self.expires {
            found.time("claim is expired");
        }
        if self.not_before > 0 && self.not_before > wall_s {
            found.time("claim is not yet valid");
        }
    }
}

impl<T: Body> Claim<T> {
    /// An empty claim about `subject`, a public key.
    #[must_use]
    pub fn about(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            ..Self::default()
        }
    }

    /// A claim of this kind from its text, see [`super::decode`].
    ///
    /// # Errors
    /// When it is no claim, or one of another kind.
    pub fn decode(text: &str) -> Result<Self, JwtError> {
        T::of(token::decode(text)?).ok_or(JwtError::Kind(T::KIND))
    }

    /// What is wrong with it at `wall_s`, unix seconds.
    #[must_use]
    pub fn validate(&self, wall_s: i64) -> Validation {
        let mut found = Validation::default();
        T::check(self, wall_s, &mut found);
        found
    }

    /// Its text, signed with `key`. The caller has set [`Claim::issued_at`].
    ///
    /// # Errors
    /// Without a subject, or with a key that may not sign such claims.
    pub fn encode(&self, key: &KeyPair) -> Result<String, JwtError> {
        token::encode(self, key)
    }
}
