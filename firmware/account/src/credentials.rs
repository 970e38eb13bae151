/// An account, by its place in the directory; stays the same across reloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub u32);

/// What a peer says to prove who it is, from its `CONNECT`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub pass: Option<String>,
    /// Token.
    pub auth_token: Option<String>,
    /// Public user nkey.
    pub nkey: Option<String>,
    /// User JWT.
    pub jwt: Option<String>,
    /// Signature of the nonce, base64url.
    pub sig: Option<String>,
    /// A proxy's signature of the nonce, base64url.
    pub proxy_sig: Option<String>,
    /// The account it wants to be in. Only a part of this very process may want one.
    pub account: Option<String>,
}

/// Never prints a secret.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .field("nkey", &self.nkey)
            .finish_non_exhaustive()
    }
}
