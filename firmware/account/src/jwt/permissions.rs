use serde::{Deserialize, Serialize};

use super::validation::Validation;
use super::{is_default, subject_text};

/// What may be published and subscribed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionClaims {
    /// Publishing.
    #[serde(rename = "pub")]
    pub publish: Permission,
    /// Subscribing; an entry may be `"subject queue"`.
    #[serde(rename = "sub")]
    pub subscribe: Permission,
    /// Answering requests.
    #[serde(rename = "resp", skip_serializing_if = "Option::is_none")]
    pub responses: Option<ResponsePermission>,
}

/// Subjects allowed and denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Permission {
    /// Allowed; empty is all.
    #[serde(skip_serializing_if = "is_default")]
    pub allow: Vec<String>,
    /// Denied.
    #[serde(skip_serializing_if = "is_default")]
    pub deny: Vec<String>,
}

/// How many answers a request may get, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResponsePermission {
    /// Answers.
    #[serde(rename = "max")]
    pub max_msgs: i64,
    /// Nanoseconds after the request.
    #[serde(rename = "ttl")]
    pub expires_ns: i64,
}

impl PermissionClaims {
    pub(super) fn check(&self, found: &mut Validation) {
        for subject in self.subscribe.all() {
            check(subject, Queue::Allowed, found);
        }
        for subject in self.publish.all() {
            check(subject, Queue::Forbidden, found);
        }
    }
}

impl Permission {
    fn all(&self) -> impl Iterator<Item = &String> {
        self.allow.iter().chain(&self.deny)
    }
}

/// Whether an entry may name a queue group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Allowed,
    Forbidden,
}

fn check(entry: &str, queue: Queue, found: &mut Validation) {
    let mut parts = entry.split(' ');
    let (subject, group) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        found.error(format!(
            "Permission Subject \"{entry}\" contains too many spaces"
        ));
        return;
    }
    subject_text::check(subject, found);
    let Some(group) = group else { return };
    subject_text::check(group, found);
    if queue == Queue::Forbidden {
        found.error(format!(
            "Permission Subject \"{entry}\" is not allowed to contain queue"
        ));
    }
}
