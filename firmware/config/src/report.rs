use crate::duration;
use crate::error::ConfigError;
use crate::position::Position;
use crate::secret::Secret;
use crate::unsupported::{Block, is_unsupported, known};
use crate::value::{Entry, Kind, Map, Value};
use std::time::Duration;

/// Collects what is wrong while options are read, and reads values by type.
/// A reader that returns `None` has reported why.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) errors: Vec<ConfigError>,
    pub(crate) warnings: Vec<ConfigError>,
    pub(crate) notes: Vec<ConfigError>,
}

/// Keeps `target` as it is if there is no value.
pub(crate) fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

impl Report {
    pub(crate) fn error(&mut self, at: &Position, text: impl Into<String>, remedy: &str) {
        self.errors.push(ConfigError::option(at, text, remedy));
    }

    /// Something nats-server warns about; a check with `-t` fails on it.
    pub(crate) fn warning(&mut self, at: &Position, text: impl Into<String>, remedy: &str) {
        self.warnings.push(ConfigError::option(at, text, remedy));
    }

    /// Something that is different here from what the file may expect.
    pub(crate) fn note(&mut self, at: &Position, text: impl Into<String>) {
        self.notes.push(ConfigError::option(at, text, ""));
    }

    /// Whether the last mistake was found in the block that begins at `at`.
    pub(crate) fn is_about(&self, at: &Position) -> bool {
        let last = self.errors.last();
        last.is_some_and(|e| (e.line, e.column) >= (at.line, at.column))
    }

    /// A key that its block does not read: an option not built yet, a variable, or a mistake.
    pub(crate) fn other(&mut self, block: Block, entry: &Entry) {
        let key = entry.key.to_lowercase();
        if is_unsupported(block, &key) {
            self.unsupported(entry);
        } else if !entry.used {
            let shown = format!("{:?}", entry.key);
            let text = block.unknown(&shown);
            let remedy = nearest(&key, known(block))
                .map_or_else(String::new, |known| format!("did you mean {known:?}?"));
            self.error(&entry.value.at, text, &remedy);
        }
    }

    /// An option of nats-server that is not built yet.
    pub(crate) fn unsupported(&mut self, entry: &Entry) {
        let text = format!(
            "not supported yet: {:?}, line {}",
            entry.key, entry.value.at.line
        );
        self.error(&entry.value.at, text, "remove it to start");
    }

    /// A setting that asks for something not built yet, though its option is known.
    pub(crate) fn unsupported_value(&mut self, value: &Value, what: &str) {
        let text = format!("not supported yet: {what:?}, line {}", value.at.line);
        self.error(&value.at, text, "");
    }

    fn mismatch<T>(&mut self, value: &Value, want: &str, remedy: &str) -> Option<T> {
        let got = value.kind.go_name();
        let text = format!("interface conversion: interface {{}} is {got}, not {want}");
        self.error(&value.at, text, remedy);
        None
    }

    pub(crate) fn string(&mut self, value: &Value) -> Option<String> {
        match &value.kind {
            Kind::String(text) => Some(text.clone()),
            Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Bool(_)
            | Kind::Date(_)
            | Kind::Array(_)
            | Kind::Map(_) => self.mismatch(value, "string", "put the value in quotes"),
        }
    }

    /// A string; `wrong` says what is expected, in the words before "got".
    pub(crate) fn text_or<'v>(&mut self, value: &'v Value, wrong: &str) -> Option<&'v str> {
        let text = value.as_str();
        if text.is_none() {
            let text = format!("{wrong}, got {}", value.kind.go_name());
            self.error(&value.at, text, "put the value in quotes");
        }
        text
    }

    /// A block that can be nothing else.
    pub(crate) fn block<'v>(&mut self, value: &'v Value) -> Option<&'v Map> {
        let map = value.as_map();
        if map.is_none() {
            return self.mismatch(value, "map[string]interface {}", "write { ... }");
        }
        map
    }

    /// A list of nothing but strings.
    pub(crate) fn list_of_strings(&mut self, value: &Value) -> Option<Vec<String>> {
        let Kind::Array(values) = &value.kind else {
            return self.mismatch(value, "[]interface {}", "write [ ... ]");
        };
        values.iter().map(|value| self.string(value)).collect()
    }

    /// A string that, empty, is as good as absent.
    pub(crate) fn text(&mut self, value: &Value) -> Option<Option<String>> {
        self.string(value)
            .map(|text| Some(text).filter(|t| !t.is_empty()))
    }

    pub(crate) fn secret(&mut self, value: &Value) -> Option<Option<Secret>> {
        self.text(value).map(|text| text.map(Secret::new))
    }

    pub(crate) fn boolean(&mut self, value: &Value) -> Option<bool> {
        if let Kind::Bool(b) = value.kind {
            Some(b)
        } else {
            self.mismatch(value, "bool", "write true or false, without quotes")
        }
    }

    pub(crate) fn integer(&mut self, value: &Value) -> Option<i64> {
        if let Kind::Integer(n) = value.kind {
            Some(n)
        } else {
            let remedy =
                "write a whole number such as 100, a size such as 64KB or 1MB, without quotes";
            self.mismatch(value, "int64", remedy)
        }
    }

    /// A count; zero and less mean "no limit".
    pub(crate) fn limit(&mut self, value: &Value) -> Option<Option<u64>> {
        self.integer(value)
            .map(|n| u64::try_from(n).ok().filter(|&n| n > 0))
    }

    /// A count or size that must not be negative.
    pub(crate) fn count(&mut self, value: &Value) -> Option<u64> {
        let n = self.integer(value)?;
        let count = u64::try_from(n).ok();
        if count.is_none() {
            self.error(&value.at, format!("{n} is negative"), "write 0 or more");
        }
        count
    }

    /// A port; -1 is any free port, which is 0 here.
    pub(crate) fn port(&mut self, value: &Value) -> Option<Port> {
        let n = self.integer(value)?;
        self.port_number(n, &value.at)
    }

    fn port_number(&mut self, n: i64, at: &Position) -> Option<Port> {
        match (n, u16::try_from(n)) {
            (-1, _) => Some(Port::Any),
            (0, _) => Some(Port::Unset),
            (_, Ok(port)) => Some(Port::Number(port)),
            (_, Err(_)) => {
                self.error(
                    at,
                    format!("invalid port {n}"),
                    "a port is 1 to 65535, or -1 for any",
                );
                None
            }
        }
    }

    /// A `listen` value: `port` or `host:port`. An empty host means the default one.
    pub(crate) fn listen(&mut self, value: &Value) -> Option<(String, Port)> {
        let remedy = "write host:port, an IPv6 host in brackets";
        match &value.kind {
            Kind::Integer(n) => Some((String::new(), self.port_number(*n, &value.at)?)),
            Kind::String(text) => {
                let Some((host, port)) = split_host_port(text) else {
                    let text = format!("could not parse address string {text:?}");
                    self.error(&value.at, text, remedy);
                    return None;
                };
                let Ok(number) = port.parse::<i64>() else {
                    self.error(&value.at, format!("could not parse port {port:?}"), remedy);
                    return None;
                };
                Some((host.to_owned(), self.port_number(number, &value.at)?))
            }
            Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
                let text = format!("expected port or host:port, got {}", value.kind.go_name());
                self.error(&value.at, text, remedy);
                None
            }
        }
    }

    /// A duration option: a Go duration, or a number of seconds with a warning.
    pub(crate) fn duration(&mut self, field: &str, value: &Value) -> Option<Duration> {
        if let Kind::Integer(seconds) = value.kind {
            let text = format!(
                "invalid use of field {field:?}: {field} should be converted to a duration"
            );
            self.warning(&value.at, text, "write \"2m\" or \"30s\" in quotes");
            let nanos = seconds.checked_mul(1_000_000_000);
            return self.not_negative(field, nanos, value);
        }
        self.strict_duration(field, value)
    }

    /// A duration option that accepts no plain number.
    pub(crate) fn strict_duration(&mut self, field: &str, value: &Value) -> Option<Duration> {
        let nanos = self.nanoseconds(field, value)?;
        self.not_negative(field, Some(nanos), value)
    }

    fn not_negative(&mut self, field: &str, nanos: Option<i64>, value: &Value) -> Option<Duration> {
        let duration = nanos
            .and_then(|n| u64::try_from(n).ok())
            .map(Duration::from_nanos);
        if duration.is_none() {
            self.error(
                &value.at,
                format!("invalid {field}, needs to be positive"),
                "",
            );
        }
        duration
    }

    /// Nanoseconds of a Go duration, which may be negative.
    pub(crate) fn nanoseconds(&mut self, field: &str, value: &Value) -> Option<i64> {
        let Some(text) = value.as_str() else {
            return self.mismatch(value, "string", "write \"2m\" or \"30s\" in quotes");
        };
        match duration::parse(text) {
            Ok(nanos) => Some(nanos),
            Err(why) => {
                let text = format!("error parsing {field}: {why}");
                self.error(
                    &value.at,
                    text,
                    "write \"1h\", \"2m\", \"30s\" or \"100ms\"",
                );
                None
            }
        }
    }

    /// A list of strings; one string is a list of one.
    pub(crate) fn strings(&mut self, field: &str, value: &Value) -> Option<Vec<String>> {
        match &value.kind {
            Kind::String(text) => Some(vec![text.clone()]),
            Kind::Array(values) => {
                let mut strings = Vec::new();
                for value in values {
                    match value.as_str() {
                        Some(text) => strings.push(text.to_owned()),
                        None => {
                            let text = format!(
                                "error parsing {field}: unsupported type in array {}",
                                value.kind.go_name()
                            );
                            self.error(&value.at, text, "put the value in quotes");
                        }
                    }
                }
                Some(strings)
            }
            Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Map(_) => {
                let text = format!(
                    "error parsing {field}: unsupported type {}",
                    value.kind.go_name()
                );
                self.error(&value.at, text, "write a string or a list of strings");
                None
            }
        }
    }

    /// A block; `wrong` says what is expected, in the words before "got".
    pub(crate) fn map<'v>(&mut self, value: &'v Value, wrong: &str) -> Option<&'v Map> {
        let map = value.as_map();
        if map.is_none() {
            let text = format!("{wrong}, got {}", value.kind.go_name());
            self.error(&value.at, text, "write { ... }");
        }
        map
    }

    /// A list.
    pub(crate) fn array<'v>(&mut self, value: &'v Value, wrong: &str) -> Option<&'v [Value]> {
        if let Kind::Array(values) = &value.kind {
            Some(values)
        } else {
            let text = format!("{wrong}, got {}", value.kind.go_name());
            self.error(&value.at, text, "write [ ... ]");
            None
        }
    }
}

/// A port as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    /// 0: the default, or off where there is none.
    Unset,
    /// -1: any free one.
    Any,
    Number(u16),
}

impl Port {
    /// The port to bind, 0 for any free one; `None` if unset.
    pub(crate) fn bind(self) -> Option<u16> {
        match self {
            Self::Unset => None,
            Self::Any => Some(0),
            Self::Number(port) => Some(port),
        }
    }
}

/// spec: Go net.SplitHostPort
pub(crate) fn split_host_port(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return Some((host, rest.strip_prefix(':')?)).filter(|(_, port)| !port.contains(':'));
    }
    let (host, port) = text.rsplit_once(':')?;
    (!host.contains(':') && !host.contains('[') && !host.contains(']')).then_some((host, port))
}

/// The known key that was probably meant: at most two edits away, and less than half of the word.
fn nearest(key: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    if key.len() > 64 {
        return None;
    }
    known
        .map(|known| (edits(key, known), known))
        .filter(|(edits, _)| *edits <= 2 && edits * 2 < key.chars().count().max(1))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, known)| known)
}

/// How many letters to insert, drop, replace or swap with their neighbour.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(cb) && b.get(j - 1) == Some(ca);
            let swap = if swapped {
                cell(&before, j - 1) + 1
            } else {
                usize::MAX
            };
            let replace = cell(&row, j) + usize::from(ca != cb);
            let insert = cell(&next, j).min(cell(&row, j + 1)) + 1;
            next.push(swap.min(replace).min(insert));
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{edits, split_host_port};

    #[test]
    fn edits_are_counted() {
        let cases = [
            ("", "", 0),
            ("a", "", 1),
            ("port", "prot", 1),
            ("users", "user", 1),
        ];
        for (a, b, want) in cases {
            assert_eq!((edits(a, b), edits(b, a)), (want, want), "{a} {b}");
        }
        assert_eq!(edits("kitten", "sitting"), 3);
    }

    #[test]
    fn hosts_and_ports_are_split_like_go() {
        let cases = [
            ("a:1", Some(("a", "1"))),
            (":1", Some(("", "1"))),
            ("[::1]:1", Some(("::1", "1"))),
            ("::1:1", None),
            ("a", None),
            ("[::1]", None),
            ("[::1", None),
        ];
        for (text, want) in cases {
            assert_eq!(split_host_port(text), want, "{text}");
        }
    }
}
