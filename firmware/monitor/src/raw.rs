use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON object written elsewhere, its members in the order they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object(Vec<(String, Box<RawValue>)>);

impl Object {
    /// Reads one; what is no object has no members.
    pub(crate) fn read(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap_or_default()
    }

    /// Without one member.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(key, _)| key != name);
        self
    }

    /// A member that is text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.member(name)?.get()).ok()
    }

    /// A member.
    pub(crate) fn member(&self, name: &str) -> Option<&RawValue> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
    }

    /// The names of all members.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(key, _)| key.as_str()).collect()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        from.deserialize_map(Members)
    }
}
