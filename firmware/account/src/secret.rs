/// A password or token as configured: plain, or a bcrypt hash of it.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// To be compared byte for byte.
    Plain(Box<str>),
    /// `$2a$…`, `$2b$…`, `$2x$…` or `$2y$…`.
    Bcrypt(Box<str>),
}

/// Never prints it.
impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain(..)",
            Self::Bcrypt(_) => "Bcrypt(..)",
        })
    }
}

impl Secret {
    /// From the words of a configuration.
    #[must_use]
    pub fn new(text: &str) -> Self {
        if is_bcrypt(text) {
            Self::Bcrypt(text.into())
        } else {
            Self::Plain(text.into())
        }
    }

    /// Itself, unless only a hash of it is known.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Bcrypt(_) => None,
        }
    }

    /// Whether `given` is it, without looking at the clock's expense of a hash.
    pub(crate) fn check(&self, given: &str) -> Check<'_> {
        match self {
            Self::Plain(text) if same(text.as_bytes(), given.as_bytes()) => Check::Right,
            Self::Plain(_) => Check::Wrong,
            Self::Bcrypt(hash) => Check::Hash(hash),
        }
    }
}

/// The outcome of [`Secret::check`].
pub(crate) enum Check<'a> {
    Right,
    Wrong,
    /// Only a bcrypt run against this hash can tell.
    Hash(&'a str),
}

/// spec: nats-server v2.15.1 server/auth.go `isBcrypt`: `^\$2[abxy]\$\d{2}\$.*`.
fn is_bcrypt(text: &str) -> bool {
    matches!(
        text.as_bytes(),
        [
            b'$',
            b'2',
            b'a' | b'b' | b'x' | b'y',
            b'$',
            b'0'..=b'9',
            b'0'..=b'9',
            b'$',
            ..
        ]
    )
}

/// Takes as long for any `given` of the same length.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).fold(0, |difference, (a, b)| {
            core::hint::black_box(difference | (a ^ b))
        }) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_recognised_by_its_shape() {
        for hash in ["$2a$11$abc", "$2b$04$", "$2x$10$x", "$2y$10$x"] {
            assert!(matches!(Secret::new(hash).check("x"), Check::Hash(h) if h == hash));
        }
        for plain in ["", "x", "$2c$11$abc", "$2a$1$abc", "2a$11$abc"] {
            assert!(matches!(Secret::new(plain).check(plain), Check::Right));
            assert!(matches!(Secret::new(plain).check("other"), Check::Wrong));
        }
    }
}
