/// Subjects allowed and denied: an empty `allow` allows all, a deny always wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectRules {
    /// Filters that are allowed; empty means every subject.
    pub allow: Vec<Box<str>>,
    /// Filters that are denied.
    pub deny: Vec<Box<str>>,
}

/// What one user may publish and subscribe to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Rules for publishing.
    pub publish: SubjectRules,
    /// Rules for subscribing; an entry may be `"subject queue"`.
    pub subscribe: SubjectRules,
    /// May answer requests it received although `publish` does not allow the reply subject.
    pub allow_responses: Option<AllowResponses>,
}

/// How many answers, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowResponses {
    /// Answers per request; `None` = no limit. nats-server's default is 1.
    pub max_msgs: Option<u32>,
    /// Time after the request; `None` = no limit. nats-server's default is two minutes.
    pub expires: Option<std::time::Duration>,
}
