//! What accounts offer each other, take from each other, and rename: plain values of a plan.
//! spec: nats-server v2.15.1 server/accounts.go `exportAuth`, `serviceExport`, `streamImport`,
//! `serviceImport`, `MapDest`.

use std::collections::BTreeMap;
use std::time::Duration;

/// Subjects of an account that others may import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The filter that is offered.
    pub subject: String,
    /// Messages, or answers to requests.
    pub kind: ExportKind,
    /// Who may import it.
    pub access: ExportAccess,
    /// Which token, from 1, must be the importing account's name; 0 is none. The token is a `*`.
    pub account_token_position: u32,
}

/// What an export offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportKind {
    /// Messages published in the account.
    Stream,
    /// Requests answered in the account.
    Service(ServiceExport),
}

/// How an exported service answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceExport {
    /// How many answers belong to one request.
    pub response: ResponseType,
    /// How long answers are waited for; `None` is two minutes.
    pub threshold: Option<Duration>,
    /// Where the time of answers is published.
    pub latency: Option<LatencyPlan>,
    /// Whether a traced request is traced here too.
    pub allow_trace: bool,
}

/// How many answers belong to one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseType {
    /// One.
    #[default]
    Singleton,
    /// Any number, until an empty one or until nothing came for the threshold.
    Stream,
    /// The same; the parts are one answer.
    Chunked,
}

/// Where and how often the time of answers is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyPlan {
    /// Where it is published.
    pub subject: String,
    /// How often.
    pub sampling: Sampling,
}

/// How often a request is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// When its own headers ask for it.
    Headers,
    /// So many of a hundred, 1 to 100; and when its headers ask for it.
    Percent(u8),
}

/// Who may import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExportAccess {
    /// Everyone.
    #[default]
    Public,
    /// These accounts.
    Accounts(Vec<String>),
    /// Who holds an activation that isn't revoked: importing account, or `*`, to the unix time in
    /// seconds up to which activations are void.
    Activation {
        /// By account name, or `*`.
        revoked: BTreeMap<String, i64>,
    },
}

/// Subjects of another account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Messages, or a service.
    pub kind: ImportKind,
    /// The exporting account's name.
    pub account: String,
    /// The filter there.
    pub subject: String,
    /// What it is called here; `$1` stands for the first `*` there.
    pub to: Option<String>,
    /// What is put in front of it here; a stream's alternative to `to`.
    pub prefix: Option<String>,
    /// The exporting account's permission, already verified and not expired.
    pub activation: Option<Activation>,
}

/// What an import takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportKind {
    /// Messages.
    Stream {
        /// Whether a traced message is traced here too.
        allow_trace: bool,
    },
    /// A service.
    Service {
        /// Whether the exporting account is told who asks.
        share: bool,
    },
}

/// An activation token that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The exporting account that gave it.
    pub issuer_account: String,
    /// When, in unix seconds.
    pub issued_at: i64,
}

/// A renaming of what clients and leafnodes publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The filter of what is renamed.
    pub source: String,
    /// To what, by weight. What the weights leave of a hundred keeps its name, unless the
    /// source itself is among them: then it is lost.
    pub destinations: Vec<Destination>,
}

/// One new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The pattern of the new name.
    pub subject: String,
    /// Of a hundred, among those for the same cluster.
    pub weight: u8,
    /// Only in this cluster, and there instead of those without one.
    pub cluster: Option<String>,
}

/// Where messages with a `traceparent` are traced to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlan {
    /// The subject of the traces.
    pub subject: String,
    /// Of a hundred messages, 1 to 100.
    pub sampling: u8,
}
