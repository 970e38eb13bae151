use crate::Head;

/// Which cookies hold what a client could say in its `CONNECT`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CookieNames {
    /// Of the user's JWT (`jwt_cookie`).
    pub jwt: Option<String>,
    /// Of the user's name (`user_cookie`).
    pub user: Option<String>,
    /// Of the password (`pass_cookie`).
    pub password: Option<String>,
    /// Of the token (`token_cookie`).
    pub token: Option<String>,
}

/// What the cookies of a request held. Secrets: not shown in debug output.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Cookies {
    /// A user's JWT.
    pub jwt: Option<String>,
    /// A user's name.
    pub user: Option<String>,
    /// A password.
    pub password: Option<String>,
    /// A token.
    pub token: Option<String>,
}

impl core::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cookies").finish_non_exhaustive()
    }
}

impl Cookies {
    /// Those of a request that have a meaning; of equal names the last one counts.
    #[must_use]
    pub fn read(head: &Head, names: &CookieNames) -> Self {
        let mut cookies = Self::default();
        for (name, value) in head
            .all("Cookie")
            .flat_map(|line| line.split(';'))
            .filter_map(pair)
        {
            let is = |wanted: &Option<String>| wanted.as_deref() == Some(name);
            let place = if is(&names.jwt) {
                &mut cookies.jwt
            } else if is(&names.user) {
                &mut cookies.user
            } else if is(&names.password) {
                &mut cookies.password
            } else if is(&names.token) {
                &mut cookies.token
            } else {
                continue;
            };
            *place = Some(value.to_owned());
        }
        cookies
    }

    /// Whether there is none with a meaning.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One `name=value`, as Go reads it: quotes around the value go, and a value with a byte that
/// may not be in one is no cookie. spec: Go net/http/cookie.go `readCookies`.
fn pair(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_matches([' ', '\t']);
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let name = name.trim_matches([' ', '\t']);
    let value = match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        Some(inner) => inner,
        None => value,
    };
    let valid = value
        .bytes()
        .all(|b| (0x20..0x7f).contains(&b) && !matches!(b, b'"' | b';' | b'\\'));
    (!name.is_empty() && valid).then_some((name, value))
}
