/// Answers kept per user for hot publish subjects before the cache starts over.
/// spec: nats-server v2.15.1 server/client.go `maxPermCacheSize`.
pub(crate) const CACHED_SUBJECTS_MAX: usize = 128;

/// Characters of the longest nkey text looked at: a seed is 58.
pub(crate) const NKEY_CHARS_MAX: usize = 64;

/// Bytes of the longest token looked at.
/// spec: nats-io/jwt v2 `MaxTokenSize`.
pub(crate) const JWT_BYTES_MAX: usize = 1024 * 1024;

/// Accounts that are walked when looking for cycles of imports.
/// spec: nats-server v2.15.1 server/accounts.go `MaxAccountCycleSearchDepth`.
pub(crate) const CYCLE_ACCOUNTS_MAX: usize = 1024;

/// Subjects that the templates of one scope may make.
/// spec: nats-server v2.15.1 server/auth.go `maxPermTemplateSubjectExpansions`
pub(crate) const TEMPLATE_SUBJECTS_MAX: usize = 4096;
