use crate::position::Position;
use std::collections::BTreeMap;
use std::fmt;

/// A value of the file and where it stands; for a value in a map, where its key stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What it is.
    pub kind: Kind,
    /// Where to point when it is wrong.
    pub at: Position,
}

/// The kinds of the language. Debug shows no text, which may be a password.
#[derive(Clone, PartialEq)]
pub enum Kind {
    /// Any string form.
    String(String),
    /// An integer, its suffix multiplied in.
    Integer(i64),
    /// A number with a dot.
    Float(f64),
    /// `true`, `yes`, `on` or their opposites.
    Bool(bool),
    /// `2006-01-02T15:04:05Z`, as written.
    Date(String),
    /// `[ ... ]`
    Array(Vec<Value>),
    /// `{ ... }`
    Map(Map),
}

impl Kind {
    /// The name that nats-server's messages give to the type.
    pub(crate) fn go_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Integer(_) => "int64",
            Self::Float(_) => "float64",
            Self::Bool(_) => "bool",
            Self::Date(_) => "time.Time",
            Self::Array(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(values) => f
                .debug_list()
                .entries(values.iter().map(|v| &v.kind))
                .finish(),
            Self::Map(map) => f
                .debug_map()
                .entries(map.iter().map(|e| (&e.key, &e.value.kind)))
                .finish(),
            Self::String(_) | Self::Integer(_) | Self::Float(_) | Self::Bool(_) | Self::Date(_) => {
                f.write_str(self.go_name())
            }
        }
    }
}

impl Value {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Kind::String(text) = &self.kind {
            Some(text)
        } else {
            None
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Kind::Map(map) = &self.kind {
            Some(map)
        } else {
            None
        }
    }

    /// Bytes that a copy would take, roughly.
    pub(crate) fn weight(&self) -> usize {
        let own = size_of::<Self>();
        own + match &self.kind {
            Kind::String(text) | Kind::Date(text) => text.len(),
            Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) => 0,
            Kind::Array(values) => values.iter().map(Self::weight).sum(),
            Kind::Map(map) => map.iter().map(|e| e.key.len() + e.value.weight()).sum(),
        }
    }
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key, its case kept.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Whether a `$key` referred to it; such a key need not be an option.
    pub used: bool,
}

/// Keys and values in file order; a key given twice keeps its last value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    entries: Vec<Entry>,
    index: BTreeMap<String, usize>,
}

impl Map {
    /// The entries in file order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The value of `key`, its case as written.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.index
            .get(key)
            .and_then(|&i| self.entries.get(i))
            .map(|e| &e.value)
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many keys it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn insert(&mut self, entry: Entry) {
        match self
            .index
            .get(&entry.key)
            .and_then(|&i| self.entries.get_mut(i))
        {
            Some(old) => *old = entry,
            None => {
                self.index.insert(entry.key.clone(), self.entries.len());
                self.entries.push(entry);
            }
        }
    }

    /// The value of a variable, which marks the key as used.
    pub(crate) fn refer(&mut self, key: &str) -> Option<&Value> {
        let entry = self.index.get(key).and_then(|&i| self.entries.get_mut(i))?;
        entry.used = true;
        Some(&entry.value)
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
