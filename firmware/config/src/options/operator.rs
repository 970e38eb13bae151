use crate::duration;
use crate::nkey;
use crate::options::tls::{Side, Tls};
use crate::report::{Report, set};
use crate::source::Source;
use crate::value::{Kind, Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Whom this server trusts to vouch for accounts, and where those come from. What the JWTs say
/// is not known here: they are kept as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorMode {
    /// The operators' JWTs; after reading, never a file's name.
    pub operators: Vec<String>,
    /// Public operator keys, `O...`, trusted without a JWT.
    pub trusted_keys: Vec<String>,
    /// Where account JWTs come from; `None` is what a single operator's JWT names.
    pub resolver: Option<Resolver>,
    /// How a URL is asked with TLS; `None`: it is trusted if the system does.
    pub resolver_tls: Option<Tls>,
    /// Account JWTs by public key, put into the resolver at the start.
    pub preload: BTreeMap<String, String>,
    /// The accounts that may connect; empty is any.
    pub pinned_accounts: BTreeSet<String>,
    /// The user JWT of those who show none.
    pub default_sentinel: Option<String>,
}

/// Where account JWTs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolver {
    /// `MEMORY`: what is preloaded.
    Memory,
    /// `URL(...)`: a GET of this with the account's key appended.
    Url(String),
    /// `type: full`: all of them, in a directory, kept equal with other servers.
    Full {
        /// The directory.
        dir: String,
        /// What a delete request does.
        deletion: Deletion,
        /// Between two comparisons with other servers.
        interval: Duration,
        /// Accounts at most; `None` any number.
        limit: Option<u64>,
        /// How long a lookup at other servers may take.
        timeout: Duration,
    },
    /// `type: cache`: those that were asked for, in a directory.
    Cache {
        /// The directory.
        dir: String,
        /// Accounts at most, the least used one makes room.
        limit: u64,
        /// How long one is good without being asked for again; `None` as long as its JWT.
        ttl: Option<Duration>,
        /// How long a lookup at other servers may take.
        timeout: Duration,
    },
}

/// What a request to delete an account does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is refused.
    Refused,
    /// The file is renamed to `<key>.jwt.deleted`.
    Renames,
    /// The file is removed.
    Removes,
}

impl OperatorMode {
    /// Whether clients have to show a user JWT.
    pub fn is_on(&self) -> bool {
        !self.operators.is_empty() || !self.trusted_keys.is_empty()
    }

    /// Reads the option, if it is one of these.
    pub(crate) fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "operator" | "operators" | "roots" | "root" | "root_operators" | "root_operator" => {
                self.operators = read_operators(value, report);
            }
            "trusted" | "trusted_keys" => self.read_trusted(value, report),
            "resolver" | "account_resolver" | "accounts_resolver" => {
                self.resolver = read_resolver(value, report);
            }
            "resolver_tls" => self.resolver_tls = Tls::read(value, Side::Client, report),
            "resolver_preload" => self.read_preload(value, report),
            "resolver_pinned_accounts" => {
                let keys = report.strings("resolver_pinned_accounts", value);
                self.pinned_accounts = keys.into_iter().flatten().collect();
            }
            "default_sentinel" => set(&mut self.default_sentinel, report.text(value)),
            _ => return false,
        }
        true
    }

    /// Puts the text of each operator's JWT in the place of the file that holds it. The reason
    /// if one can't be had.
    ///
    /// spec: nats-server v2.15.1 server/jwt.go `readOperatorJWT`
    pub(crate) fn load(&mut self, source: &dyn Source) -> Result<(), String> {
        for operator in &mut self.operators {
            let text = match source.read(operator) {
                Ok(text) => text,
                Err(_) if operator.starts_with(JWT_START) => operator.clone(),
                Err(why) => return Err(format!("error parsing operator JWT: {why}")),
            };
            *operator = undecorated(&text);
        }
        Ok(())
    }

    fn read_trusted(&mut self, value: &Value, report: &mut Report) {
        self.trusted_keys = report.strings("trusted", value).unwrap_or_default();
        for key in &self.trusted_keys {
            if !nkey::is_public_operator(key) {
                let text = format!("trust key {key:?} required to be a valid public operator nkey");
                report.error(&value.at, text, "it has 56 characters and starts with O");
            }
        }
    }

    fn read_preload(&mut self, value: &Value, report: &mut Report) {
        let Some(map) = value.as_map() else {
            let text = "preload should be a map of account_public_key:account_jwt";
            return report.error(&value.at, text, "");
        };
        self.preload.clear();
        for entry in map {
            match entry.value.as_str() {
                Some(text) => {
                    self.preload.insert(entry.key.clone(), text.to_owned());
                }
                None => {
                    let text = "preload map value should be a string JWT";
                    report.error(&entry.value.at, text, "");
                }
            }
        }
    }
}

/// What a JWT begins with.
const JWT_START: &str = "eyJ";

/// The JWT between its `-----BEGIN` and `-----END` lines, or the text as it is.
fn undecorated(text: &str) -> String {
    let is_rule = |line: &str| line.starts_with("---") && line.trim_end().ends_with("---");
    let mut lines = text.lines().skip_while(|line| !is_rule(line.trim_start()));
    match (lines.next(), lines.next()) {
        (Some(_), Some(jwt)) => jwt.trim().to_owned(),
        (Some(_) | None, _) => text.trim().to_owned(),
    }
}

fn read_operators(value: &Value, report: &mut Report) -> Vec<String> {
    let values = match &value.kind {
        Kind::String(text) => return vec![text.clone()],
        Kind::Array(values) => values,
        Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Map(_) => {
            let name = value.kind.go_name();
            let text = format!("error parsing operators: unsupported type {name}");
            report.error(&value.at, text, "write a file's name or a JWT");
            return Vec::new();
        }
    };
    let mut operators = Vec::new();
    for one in values {
        match one.as_str() {
            Some(text) => operators.push(text.to_owned()),
            None => {
                let text = "error parsing operators: unsupported type *conf.token where string is \
                            expected";
                report.error(&value.at, text, "");
                break;
            }
        }
    }
    operators
}

fn read_resolver(value: &Value, report: &mut Report) -> Option<Resolver> {
    let resolver = match &value.kind {
        Kind::String(text) => named(text),
        Kind::Map(map) => match Directory::read(map, value, report) {
            Ok(resolver) => resolver,
            Err(Reported) => return None,
        },
        Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) => {
            let name = value.kind.go_name();
            let text = format!("error parsing operator resolver, wrong type {name}");
            report.error(&value.at, text, "");
            return None;
        }
    };
    if resolver.is_none() {
        let text = "error parsing account resolver, should be MEM or  URL(\"url\") or a map \
                    containing dir and type state=[FULL|CACHE])";
        report.error(&value.at, text, "");
    }
    resolver
}

/// `MEM`, `MEMORY` or `URL(...)`, as loosely as nats-server's patterns take them.
fn named(text: &str) -> Option<Resolver> {
    let upper = text.to_ascii_uppercase();
    if upper.contains("MEM") {
        return Some(Resolver::Memory);
    }
    let after = text.get(upper.find("URL")? + "URL".len()..)?;
    let inside = after
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .map_or("", |(inside, _)| inside.trim().trim_matches('"'));
    Some(Resolver::Url(inside.to_owned()))
}

/// An error that the report holds already.
struct Reported;

/// A resolver's map while it is read.
#[derive(Default)]
struct Directory {
    kind: String,
    dir: String,
    allow_delete: Option<bool>,
    hard_delete: Option<bool>,
    limit: i64,
    ttl: Duration,
    interval: Duration,
    timeout: Option<Duration>,
}

impl Directory {
    fn read(map: &Map, value: &Value, report: &mut Report) -> Result<Option<Resolver>, Reported> {
        let mut read = Self::default();
        for entry in map {
            let value = &entry.value;
            match entry.key.as_str() {
                "type" => set(&mut read.kind, report.string(value)),
                "dir" => set(&mut read.dir, report.string(value)),
                "allow_delete" => read.allow_delete = report.boolean(value),
                "hard_delete" => read.hard_delete = report.boolean(value),
                "limit" => set(&mut read.limit, report.integer(value)),
                "ttl" => set(&mut read.ttl, time(value, report)),
                "interval" => set(&mut read.interval, time(value, report)),
                "timeout" => read.timeout = time(value, report),
                _ => {}
            }
        }
        if read.timeout == Some(Duration::ZERO) {
            report.error(&value.at, "Fetch timeout 0s is too smal", "");
        }
        match read.kind.to_ascii_uppercase().as_str() {
            "MEM" | "MEMORY" => Ok(Some(Resolver::Memory)),
            "FULL" => read.full(value, report).map(Some),
            "CACHE" => read.cache(value, report).map(Some),
            _ => Ok(None),
        }
    }

    fn full(self, value: &Value, report: &mut Report) -> Result<Resolver, Reported> {
        let mut complain = |text: &str| report.error(&value.at, text, "");
        if !self.ttl.is_zero() {
            complain("FULL does not accept ttl");
        }
        let deletes = self.allow_delete == Some(true);
        if self.hard_delete.is_some() && !deletes {
            complain("hard_delete has no effect without delete");
        }
        let timeout = self.timeout();
        Ok(Resolver::Full {
            deletion: match (deletes, self.hard_delete) {
                (false, _) => Deletion::Refused,
                (true, Some(true)) => Deletion::Removes,
                (true, Some(false) | None) => Deletion::Renames,
            },
            interval: Some(self.interval)
                .filter(|interval| !interval.is_zero())
                .unwrap_or(DEFAULT_INTERVAL),
            limit: u64::try_from(self.limit).ok().filter(|limit| *limit > 0),
            timeout,
            dir: checked_dir(self.dir, value, report)?,
        })
    }

    fn cache(self, value: &Value, report: &mut Report) -> Result<Resolver, Reported> {
        let mut complain = |text: &str| report.error(&value.at, text, "");
        if !self.interval.is_zero() {
            complain("CACHE does not accept sync");
        }
        if self.allow_delete == Some(true) {
            complain("CACHE does not accept allow_delete");
        }
        if self.hard_delete.is_some() {
            complain("CACHE does not accept hard_delete");
        }
        let timeout = self.timeout();
        Ok(Resolver::Cache {
            limit: u64::try_from(self.limit)
                .ok()
                .filter(|limit| *limit > 0)
                .unwrap_or(DEFAULT_CACHED_ACCOUNTS),
            ttl: Some(self.ttl).filter(|ttl| !ttl.is_zero()),
            timeout,
            dir: checked_dir(self.dir, value, report)?,
        })
    }

    fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_FETCH_TIMEOUT)
    }
}

fn checked_dir(dir: String, value: &Value, report: &mut Report) -> Result<String, Reported> {
    if dir.is_empty() {
        let text = "dir has no value and needs to point to a directory";
        report.error(&value.at, text, "add dir: \"/path\"");
        return Err(Reported);
    }
    Ok(dir)
}

/// A Go duration, in the words nats-server has for a bad one.
fn time(value: &Value, report: &mut Report) -> Option<Duration> {
    let text = report.string(value)?;
    match duration::parse(&text) {
        Ok(nanos) => Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))),
        Err(why) => {
            let remedy = "write \"1h\", \"2m\", \"30s\" or \"100ms\"";
            report.error(&value.at, why, remedy);
            None
        }
    }
}

/// spec: nats-server v2.15.1 server/accounts.go `NewDirAccResolver`
const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);

/// spec: nats-server v2.15.1 server/accounts.go `NewCacheDirAccResolver`
const DEFAULT_CACHED_ACCOUNTS: u64 = 1_000;

/// spec: nats-server v2.15.1 server/const.go `DEFAULT_ACCOUNT_FETCH_TIMEOUT`
const DEFAULT_FETCH_TIMEOUT: Duration = Duration::from_millis(1_900);

#[cfg(test)]
mod tests;
