use thiserror::Error;

/// Why a mapping makes no sense, in nats-server's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransformError {
    /// One of the subjects is invalid, or their `>` and `*` don't fit each other.
    #[error("invalid subject")]
    InvalidSubject,
    /// A token after `>`.
    #[error("invalid mapping destination: invalid transform in {0}")]
    AfterTail(String),
    /// An empty token, or white space in one.
    #[error("invalid mapping destination: invalid transform")]
    InvalidDestination,
    /// A `{{function()}}` that doesn't exist.
    #[error("invalid mapping destination: unknown function in {0}")]
    UnknownFunction(String),
    /// A reference to a `*` that the source doesn't have.
    #[error("invalid mapping destination: wildcard index out of range in {0}")]
    IndexOutOfRange(String),
    /// Too few arguments.
    #[error("invalid mapping destination: not enough arguments passed to the function in {0}")]
    NotEnoughArguments(String),
    /// Too many arguments.
    #[error("invalid mapping destination: too many arguments passed to the function in {0}")]
    TooManyArguments(String),
    /// An argument that is no number, or no separator.
    #[error(
        "invalid mapping destination: function argument is invalid or in the wrong format in {0}"
    )]
    InvalidArgument(String),
    /// Imports only: every `*` has to be used.
    #[error("invalid mapping destination: not using all of the token wildcard(s) in {0}")]
    NotAllWildcards(String),
    /// Imports only: a function that can't be reversed.
    #[error(
        "invalid mapping destination: the only mapping function allowed for import transforms is {{{{Wildcard()}}}} in {0}"
    )]
    NotForImports(String),
}
