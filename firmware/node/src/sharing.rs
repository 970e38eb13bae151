//! From the configuration's words for exports, imports and mappings to the account crate's.

use frond_account as account;
use frond_config as config;

pub(crate) fn exports(given: &[config::Export]) -> Vec<account::Export> {
    given.iter().map(export).collect()
}

fn export(given: &config::Export) -> account::Export {
    let kind = match &given.kind {
        config::ExportKind::Stream => account::ExportKind::Stream,
        config::ExportKind::Service(service) => {
            account::ExportKind::Service(service_export(service))
        }
    };
    account::Export {
        subject: given.subject.clone(),
        kind,
        access: match &given.accounts {
            None => account::ExportAccess::Public,
            Some(names) => account::ExportAccess::Accounts(names.clone()),
        },
        account_token_position: given.account_token_position,
    }
}

fn service_export(given: &config::ServiceExport) -> account::ServiceExport {
    account::ServiceExport {
        response: match given.response {
            config::Response::Single => account::ResponseType::Singleton,
            config::Response::Stream => account::ResponseType::Stream,
            config::Response::Chunked => account::ResponseType::Chunked,
        },
        threshold: given.threshold,
        latency: given.latency.as_ref().map(|latency| account::LatencyPlan {
            subject: latency.subject.clone(),
            sampling: match latency.sampling {
                0 => account::Sampling::Headers,
                percent => account::Sampling::Percent(percent),
            },
        }),
        allow_trace: given.allow_trace,
    }
}

pub(crate) fn imports(given: &[config::Import]) -> Vec<account::Import> {
    given.iter().map(import).collect()
}

fn import(given: &config::Import) -> account::Import {
    let (kind, prefix) = match &given.kind {
        config::ImportKind::Stream {
            prefix,
            allow_trace,
        } => {
            let allow_trace = *allow_trace;
            (account::ImportKind::Stream { allow_trace }, prefix.clone())
        }
        config::ImportKind::Service { share } => {
            (account::ImportKind::Service { share: *share }, None)
        }
    };
    account::Import {
        kind,
        account: given.account.clone(),
        subject: given.subject.clone(),
        to: given.to.clone(),
        prefix,
        activation: None,
    }
}

pub(crate) fn mappings(given: &[config::Mapping]) -> Vec<account::Mapping> {
    let destination = |one: &config::Destination| account::Destination {
        subject: one.subject.clone(),
        weight: one.weight,
        cluster: one.cluster.clone(),
    };
    given
        .iter()
        .map(|one| account::Mapping {
            source: one.source.clone(),
            destinations: one.destinations.iter().map(destination).collect(),
        })
        .collect()
}

pub(crate) fn msg_trace(given: &config::MsgTrace) -> account::TracePlan {
    account::TracePlan {
        subject: given.subject.clone(),
        sampling: given.sampling,
    }
}
