//! Imports as they are used: names looked up, renamings made.

use std::sync::Arc;
use std::time::Duration;

use frond_subject::Transform;

use crate::{AccountId, LatencyPlan, Mappings, ResponseType};

/// What an account takes from others and renames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Imported messages.
    pub streams: Vec<Arc<StreamImport>>,
    /// Imported services.
    pub services: Vec<Arc<ServiceImport>>,
    /// Renamed subjects.
    pub mappings: Mappings,
    /// Why some of the plan's exports and imports count for nothing, in nats-server's words.
    pub refused: Vec<String>,
}

/// Messages of another account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamImport {
    /// The exporting account.
    pub account: AccountId,
    /// The filter there.
    pub from: String,
    /// The filter here.
    pub to: String,
    /// From a subject there to one here.
    pub rename: Rename,
    /// From a filter here to one there, where `rename` is a transform.
    pub back: Option<Transform>,
    /// Whether a traced message is traced here too.
    pub allow_trace: bool,
}

/// A service of another account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceImport {
    /// The exporting account.
    pub account: AccountId,
    /// The filter here.
    pub from: String,
    /// The filter there.
    pub to: String,
    /// From a subject here to one there.
    pub rename: Rename,
    /// Whether the exporting account is told who asks.
    pub share: bool,
    /// The export it comes under.
    pub service: Arc<Service>,
}

/// An exported service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The exporting account.
    pub account: AccountId,
    /// The filter that is exported.
    pub subject: String,
    /// How many answers belong to a request.
    pub response: ResponseType,
    /// How long answers are waited for.
    pub threshold: Duration,
    /// Where the time of answers is published.
    pub latency: Option<LatencyPlan>,
    /// Whether a traced request is traced there too.
    pub allow_trace: bool,
}

/// How a subject is renamed on its way between accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rename {
    /// It isn't.
    Same,
    /// It gets the import's own name, whatever it was.
    Fixed,
    /// By its tokens.
    By(Transform),
}

impl StreamImport {
    /// The name here of a message published as `subject` there.
    #[must_use]
    pub fn here<'s>(&'s self, subject: &'s str) -> std::borrow::Cow<'s, str> {
        self.rename.apply(subject, &self.to)
    }
}

impl ServiceImport {
    /// The name there of a request published as `subject` here.
    #[must_use]
    pub fn there<'s>(&'s self, subject: &'s str) -> std::borrow::Cow<'s, str> {
        self.rename.apply(subject, &self.to)
    }

    /// Whether both come under one export.
    #[must_use]
    pub fn same_service(&self, other: &Self) -> bool {
        let (a, b) = (&self.service, &other.service);
        a.account == b.account && a.subject == b.subject
    }
}

impl Rename {
    fn apply<'s>(&'s self, subject: &'s str, fixed: &'s str) -> std::borrow::Cow<'s, str> {
        match self {
            Self::Same => subject.into(),
            Self::Fixed => fixed.into(),
            Self::By(transform) => transform.rename(subject, 0).into(),
        }
    }
}

/// How long nats-server waits for answers to a request of another account.
/// spec: nats-server v2.15.1 server/const.go `DEFAULT_SERVICE_EXPORT_RESPONSE_THRESHOLD`
pub(crate) const THRESHOLD: Duration = Duration::from_secs(120);
