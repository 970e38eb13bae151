use std::fmt;

/// A password, token or seed. Debug and Display never show it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for comparing or sending.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is a bcrypt hash rather than plain text.
    /// spec: nats-server v2.15.1 server/auth.go `^\$2[abxy]\$\d{2}\$.*`
    pub fn is_bcrypt(&self) -> bool {
        let b = self.0.as_bytes();
        matches!(
            b,
            [b'$', b'2', b'a' | b'b' | b'x' | b'y', b'$', d1, d2, b'$', ..]
                if d1.is_ascii_digit() && d2.is_ascii_digit()
        )
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn is_never_shown() {
        let secret = Secret::new("s3cr3t");
        assert_eq!(format!("{secret} {secret:?}"), "[REDACTED] [REDACTED]");
        assert_eq!(secret.expose(), "s3cr3t");
    }

    #[test]
    fn knows_bcrypt() {
        assert!(Secret::new("$2a$11$abc").is_bcrypt());
        assert!(Secret::new("$2y$04$").is_bcrypt());
        for plain in ["", "$2c$11$abc", "$2a$1x$abc", "2a$11$abc", "$2a$11abc"] {
            assert!(!Secret::new(plain).is_bcrypt(), "{plain}");
        }
    }
}
