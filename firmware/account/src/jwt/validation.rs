/// What was found wrong with a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// In the order found.
    pub issues: Vec<Issue>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// In the words of nats-io/jwt.
    pub text: String,
    /// How bad it is.
    pub severity: Severity,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The claim is not to be used.
    Error,
    /// Not to be used now.
    Time,
    /// To be used.
    Warning,
}

impl Validation {
    /// Whether the claim is not to be used, with `times` also when it does not hold now.
    #[must_use]
    pub fn is_blocking(&self, times: bool) -> bool {
        self.issues.iter().any(|issue| match issue.severity {
            Severity::Error => true,
            Severity::Time => times,
            Severity::Warning => false,
        })
    }

    pub(super) fn error(&mut self, text: impl Into<String>) {
        self.add(text, Severity::Error);
    }

    pub(super) fn time(&mut self, text: impl Into<String>) {
        self.add(text, Severity::Time);
    }

    pub(super) fn warning(&mut self, text: impl Into<String>) {
        self.add(text, Severity::Warning);
    }

    fn add(&mut self, text: impl Into<String>, severity: Severity) {
        let text = text.into();
        self.issues.push(Issue { text, severity });
    }
}
