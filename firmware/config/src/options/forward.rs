//! What is kept for the hub while the line is down, and how it gets there: blocks of Frond's own,
//! which nats-server does not know.

use crate::limits::{FORWARD_BYTES_DEFAULT, FORWARD_CLASSES_MAX};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};

mod budget;

pub use budget::{Budget, Period};

/// One `forward` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Of the block, which is also that of its stream on this box. `FORWARD` by default.
    pub name: String,
    /// What is kept and forwarded.
    pub subjects: Vec<String>,
    /// Where to.
    pub to: ForwardTo,
    /// How much may go there in a while; `None`: as much as there is.
    pub budget: Option<Budget>,
    /// In which order a backlog goes.
    pub order: Order,
    /// What comes while the line is up goes before the backlog. True by default.
    pub live_first: bool,
    /// Subjects that go before others and are dropped after them, the most important first.
    pub priority: Vec<String>,
    /// What happens when there is no room for more.
    pub on_full: OnFull,
    /// Bytes kept on this box at most.
    pub max_bytes: u64,
}

/// `forward.to`: a stream at the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardTo {
    /// The JetStream domain of the hub.
    pub domain: String,
    /// `host` or `host:port` of a url of the remote that leads there; `None`: there is but one.
    pub remote: Option<String>,
    /// The stream's name there; `None`: made of the names of this box and the block.
    pub stream: Option<String>,
}

/// In which order a backlog goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// What has waited longest goes first.
    Oldest,
    /// What came last goes first.
    Newest,
    /// Only the latest message of each subject is kept.
    Latest,
}

/// What happens when there is no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Publishers are told that there is no room.
    Refuse,
    /// What has waited longest is dropped.
    DropOldest,
    /// The least important is dropped, the oldest of it first.
    DropClass,
}

/// One block, or a list of them.
pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Vec<Forward>> {
    let values = match &value.kind {
        Kind::Array(values) => values.as_slice(),
        Kind::Map(_)
        | Kind::String(_)
        | Kind::Integer(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Date(_) => std::slice::from_ref(value),
    };
    let mut all: Vec<Forward> = Vec::new();
    for value in values {
        let map = report.map(value, "expected forward to be a map/struct");
        let Some(block) = map.and_then(|map| Forward::read(value, map, report)) else {
            continue;
        };
        if all.iter().any(|other| other.name == block.name) {
            let text = format!("two forward blocks are called {:?}", block.name);
            report.error(&value.at, text, "give each a name of its own");
            continue;
        }
        all.push(block);
    }
    Some(all)
}

impl Forward {
    fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let mut to = None;
        let mut it = Self {
            name: "FORWARD".to_owned(),
            subjects: Vec::new(),
            to: ForwardTo::default(),
            budget: None,
            order: Order::Oldest,
            live_first: true,
            priority: Vec::new(),
            on_full: OnFull::DropOldest,
            max_bytes: FORWARD_BYTES_DEFAULT,
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "name" => set(&mut it.name, name("name", value, report)),
                "subjects" => set(&mut it.subjects, filters("subjects", value, report)),
                "to" => to = ForwardTo::read(value, report),
                "budget" => it.budget = Budget::read(value, report),
                "order" => set(&mut it.order, word("order", value, report, &ORDERS)),
                "live_first" => set(&mut it.live_first, report.boolean(value)),
                "priority" => set(&mut it.priority, filters("priority", value, report)),
                "on_full" => set(&mut it.on_full, word("on_full", value, report, &ON_FULL)),
                "max_bytes" => set(&mut it.max_bytes, room(value, report)),
                _ => report.other(Block::Forward, entry),
            }
        }
        let before = report.errors.len();
        it.check(at, report);
        if to.is_none() && !report.is_about(&at.at) {
            let remedy = "write to: DOMAIN, the JetStream domain of the hub";
            report.error(&at.at, "to is missing in forward", remedy);
        }
        it.to = to?;
        (report.errors.len() == before).then_some(it)
    }

    fn check(&self, at: &Value, report: &mut Report) {
        if self.subjects.is_empty() {
            let remedy = "write subjects: [\"sales.>\"]";
            report.error(&at.at, "subjects is missing in forward", remedy);
        }
        let all = self.subjects.iter().enumerate();
        for (nth, subject) in all {
            let rest = self.subjects.iter().skip(nth + 1);
            if let Some(other) = rest.clone().find(|it| frond_subject::overlaps(it, subject)) {
                let text = format!("forward: subjects {subject:?} and {other:?} overlap");
                report.error(&at.at, text, "write the wider one only");
            }
            if let Some(own) = OWN.iter().find(|own| frond_subject::overlaps(own, subject)) {
                let text = format!("forward: {subject:?} would forward {own:?}, this server's own");
                report.error(&at.at, text, "begin it with a word of yours");
            }
        }
        let is_there = |it: &&String| {
            let mut subjects = self.subjects.iter();
            subjects.any(|subject| frond_subject::overlaps(it, subject))
        };
        if let Some(none) = self.priority.iter().find(|it| !is_there(it)) {
            let text = format!("forward: priority {none:?} is none of its subjects");
            report.error(&at.at, text, "write it as in subjects, or narrower");
        }
        if self.priority.len() > FORWARD_CLASSES_MAX {
            let text = format!("forward: more than {FORWARD_CLASSES_MAX} priorities");
            report.error(&at.at, text, "join some of them");
        }
        if self.on_full == OnFull::DropClass && self.priority.is_empty() {
            let remedy = "write priority: [\"alarm.>\"], the most important first";
            let text = "forward: on_full drop_class does not know what is more important";
            report.error(&at.at, text, remedy);
        }
    }

    /// The name of its stream at the hub.
    #[must_use]
    pub fn hub_stream(&self, server_name: &str) -> String {
        let given = self.to.stream.clone();
        given.unwrap_or_else(|| format!("FWD_{server_name}_{}", self.name))
    }
}

/// What a block may not keep: answers and the words of servers.
const OWN: [&str; 7] = [
    "_INBOX.>", "_R_.>", "$JS.>", "$SYS.>", "$FWD.>", "$FROND.>", "$NRG.>",
];

const ORDERS: [(&str, Order); 3] = [
    ("oldest", Order::Oldest),
    ("newest", Order::Newest),
    ("latest", Order::Latest),
];

const ON_FULL: [(&str, OnFull); 3] = [
    ("refuse", OnFull::Refuse),
    ("drop_oldest", OnFull::DropOldest),
    ("drop_class", OnFull::DropClass),
];

impl ForwardTo {
    /// The hub's domain, or a block that says more.
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut it = Self::default();
        if let Kind::String(_) = value.kind {
            it.domain = name("to", value, report)?;
            return Some(it);
        }
        let map = report.map(value, "expected to to be a domain or a map/struct")?;
        let mut domain = None;
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "domain" => domain = name("domain", value, report),
                "remote" => set(&mut it.remote, report.text(value)),
                "stream" => it.stream = name("stream", value, report),
                _ => report.other(Block::ForwardTo, entry),
            }
        }
        if domain.is_none() && !report.is_about(&value.at) {
            let text = "domain is missing in forward to";
            report.error(&value.at, text, "write the JetStream domain of the hub");
        }
        it.domain = domain?;
        Some(it)
    }
}

/// A name that is one word of a subject and may name a stream.
fn name(field: &str, value: &Value, report: &mut Report) -> Option<String> {
    let text = report.string(value)?;
    if is_name(&text) {
        return Some(text);
    }
    let wrong = format!("forward: {field} {text:?} is no name");
    report.error(&value.at, wrong, "letters, digits, - and _, at most 64");
    None
}

/// Whether it can be a word of a subject and a part of a stream's name.
pub(crate) fn is_name(text: &str) -> bool {
    let may = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= 64 && text.chars().all(may)
}

fn filters(field: &str, value: &Value, report: &mut Report) -> Option<Vec<String>> {
    let all = report.strings(field, value)?;
    if let Some(wrong) = all.iter().find(|it| !frond_subject::is_valid_filter(it)) {
        let text = format!("forward: {wrong:?} is no subject");
        report.error(&value.at, text, "write sales.> or sales.*.total");
        return None;
    }
    Some(all)
}

fn room(value: &Value, report: &mut Report) -> Option<u64> {
    let bytes = report.count(value)?;
    if bytes < 64 * 1024 {
        let text = format!("forward: max_bytes of {bytes} keeps next to nothing");
        report.error(&value.at, text, "write 64MB");
        return None;
    }
    Some(bytes)
}

/// One of a few words.
fn word<T: Copy>(
    field: &str,
    value: &Value,
    report: &mut Report,
    words: &[(&str, T)],
) -> Option<T> {
    let text = report.string(value)?;
    let mut all = words.iter();
    let found = all.find(|(word, _)| word.eq_ignore_ascii_case(&text));
    if found.is_none() {
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let remedy = format!("it is one of: {}", known.join(", "));
        report.error(&value.at, format!("unknown {field} {text:?}"), &remedy);
    }
    found.map(|(_, it)| *it)
}

#[cfg(test)]
mod tests;
