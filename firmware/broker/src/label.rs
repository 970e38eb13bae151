//! Who a client is, as the log names it.
//! spec: nats-server v2.15.1 server/client.go `processConnect`, `getAuthUser`,
//! `getAuthUserLabel`, `formatNoClientInfo`.

use frond_account::{Credentials, Identity, Login};

use crate::Broker;
use crate::connection::Session;
use crate::options::Options;

/// How a client is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    Nkey(&'a str),
    User(&'a str),
    Jwt(&'a str),
    Token,
}

impl<'a> Name<'a> {
    /// What it says of itself, whether that is true or not.
    pub(crate) fn given(given: &'a Credentials) -> Option<Self> {
        let some = |text: &'a Option<String>| text.as_deref().filter(|text| !text.is_empty());
        some(&given.nkey)
            .map(Self::Nkey)
            .or_else(|| some(&given.user).map(Self::User))
            .or_else(|| some(&given.auth_token).map(|_| Self::Token))
    }

    /// Whom it turned out to be.
    fn proven(login: &'a Login) -> Self {
        match login {
            Login::Password { user, .. } => Self::User(user),
            Login::Token(_) => Self::Token,
            Login::Nkey(key) => Self::Nkey(key),
            Login::Jwt(user) => Self::Jwt(&user.subject),
            Login::Delegated(user) => Self::User(&user.name),
        }
    }

    /// As part of a sentence.
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Nkey(key) => format!("Nkey {key:?}"),
            Self::User(user) => format!("User {user:?}"),
            Self::Jwt(key) => format!("JWT User {key:?}"),
            Self::Token => "Token \"[REDACTED]\"".to_owned(),
        }
    }

    fn short(self) -> String {
        match self {
            Self::Nkey(key) => format!("nkey:{key}"),
            Self::User(user) => format!("user:{user}"),
            Self::Jwt(key) => format!("jwt:{key}"),
            Self::Token => "token".to_owned(),
        }
    }
}

impl Session {
    /// The user it is, or says to be while nobody asks.
    pub(crate) fn known_as(&self) -> Option<Name<'_>> {
        let user = self.identity.as_ref().and_then(|it| it.user.as_ref());
        match user {
            Some(user) => Some(Name::proven(&user.login)),
            None => self.offered.as_deref().and_then(Name::given),
        }
    }
}

/// What follows a client's mark in the log from its `CONNECT` on.
pub(crate) fn of(
    options: &Options,
    account: &str,
    identity: &Identity,
    given: &Credentials,
) -> String {
    let version = match &*options.version {
        "" => String::new(),
        version => format!("v{version}"),
    };
    let parts = [version.as_str(), &options.lang, &options.name];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut label = String::new();
    if !parts.is_empty() {
        label = format!(" - {:?}", parts.join(":"));
    }
    let name = match &identity.user {
        Some(user) => Some(Name::proven(&user.login)),
        None => Name::given(given),
    };
    if let Some(name) = name {
        label += &format!(" - {:?}", format!("{account}/{}", name.short()));
    }
    label
}

impl Broker {
    /// `text` with the account and the user of a client that is in one.
    pub(crate) fn with_whose(&self, slot: u32, text: &str) -> String {
        let session = self.conns.get(slot).and_then(|c| c.session());
        let Some(session) = session.filter(|session| session.identity.is_some()) else {
            return text.to_owned();
        };
        let user = session.known_as();
        let user = user.map_or_else(String::new, |name| format!(" - {}", name.short()));
        format!("{text} - Account:{}{user}", self.name_of(session.account))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_name_nobody() {
        let given = |user: &str, token: &str| Credentials {
            user: Some(user.into()),
            auth_token: Some(token.into()),
            ..Credentials::default()
        };
        let words = |given: &Credentials| Name::given(given).map(Name::in_words);
        assert_eq!(words(&given("a", "t")).unwrap(), "User \"a\"");
        assert_eq!(words(&given("", "t")).unwrap(), "Token \"[REDACTED]\"");
        assert_eq!(words(&given("", "")), None);
    }
}
