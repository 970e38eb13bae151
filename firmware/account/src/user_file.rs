use core::fmt;

/// What is in the file of a user's credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct UserFile {
    /// The user's JWT.
    pub jwt: String,
    /// The seed of its key.
    pub seed: String,
}

/// Never prints the secret.
impl fmt::Debug for UserFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserFile")
            .field("jwt", &self.jwt)
            .finish_non_exhaustive()
    }
}

impl UserFile {
    /// A JWT and a seed, each between a line of dashes before and one after.
    ///
    /// spec: nats.go `nkeys.ParseDecoratedJWT`, `ParseDecoratedUserNKey`
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut blocks = Vec::new();
        let mut inside: Option<String> = None;
        for line in text.lines().map(str::trim) {
            match (line.starts_with("---"), inside.take()) {
                (true, None) => inside = Some(String::new()),
                (true, Some(block)) if !block.is_empty() => blocks.push(block),
                (true, Some(_)) => inside = Some(String::new()),
                (false, Some(block)) => inside = Some(block + line),
                (false, None) => {}
            }
        }
        let jwt = blocks.first()?.clone();
        let seed = blocks.iter().find(|block| block.starts_with("SU"))?.clone();
        Some(Self { jwt, seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-----BEGIN NATS USER JWT-----\neyJ0.abc\n------END NATS USER JWT------\n\n\
        ************************* IMPORTANT *************************\nNKEY Seed printed below\n\n\
        -----BEGIN USER NKEY SEED-----\nSUAAA\n------END USER NKEY SEED------\n";

    #[test]
    fn it_gives_its_jwt_and_its_seed() {
        let found = UserFile::parse(FILE).unwrap();
        assert_eq!((&*found.jwt, &*found.seed), ("eyJ0.abc", "SUAAA"));
        assert!(!format!("{found:?}").contains("SUAAA"));
        // As a file looks that went through another system.
        assert_eq!(UserFile::parse(&FILE.replace('\n', "\r\n")), Some(found));
        assert_eq!(UserFile::parse(&FILE.replace("SUAAA", "")), None);
        assert_eq!(UserFile::parse(""), None);
    }
}
