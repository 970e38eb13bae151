use std::collections::BTreeMap;

use frond_clock::Timestamp;

use super::{GivenTime, Json, invalid, parse_each};
use crate::errors::ApiError;

/// A value on its way into a field, with the names Go's messages mention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    value: &'a Json,
    /// The Go type of the request, such as `StreamConfigRequest`.
    of: &'static str,
    path: &'a str,
    is_strict: bool,
}

/// Reads a request body: an object of the Go type `of`, every member handed to `take` in the
/// order sent, with its name in lower case. An empty body and `null` have no members. Further
/// objects after the first add to it, as nats-server reads on to the end.
///
/// # Errors
/// `invalid JSON: …` in Go's words; when strict also where `take` answers `Ok(false)`:
/// it knows no such field.
pub(crate) fn request(
    body: &[u8],
    of: &'static str,
    is_strict: bool,
    mut take: impl FnMut(&str, Field<'_>) -> Result<bool, String>,
) -> Result<(), ApiError> {
    for value in parse_each(body) {
        let value = value.map_err(invalid)?;
        let whole = match &value {
            Json::Null | Json::Object(_) => Field {
                value: &value,
                of,
                path: "",
                is_strict,
            },
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                return Err(invalid(format!(
                    "json: cannot unmarshal {} into Go value of type server.{of}",
                    kind(&value)
                )));
            }
        };
        fields(whole, "", &mut take).map_err(invalid)?;
    }
    Ok(())
}

/// Whether an optional body counts as one: its first byte that is no blank opens a value.
pub(crate) fn flexible_object(body: &[u8]) -> &[u8] {
    match body.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{' | b'[') => body,
        Some(_) | None => b"",
    }
}

/// The members of an object-valued field, as [`request`] does for a whole body.
///
/// # Errors
/// In Go's words.
pub(crate) fn fields(
    whole: Field<'_>,
    go_type: &str,
    mut take: impl FnMut(&str, Field<'_>) -> Result<bool, String>,
) -> Result<(), String> {
    let members = match whole.value {
        Json::Null => return Ok(()),
        Json::Object(members) => members,
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            return Err(whole.mismatch(go_type));
        }
    };
    for (key, value) in members {
        let name = key.to_lowercase();
        let path = if whole.path.is_empty() {
            name.clone()
        } else {
            format!("{}.{name}", whole.path)
        };
        let field = Field {
            value,
            path: &path,
            ..whole
        };
        if !take(&name, field)? && whole.is_strict {
            return Err(format!("json: unknown field {key:?}"));
        }
    }
    Ok(())
}

impl<'a> Field<'a> {
    /// Text; empty for `null`.
    pub(crate) fn string(self) -> Result<String, String> {
        match self.value {
            Json::Null => Ok(String::new()),
            Json::String(text) => Ok(text.clone()),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Err(self.mismatch("string"))
            }
        }
    }

    /// Truth; false for `null`.
    pub(crate) fn bool(self) -> Result<bool, String> {
        match self.value {
            Json::Null => Ok(false),
            Json::Bool(value) => Ok(*value),
            Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                Err(self.mismatch("bool"))
            }
        }
    }

    /// Go's `int` and `int64` (named by `go_type`, with `time.Duration` for nanoseconds).
    pub(crate) fn int64(self, go_type: &str) -> Result<i64, String> {
        self.integer(go_type)
    }

    /// Go's `int32`.
    pub(crate) fn int32(self) -> Result<i64, String> {
        self.integer::<i32>("int32").map(i64::from)
    }

    /// Go's `uint64`.
    pub(crate) fn uint64(self) -> Result<u64, String> {
        self.integer("uint64")
    }

    /// A list of texts.
    pub(crate) fn strings(self) -> Result<Vec<String>, String> {
        let items = match self.value {
            Json::Null => return Ok(Vec::new()),
            Json::Array(items) => items,
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
                return Err(self.mismatch("[]string"));
            }
        };
        let named = |(index, item): (usize, &Json)| match item {
            Json::String(text) => Ok(text.clone()),
            Json::Null => Ok(String::new()),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => Err(format!(
                "json: cannot unmarshal {} into {}.{}.{index} of type string",
                kind(item),
                self.of,
                self.path
            )),
        };
        items.iter().enumerate().map(named).collect()
    }

    /// The items of a list, each as a field of the same name.
    pub(crate) fn items(self, go_type: &str) -> Result<Vec<Self>, String> {
        match self.value {
            Json::Null => Ok(Vec::new()),
            Json::Array(items) => Ok(items.iter().map(|value| Field { value, ..self }).collect()),
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
                Err(self.mismatch(go_type))
            }
        }
    }

    /// A map of texts.
    pub(crate) fn string_map(self) -> Result<BTreeMap<String, String>, String> {
        let members = match self.value {
            Json::Null => return Ok(BTreeMap::new()),
            Json::Object(members) => members,
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                return Err(self.mismatch("map[string]string"));
            }
        };
        let mut map = BTreeMap::new();
        for (key, value) in members {
            let path = format!("{}.{key}", self.path);
            let text = Field {
                value,
                path: &path,
                ..self
            }
            .string()?;
            map.insert(key.clone(), text);
        }
        Ok(map)
    }

    /// A time; `None` for `null`.
    pub(crate) fn time(self) -> Result<Option<Timestamp>, String> {
        let time = self.given_time()?;
        Ok(time.map(|time| time.at()))
    }

    /// A time with the offset it was given with; `null` is none.
    pub(crate) fn given_time(self) -> Result<Option<GivenTime>, String> {
        match self.value {
            Json::Null => Ok(None),
            Json::String(text) => GivenTime::parse(text).map(Some),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Err(self.mismatch("time.Time"))
            }
        }
    }

    /// One of a closed list of texts; the fault is worded as nats-server words most of them.
    pub(crate) fn one_of<T>(self, choose: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        self.choice(choose)
            .ok_or_else(|| format!("can not unmarshal {:?}", self.text()))
    }

    /// One of a closed list of texts, or `None`.
    pub(crate) fn choice<T>(self, choose: impl Fn(&str) -> Option<T>) -> Option<T> {
        match self.value {
            Json::String(text) => choose(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// Whether it is `null`, which Go takes for absent.
    pub(crate) fn is_null(self) -> bool {
        *self.value == Json::Null
    }

    /// The value as JSON text, for messages.
    pub(crate) fn text(self) -> String {
        match self.value {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Number(digits) => digits.to_string(),
            Json::String(text) => format!("{text:?}"),
            Json::Array(_) => "[...]".to_owned(),
            Json::Object(_) => "{...}".to_owned(),
        }
    }

    fn integer<T: std::str::FromStr + Default>(self, go_type: &str) -> Result<T, String> {
        match self.value {
            Json::Null => Ok(T::default()),
            Json::Number(digits) => digits.parse().map_err(|_| {
                format!(
                    "json: cannot unmarshal number {digits} into Go struct field {}.{} of type {go_type}",
                    self.of, self.path
                )
            }),
            Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                Err(self.mismatch(go_type))
            }
        }
    }

    fn mismatch(self, go_type: &str) -> String {
        format!(
            "json: cannot unmarshal {} into Go struct field {}.{} of type {go_type}",
            kind(self.value),
            self.of,
            self.path
        )
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}
