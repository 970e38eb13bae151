use crate::position::Position;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};
use std::time::Duration;

/// What a user may publish and subscribe. `None` in a list means: not restricted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Subjects the user may publish to.
    pub publish: SubjectRules,
    /// Subjects the user may subscribe to.
    pub subscribe: SubjectRules,
    /// Replies to requests the user received are allowed.
    pub allow_responses: Option<AllowResponses>,
}

/// Allowed and denied subjects; denial wins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubjectRules {
    /// Only these; `None` allows all, an empty list (which only `allow_responses` makes) none.
    pub allow: Option<Vec<SubjectRule>>,
    /// Not these.
    pub deny: Vec<SubjectRule>,
}

/// A subject with wildcards, and the queue group if the rule is about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectRule {
    /// The subject.
    pub subject: String,
    /// The queue group, which may hold wildcards too.
    pub queue: Option<String>,
}

/// How many replies are allowed for one request, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowResponses {
    /// Messages per request; `None` any number.
    pub max_msgs: Option<u64>,
    /// How long a reply is allowed; `None` for ever.
    pub expires: Option<Duration>,
}

impl Default for AllowResponses {
    fn default() -> Self {
        Self {
            max_msgs: Some(1),
            expires: Some(Duration::from_secs(120)),
        }
    }
}

/// A permissions block.
pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Permissions> {
    let map = report.map(value, "Expected permissions to be a map/struct")?;
    let mut permissions = Permissions::default();
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "pub" | "publish" | "import" => {
                set(
                    &mut permissions.publish,
                    rules(value, Queues::Refused, report),
                );
            }
            "sub" | "subscribe" | "export" => {
                set(
                    &mut permissions.subscribe,
                    rules(value, Queues::Allowed, report),
                );
            }
            "publish_allow_responses" | "allow_responses" => {
                permissions.allow_responses = allow_responses(value, report);
            }
            _ => report.other(Block::Permissions, entry),
        }
    }
    // Replies only: without a publish list of its own the user may publish nothing else.
    if permissions.allow_responses.is_some() {
        permissions.publish.allow.get_or_insert_default();
    }
    Some(permissions)
}

#[derive(Clone, Copy, PartialEq)]
enum Queues {
    Allowed,
    Refused,
}

fn rules(value: &Value, queues: Queues, report: &mut Report) -> Option<SubjectRules> {
    let Kind::Map(map) = &value.kind else {
        let allow = rule_list(value, queues, report)?;
        return Some(SubjectRules {
            allow: given(allow),
            deny: Vec::new(),
        });
    };
    let mut rules = SubjectRules::default();
    for entry in map {
        match entry.key.to_lowercase().as_str() {
            "allow" => rules.allow = rule_list(&entry.value, queues, report).and_then(given),
            "deny" => set(&mut rules.deny, rule_list(&entry.value, queues, report)),
            _ => report.other(Block::SubjectRules, entry),
        }
    }
    Some(rules)
}

/// As with nats-server, an empty list is no list.
fn given(rules: Vec<SubjectRule>) -> Option<Vec<SubjectRule>> {
    (!rules.is_empty()).then_some(rules)
}

fn rule_list(value: &Value, queues: Queues, report: &mut Report) -> Option<Vec<SubjectRule>> {
    let texts = texts(value, report)?;
    let mut rules = Vec::new();
    for (text, at) in texts {
        match rule(text, queues) {
            Ok(rule) => rules.push(rule),
            Err(text) => report.error(at, text, "tokens are separated by single dots"),
        }
    }
    Some(rules)
}

fn rule(text: &str, queues: Queues) -> Result<SubjectRule, String> {
    if frond_subject::is_valid_filter(text) {
        return Ok(SubjectRule {
            subject: text.to_owned(),
            queue: None,
        });
    }
    let mut fields = text.split_whitespace();
    match (queues, fields.next(), fields.next(), fields.next()) {
        (Queues::Allowed, Some(subject), Some(queue), None) => {
            if !frond_subject::is_valid_filter(subject) {
                Err(format!("subject {subject:?} is not a valid subject"))
            } else if !frond_subject::is_valid_filter(queue) {
                Err(format!("queue {queue:?} is not a valid queue"))
            } else {
                Ok(SubjectRule {
                    subject: subject.to_owned(),
                    queue: Some(queue.to_owned()),
                })
            }
        }
        _ => Err(format!("subject {text:?} is not a valid subject")),
    }
}

/// Plain subjects, for `deny_imports` and `deny_exports`.
pub(crate) fn subjects(value: &Value, report: &mut Report) -> Option<Vec<String>> {
    let rules = rule_list(value, Queues::Refused, report)?;
    Some(rules.into_iter().map(|rule| rule.subject).collect())
}

fn texts<'v>(value: &'v Value, report: &mut Report) -> Option<Vec<(&'v str, &'v Position)>> {
    match &value.kind {
        Kind::String(text) => Some(vec![(text, &value.at)]),
        Kind::Array(values) => {
            let mut texts = Vec::new();
            for value in values {
                match value.as_str() {
                    Some(text) => texts.push((text, &value.at)),
                    None => report.error(
                        &value.at,
                        "Subject in permissions array cannot be cast to string",
                        "put the subject in quotes",
                    ),
                }
            }
            Some(texts)
        }
        Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Map(_) => {
            let text = format!(
                "Expected subject permissions to be a subject, or array of subjects, got {}",
                value.kind.go_name()
            );
            report.error(&value.at, text, "");
            None
        }
    }
}

fn allow_responses(value: &Value, report: &mut Report) -> Option<AllowResponses> {
    match &value.kind {
        Kind::Bool(true) => Some(AllowResponses::default()),
        Kind::Bool(false) => None,
        Kind::Map(map) => Some(allow_responses_block(map, report)),
        Kind::String(_) | Kind::Integer(_) | Kind::Float(_) | Kind::Date(_) | Kind::Array(_) => {
            let text = "error parsing response permissions, expected a boolean or a map";
            report.error(&value.at, text, "");
            None
        }
    }
}

fn allow_responses_block(map: &Map, report: &mut Report) -> AllowResponses {
    let mut responses = AllowResponses::default();
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            // Zero is the default, less is no limit.
            "max" | "max_msgs" | "max_messages" | "max_responses" => match report.integer(value) {
                Some(0) | None => {}
                Some(n) => responses.max_msgs = u64::try_from(n).ok(),
            },
            "expires" | "expiration" | "ttl" => {
                if value.as_str().is_none() {
                    let text = "error parsing expires, not a duration string";
                    report.error(&value.at, text, "write \"2m\" or \"30s\" in quotes");
                    continue;
                }
                match report.nanoseconds("expires", value) {
                    Some(0) | None => {}
                    Some(n) => responses.expires = u64::try_from(n).ok().map(Duration::from_nanos),
                }
            }
            _ => report.other(Block::AllowResponses, entry),
        }
    }
    responses
}
