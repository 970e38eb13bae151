//! What accounts take from each other.
//! spec: nats-server v2.15.1 server/opts.go `parseImportStreamOrService`, `parseAccountImports`

use crate::position::Position;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Map, Value};

/// One entry of an account's `imports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// What is taken.
    pub kind: ImportKind,
    /// The exporting account.
    pub account: String,
    /// The filter there.
    pub subject: String,
    /// What it is called here.
    pub to: Option<String>,
}

/// Messages, or answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportKind {
    /// `stream`
    Stream {
        /// `prefix`
        prefix: Option<String>,
        /// `allow_trace`
        allow_trace: bool,
    },
    /// `service`
    Service {
        /// `share`
        share: bool,
    },
}

/// The `imports` of an account.
pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Vec<Import>> {
    let values = report.array(value, "Imports should be an array")?;
    let mut imports: Vec<Import> = Vec::new();
    for value in values {
        let wrong = "Import Items should be a map with type entry";
        let Some(map) = report.map(value, wrong) else {
            continue;
        };
        let Some(import) = read_one(map, report) else {
            continue;
        };
        match imports.iter().find(|known| known.collides(&import)) {
            None => imports.push(import),
            Some(known) => {
                let text = format!(
                    "Duplicate service import subject {:?}, previously used in import for account \
                     {:?}, subject {:?}",
                    import.local(),
                    known.account,
                    known.subject
                );
                report.error(&value.at, text, "give one of them another \"to\"");
            }
        }
    }
    Some(imports)
}

impl Import {
    fn local(&self) -> &str {
        self.to.as_deref().unwrap_or(&self.subject)
    }

    fn collides(&self, other: &Self) -> bool {
        let is_service = |import: &Self| match import.kind {
            ImportKind::Service { .. } => true,
            ImportKind::Stream { .. } => false,
        };
        is_service(self)
            && is_service(other)
            && self.account == other.account
            && self.local() == other.local()
    }
}

/// What an entry says, before it is known whether it fits together.
#[derive(Default)]
struct Draft<'v> {
    stream: Option<(Remote, &'v Position)>,
    service: Option<(Remote, &'v Position)>,
    prefix: Option<String>,
    to: Option<(String, &'v Position)>,
    share: bool,
    allow_trace: Option<(bool, &'v Position)>,
}

/// Account and subject.
type Remote = (String, String);

fn read_one(map: &Map, report: &mut Report) -> Option<Import> {
    let mut draft = Draft::default();
    for entry in map {
        let (value, at) = (&entry.value, &entry.value.at);
        match entry.key.to_lowercase().as_str() {
            "stream" => {
                let wrong = "Stream entry should be an account map";
                draft.stream = remote(value, wrong, report).map(|remote| (remote, at));
            }
            "service" => {
                let wrong = "Service entry should be an account map";
                draft.service = remote(value, wrong, report).map(|remote| (remote, at));
            }
            "prefix" => set(&mut draft.prefix, report.text(value)),
            "to" => draft.to = report.text(value).flatten().map(|to| (to, at)),
            "share" => set(&mut draft.share, report.boolean(value)),
            "allow_trace" => draft.allow_trace = report.boolean(value).map(|on| (on, at)),
            _ => report.other(Block::Import, entry),
        }
    }
    draft.finish(report)
}

impl Draft<'_> {
    fn finish(self, report: &mut Report) -> Option<Import> {
        match (self.stream, self.service) {
            (None, None) => None,
            (Some((remote, _)), None) => {
                if let (Some(_), Some((_, at))) = (&self.prefix, &self.to) {
                    let text = "Stream import can not have a 'prefix' and a 'to' property";
                    report.error(at, text, "remove one of them");
                }
                Some(Import {
                    kind: ImportKind::Stream {
                        prefix: self.prefix,
                        allow_trace: self.allow_trace.is_some_and(|(on, _)| on),
                    },
                    account: remote.0,
                    subject: remote.1,
                    to: self.to.map(|(to, _)| to),
                })
            }
            (None, Some((remote, _))) => {
                if let Some((_, at)) = self.allow_trace {
                    let text = "Detected allow_trace directive on a non-stream";
                    report.error(at, text, "it belongs to the export");
                }
                Some(Import {
                    kind: ImportKind::Service { share: self.share },
                    account: remote.0,
                    subject: remote.1,
                    to: self.to.map(|(to, _)| to),
                })
            }
            (Some((_, first)), Some((_, second))) => {
                if (first.line, first.column) < (second.line, second.column) {
                    let text = "Detected service but already saw a stream";
                    report.error(second, text, "write two entries");
                } else {
                    let text = "Detected stream but already saw a service";
                    report.error(first, text, "write two entries");
                }
                None
            }
        }
    }
}

fn remote(value: &Value, wrong: &str, report: &mut Report) -> Option<Remote> {
    let map = report.map(value, wrong)?;
    let (mut account, mut subject) = (String::new(), String::new());
    for entry in map {
        match entry.key.to_lowercase().as_str() {
            "account" => set(&mut account, report.string(&entry.value)),
            "subject" => set(&mut subject, report.string(&entry.value)),
            _ => report.other(Block::ImportSource, entry),
        }
    }
    if account.is_empty() || subject.is_empty() {
        let text = "Expect an account name and a subject";
        report.error(&value.at, text, "write {account: A, subject: \"a.>\"}");
        return None;
    }
    Some((account, subject))
}
