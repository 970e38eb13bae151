use std::collections::BTreeMap;

use serde::de::Error;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::validation::Validation;
use super::{NO_LIMIT, UserPermissionLimits};
use crate::nkey::{Role, is_public_key};

/// Public keys that sign in an account's name; some only users of one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SigningKeys(pub BTreeMap<String, Option<UserScope>>);

/// What all users have that one signing key signs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserScope {
    /// `user_scope`.
    pub kind: String,
    /// The signing key.
    pub key: String,
    /// What such users are called.
    pub role: String,
    /// What they may do; subjects may have templates.
    pub template: UserPermissionLimits,
    /// For people.
    pub description: String,
}

impl SigningKeys {
    /// Whether `key` is one of them.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The scope of `key`, if it has one.
    #[must_use]
    pub fn scope(&self, key: &str) -> Option<&UserScope> {
        self.0.get(key)?.as_ref()
    }

    pub(super) fn check(&self, found: &mut Validation) {
        for (key, scope) in &self.0 {
            let valid = is_public_key(Role::Account, key);
            match scope {
                Some(_) if !valid => found.error(format!("{key} is not an account public key")),
                None if !valid => {
                    found.error(format!("{key:?} is not a valid account signing key"));
                }
                Some(_) | None => {}
            }
        }
    }
}

impl Serialize for SigningKeys {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.len()))?;
        for (key, scope) in &self.0 {
            match scope {
                Some(scope) => list.serialize_element(scope)?,
                None => list.serialize_element(key)?,
            }
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for SigningKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut keys = Self::default();
        for item in Vec::<Value>::deserialize(from)? {
            match item {
                Value::String(key) => {
                    keys.0.insert(key, None);
                }
                Value::Object(_) => {
                    let scope = scope(item).map_err(D::Error::custom)?;
                    keys.0.insert(scope.key.clone(), Some(scope));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
            }
        }
        Ok(keys)
    }
}

/// A limit that a scope doesn't name is none.
fn scope(mut value: Value) -> Result<UserScope, String> {
    let kind = value.get("kind").and_then(Value::as_str);
    if kind != Some("user_scope") {
        return Err(format!(
            "unknown signing key scope {:?}",
            kind.unwrap_or_default()
        ));
    }
    if let Some(fields) = value.as_object_mut() {
        let template = fields
            .entry("template")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(template) = template.as_object_mut() {
            for limit in ["subs", "data", "payload"] {
                template.entry(limit).or_insert(Value::from(NO_LIMIT));
            }
        }
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}
