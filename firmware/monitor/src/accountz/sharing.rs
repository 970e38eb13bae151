use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::text::empty;

/// What an account offers, takes and renames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Sharing {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) mappings: BTreeMap<String, Vec<MapDest>>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) exports: Vec<Export>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) imports: Vec<Import>,
}

/// Where a share of messages goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct MapDest {
    pub(crate) subject: String,
    /// Of a hundred, those of the destinations before it added.
    pub(crate) weight: u8,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) cluster: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Export {
    pub(crate) subject: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) token_req: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) response_type: &'static str,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) service_latency: Option<Latency>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) approved_accounts: Vec<String>,
    /// Moments by account.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) revoked_activations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Import {
    pub(crate) subject: String,
    pub(crate) account: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) to: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) local_subject: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) invalid: bool,
    pub(crate) share: bool,
    pub(crate) tracking: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) latency: Option<Latency>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Latency {
    /// Percent; 0: as the headers of requests ask for it.
    #[serde(serialize_with = "sampling")]
    pub(crate) sampling: u8,
    pub(crate) results: String,
}

/// spec: github.com/nats-io/jwt v2 exports.go `SamplingRate`
fn sampling<S: Serializer>(percent: &u8, to: S) -> Result<S::Ok, S::Error> {
    match percent {
        0 => to.serialize_str("headers"),
        percent => to.serialize_u8(*percent),
    }
}

impl Import {
    /// A service that the system account offers every account, which asks for it under `here`.
    pub(crate) fn of_system(system: &str, here: &str, there: String) -> Self {
        Self {
            subject: there,
            account: system.to_owned(),
            to: here.to_owned(),
            local_subject: here.to_owned(),
            kind: SERVICE,
            share: matches!(here, "$SYS.REQ.USER.INFO" | "$JS.API.>"),
            ..Self::default()
        }
    }
}

pub(crate) const SERVICE: &str = "service";
pub(crate) const STREAM: &str = "stream";
