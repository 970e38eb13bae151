use crate::{AccountId, Directory, Login, User};

/// What vouches for a user, for monitoring and events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Voucher<'a> {
    /// Its JWT.
    pub jwt: &'a str,
    /// Whether who has the JWT can come in with it.
    pub is_bearer: bool,
    /// The key that signed the JWT; of an nkey its account.
    pub issuer_key: &'a str,
    /// Labels in the JWT.
    pub tags: &'a [String],
}

impl Directory {
    /// What people call an account: the name in its JWT, or else its own.
    #[must_use]
    pub fn name_tag(&self, id: AccountId) -> &str {
        let said = self.claimed(id).map(|account| account.claims.name.as_str());
        said.filter(|name| !name.is_empty())
            .unwrap_or_else(|| self.account(id).map_or("", |account| &account.name))
    }

    /// What vouches for a user.
    ///
    /// spec: nats-server v2.15.1 server/events.go `issuerForClient`
    #[must_use]
    pub fn voucher<'a>(&'a self, user: &'a User) -> Voucher<'a> {
        match &user.login {
            Login::Jwt(login) => Voucher {
                jwt: &login.text,
                is_bearer: login.is_bearer,
                issuer_key: &login.issuer,
                tags: &login.tags,
            },
            Login::Nkey(_) => Voucher {
                issuer_key: self.account(user.account).map_or("", |it| &it.name),
                ..Voucher::default()
            },
            Login::Delegated(login) => Voucher {
                issuer_key: self.account(user.account).map_or("", |it| &it.name),
                tags: &login.tags,
                ..Voucher::default()
            },
            Login::Password { .. } | Login::Token(_) => Voucher::default(),
        }
    }
}
