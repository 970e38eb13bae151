use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::Value;

use crate::Plan;

/// What somebody wants to know or to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Boxes after this name, so many at most.
    Boxes {
        /// A name; empty: from the first.
        after: String,
        /// How many.
        limit: usize,
    },
    /// One box.
    Box(String),
    /// Boxes with which something is wrong.
    Alarms,
    /// Servers with a line to this hub that say nothing of themselves.
    Leaves,
    /// How the rollout goes.
    Rollout,
    /// A bundle is to be brought to the boxes.
    Start(Box<Plan>, Vec<u8>),
    /// No further box is to be told for now.
    Pause(String),
    /// It may go on.
    Resume,
    /// No further box is to be told at all.
    Abort(String),
}

/// Endpoints, and what they are for.
pub(crate) const ENDPOINTS: [(&str, &str); 9] = [
    (
        "boxes",
        "boxes after a name: {\"after\": \"\", \"limit\": 500}",
    ),
    ("box", "one box: {\"name\": \"till-7\"}"),
    ("alarms", "boxes with which something is wrong"),
    (
        "leaves",
        "servers with a line to this hub that say nothing of themselves",
    ),
    ("rollout", "how the rollout goes"),
    (
        "start",
        "brings a bundle to the boxes: a plan and \"bundle\" in base64",
    ),
    ("pause", "tells no further box for now"),
    ("resume", "goes on"),
    (
        "abort",
        "tells no further box, and takes back what was not read",
    ),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Words {
    after: String,
    limit: Option<usize>,
    name: String,
    by: String,
    bundle: String,
}

impl Question {
    /// What is asked at an endpoint.
    ///
    /// # Errors
    /// What is wrong with the question.
    pub fn parse(endpoint: &str, payload: &[u8]) -> Result<Self, String> {
        let payload = match payload {
            [] => b"{}".as_slice(),
            payload => payload,
        };
        let said: Value = serde_json::from_slice(payload).map_err(|_| "no JSON".to_owned())?;
        let words = Words::deserialize(&said).map_err(|error| error.to_string())?;
        match endpoint {
            "boxes" => Ok(Self::Boxes {
                after: words.after,
                limit: words.limit.unwrap_or(usize::MAX),
            }),
            "box" => Ok(Self::Box(words.name)),
            "alarms" => Ok(Self::Alarms),
            "leaves" => Ok(Self::Leaves),
            "rollout" => Ok(Self::Rollout),
            "start" => {
                let plan = Plan::deserialize(&said).map_err(|error| error.to_string())?;
                let bundle = BASE64.decode(words.bundle.as_bytes());
                let bundle = bundle.map_err(|_| "its bundle is no base64".to_owned())?;
                Ok(Self::Start(Box::new(plan), bundle))
            }
            "pause" => Ok(Self::Pause(words.by)),
            "resume" => Ok(Self::Resume),
            "abort" => Ok(Self::Abort(words.by)),
            other => Err(format!("there is no endpoint {other:?}")),
        }
    }

    /// Whether somebody wants something to be done.
    pub(crate) const fn changes(&self) -> bool {
        match self {
            Self::Boxes { .. } | Self::Box(_) | Self::Alarms | Self::Leaves | Self::Rollout => {
                false
            }
            Self::Start(..) | Self::Pause(_) | Self::Resume | Self::Abort(_) => true,
        }
    }

    /// The name of its endpoint, and what is said there.
    #[must_use]
    pub fn said(&self) -> (&'static str, String) {
        use serde_json::json;
        match self {
            Self::Boxes { after, limit } => {
                let limit = (*limit != usize::MAX).then_some(*limit);
                (
                    "boxes",
                    json!({ "after": after, "limit": limit }).to_string(),
                )
            }
            Self::Box(name) => ("box", json!({ "name": name }).to_string()),
            Self::Alarms => ("alarms", String::new()),
            Self::Leaves => ("leaves", String::new()),
            Self::Rollout => ("rollout", String::new()),
            Self::Start(plan, bundle) => {
                let mut said = json!(plan);
                if let Some(map) = said.as_object_mut() {
                    map.insert("bundle".to_owned(), json!(BASE64.encode(bundle)));
                }
                ("start", said.to_string())
            }
            Self::Pause(by) => ("pause", json!({ "by": by }).to_string()),
            Self::Resume => ("resume", String::new()),
            Self::Abort(by) => ("abort", json!({ "by": by }).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_meant() {
        let mut plan = Plan {
            jitter_s: 7,
            ..Plan::default()
        };
        plan.windows = vec![crate::Window::parse("mon 02:00-05:00").unwrap()];
        for question in [
            Question::Boxes {
                after: "a".into(),
                limit: usize::MAX,
            },
            Question::Boxes {
                after: String::new(),
                limit: 3,
            },
            Question::Box("till-7".into()),
            Question::Alarms,
            Question::Rollout,
            Question::Start(Box::new(plan), b"x".to_vec()),
            Question::Pause("ann".into()),
            Question::Resume,
            Question::Abort("ann".into()),
        ] {
            let (endpoint, said) = question.said();
            assert!(ENDPOINTS.iter().any(|(name, _)| *name == endpoint));
            assert_eq!(Question::parse(endpoint, said.as_bytes()), Ok(question));
        }
        for (endpoint, said) in [
            ("x", "{}"),
            ("box", "x"),
            ("start", r#"{"bundle":"?"}"#),
            ("start", r#"{"bundle":"eA==","waves":["0%"]}"#),
        ] {
            assert!(
                Question::parse(endpoint, said.as_bytes()).is_err(),
                "{said}"
            );
        }
    }
}
