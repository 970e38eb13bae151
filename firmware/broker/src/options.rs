use frond_wire::ConnectInfo;

use crate::limits::CLIENT_WORD_BYTES_MAX;

/// What is kept of a client's `CONNECT` while it is here: no secrets, and little else.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) echo: bool,
    pub(crate) verbose: bool,
    pub(crate) pedantic: bool,
    pub(crate) headers: bool,
    pub(crate) no_responders: bool,
    pub(crate) protocol: i64,
    pub(crate) name: String,
    pub(crate) lang: String,
    pub(crate) version: String,
    /// Whom it says it is; empty once that is proven, or if it says nothing.
    pub(crate) user: String,
}

impl Options {
    /// Keeps what is needed; words are cut to a length that nobody minds.
    pub(crate) fn of(connect: ConnectInfo) -> Self {
        let user = match (&*connect.nkey, &*connect.user, &*connect.auth_token) {
            ("", "", "") => String::new(),
            ("", "", _) => "[REDACTED]".to_owned(),
            ("", user, _) => user.to_owned(),
            (key, ..) => key.to_owned(),
        };
        Self {
            echo: connect.echo,
            verbose: connect.verbose,
            pedantic: connect.pedantic,
            headers: connect.headers,
            no_responders: connect.no_responders,
            protocol: connect.protocol,
            name: short(connect.name),
            lang: short(connect.lang),
            version: short(connect.version),
            user: short(user),
        }
    }
}

impl Options {
    /// As a `CONNECT` that says the same.
    pub(crate) fn said(&self) -> ConnectInfo {
        ConnectInfo {
            echo: self.echo,
            verbose: self.verbose,
            pedantic: self.pedantic,
            headers: self.headers,
            no_responders: self.no_responders,
            protocol: self.protocol,
            name: self.name.clone(),
            lang: self.lang.clone(),
            version: self.version.clone(),
            ..ConnectInfo::default()
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::of(ConnectInfo::default())
    }
}

fn short(mut text: String) -> String {
    if text.len() > CLIENT_WORD_BYTES_MAX {
        let end = (0..=CLIENT_WORD_BYTES_MAX).rfind(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text.shrink_to_fit();
    text
}
