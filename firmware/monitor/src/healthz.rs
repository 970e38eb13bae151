//! `/healthz`: whether this server does its work, and if not, why.
//!
//! spec: nats-server v2.15.1 server/monitor.go `healthz`

use serde::Serialize;

use crate::jetstream::{JetStream, JsStream};
use crate::query::{Query, Refusal};
use crate::rows::Remote;
use crate::text::empty;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    scope: Scope,
    account: String,
    stream: String,
    consumer: String,
    details: bool,
    /// Of our own: whether the links to hubs are up.
    leaf: bool,
}

/// How far the check goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The server answers.
    Server,
    /// JetStream is on, if it is to be.
    JetStream,
    /// Streams and consumers too.
    Assets,
}

/// What JetStream is to be, and is.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Not configured.
    Unwanted,
    /// Configured, and not running.
    Missing,
    /// Running.
    On(JetStream),
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct HealthStatus {
    status: &'static str,
    /// Only over the system account, where nothing else says it.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) status_code: u16,
    #[serde(skip_serializing_if = "empty")]
    error: String,
    #[serde(skip_serializing_if = "empty")]
    errors: Vec<HealthzError>,
    /// What was damaged and does not stop the rest; of our own.
    #[serde(skip_serializing_if = "empty")]
    damage: Vec<HealthzError>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct HealthzError {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "empty")]
    account: String,
    #[serde(skip_serializing_if = "empty")]
    stream: String,
    #[serde(skip_serializing_if = "empty")]
    consumer: String,
    error: String,
}

/// A status code and what explains it.
struct Trouble {
    code: u16,
    found: Vec<HealthzError>,
}

impl Options {
    pub(crate) fn read(query: &Query) -> Result<Self, Refusal> {
        let enabled = query.flag("js-enabled")?;
        let enabled_only = query.flag("js-enabled-only")?;
        let server_only = query.flag("js-server-only")?;
        query.flag("js-meta-only")?;
        let details = query.flag("details")?;
        let leaf = query.flag("leaf")?;
        Ok(Self {
            scope: match (server_only, enabled || enabled_only) {
                (true, _) => Scope::Server,
                (false, true) => Scope::JetStream,
                (false, false) => Scope::Assets,
            },
            account: query.text("account").to_owned(),
            stream: query.text("stream").to_owned(),
            consumer: query.text("consumer").to_owned(),
            details,
            leaf,
        })
    }
}

/// The status code and the document; `absent` are the listeners that take nobody.
pub(crate) fn document(
    options: &Options,
    absent: &[&str],
    remotes: &[Remote],
    state: &State,
) -> (u16, HealthStatus) {
    let Trouble { code, found } = match check(options, absent, state) {
        good if good.found.is_empty() && options.leaf => uplinks(remotes),
        checked => checked,
    };
    let mut document = HealthStatus {
        status: "ok",
        damage: damage(options, state),
        ..HealthStatus::default()
    };
    let Some(first) = found.first() else {
        return (code, document);
    };
    document.status = if options.details || matches!(code, BAD_REQUEST | NOT_READY) {
        "error"
    } else {
        "unavailable"
    };
    if options.details {
        document.errors = found;
    } else {
        document.error.clone_from(&first.error);
    }
    (code, document)
}

const OK: u16 = 200;
const BAD_REQUEST: u16 = 400;
const NOT_FOUND: u16 = 404;
const NOT_READY: u16 = 500;
const UNAVAILABLE: u16 = 503;

/// Every hub that is to be attached is.
fn uplinks(remotes: &[Remote]) -> Trouble {
    let mut rest = remotes.iter();
    let Some(down) = rest.find(|remote| !matches!(remote.state, "up" | "disabled")) else {
        return Trouble::none();
    };
    let mut error = format!(
        "leafnode remote {} of account {:?} is {}",
        down.urls.join(", "),
        down.account,
        down.state
    );
    if !down.last_error.is_empty() {
        error.push_str(": ");
        error.push_str(&down.last_error);
    }
    Trouble::one(UNAVAILABLE, "CONNECTION", &error)
}

fn check(options: &Options, absent: &[&str], state: &State) -> Trouble {
    if options.account.is_empty() && !options.stream.is_empty() {
        let error = "\"account\" must not be empty when checking stream health";
        return Trouble::one(BAD_REQUEST, "BAD_REQUEST", error);
    }
    if options.stream.is_empty() && !options.consumer.is_empty() {
        let error = "\"stream\" must not be empty when checking consumer health";
        return Trouble::one(BAD_REQUEST, "BAD_REQUEST", error);
    }
    if !absent.is_empty() {
        let names = absent.join(", ");
        let error = format!("failed to be ready for connections after 1ms: {names}");
        return Trouble::one(NOT_READY, "CONNECTION", &error);
    }
    match (options.scope, state) {
        (Scope::Server, _) | (_, State::Unwanted) | (Scope::JetStream, State::On(_)) => {
            Trouble::none()
        }
        (Scope::JetStream | Scope::Assets, State::Missing) => {
            Trouble::one(UNAVAILABLE, "JETSTREAM", "jetstream not enabled")
        }
        (Scope::Assets, State::On(jetstream)) => check_assets(options, jetstream),
    }
}

/// Streams whose disk fails, and whether what is asked about exists at all.
fn check_assets(options: &Options, jetstream: &JetStream) -> Trouble {
    let wanted = |asked: &str, name: &str| asked.is_empty() || asked == name;
    let accounts: Vec<_> = jetstream
        .accounts
        .iter()
        .filter(|account| wanted(&options.account, &account.name))
        // An account is JetStream's from its first stream on, to its last.
        .filter(|account| !account.streams.is_empty())
        .collect();
    if accounts.is_empty() && !options.account.is_empty() {
        return Trouble::account_missing(options);
    }
    let streams: Vec<_> = accounts
        .iter()
        .flat_map(|account| {
            account
                .streams
                .iter()
                .map(|stream| (account.name.as_str(), stream))
        })
        .filter(|(_, stream)| wanted(&options.stream, &stream.name))
        .collect();
    if streams.is_empty() && !options.stream.is_empty() {
        return Trouble::stream_missing(options);
    }
    let has_consumer = |stream: &JsStream| {
        stream
            .consumers
            .iter()
            .any(|it| it.text("name").as_deref() == Some(&options.consumer))
    };
    if !options.consumer.is_empty() && !streams.iter().any(|(_, stream)| has_consumer(stream)) {
        return Trouble::consumer_missing(options);
    }
    let found: Vec<_> = streams
        .iter()
        .filter_map(|(account, stream)| fault(account, stream))
        .collect();
    if found.is_empty() {
        Trouble::none()
    } else {
        Trouble {
            code: UNAVAILABLE,
            found,
        }
    }
}

/// What the disk lost, and streams that lost messages: they serve all others, so that is no reason to be taken for ill.
fn damage(options: &Options, state: &State) -> Vec<HealthzError> {
    let (Scope::Assets, State::On(jetstream)) = (options.scope, state) else {
        return Vec::new();
    };
    let of_disk = jetstream.reports.iter().map(|report| HealthzError {
        kind: "JETSTREAM",
        error: format!("JetStream disk: {report}"),
        ..HealthzError::default()
    });
    let told = |account: &str, stream: &JsStream| HealthzError {
        kind: "STREAM",
        account: account.to_owned(),
        stream: stream.name.clone(),
        consumer: String::new(),
        error: format!(
            "JetStream stream '{account} > {}' lost messages: {}",
            stream.name, stream.lost
        ),
    };
    let all = jetstream.accounts.iter().flat_map(|account| {
        let streams = account.streams.iter().filter(|stream| stream.lost > 0);
        streams.map(|stream| told(&account.name, stream))
    });
    of_disk.chain(all).collect()
}

fn fault(account: &str, stream: &JsStream) -> Option<HealthzError> {
    let why = stream.fault.as_ref()?;
    Some(HealthzError {
        kind: "STREAM",
        account: account.to_owned(),
        stream: stream.name.clone(),
        consumer: String::new(),
        error: format!(
            "JetStream stream '{account} > {}' write error: {why}",
            stream.name
        ),
    })
}

impl Trouble {
    const fn none() -> Self {
        Self {
            code: OK,
            found: Vec::new(),
        }
    }

    fn one(code: u16, kind: &'static str, error: &str) -> Self {
        let error = HealthzError {
            kind,
            error: error.to_owned(),
            ..HealthzError::default()
        };
        Self {
            code,
            found: vec![error],
        }
    }

    fn account_missing(options: &Options) -> Self {
        let account = options.account.clone();
        let error = format!("JetStream account {account:?} not found");
        let found = HealthzError {
            kind: "ACCOUNT",
            account,
            error,
            ..HealthzError::default()
        };
        Self {
            code: NOT_FOUND,
            found: vec![found],
        }
    }

    fn stream_missing(options: &Options) -> Self {
        let (account, stream) = (options.account.clone(), options.stream.clone());
        let error = format!("JetStream stream {stream:?} not found on account {account:?}");
        let found = HealthzError {
            kind: "STREAM",
            account,
            stream,
            error,
            ..HealthzError::default()
        };
        Self {
            code: NOT_FOUND,
            found: vec![found],
        }
    }

    fn consumer_missing(options: &Options) -> Self {
        let (account, stream) = (options.account.clone(), options.stream.clone());
        let consumer = options.consumer.clone();
        let error = format!(
            "JetStream consumer {consumer:?} not found for stream {stream:?} on account {account:?}"
        );
        let found = HealthzError {
            kind: "CONSUMER",
            account,
            stream,
            consumer,
            error,
        };
        Self {
            code: NOT_FOUND,
            found: vec![found],
        }
    }
}

#[cfg(test)]
mod tests;
