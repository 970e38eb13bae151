use frond_account::{
    Account, AccountPlan, Destination, Directory, ExportAccess, ExportKind, LatencyPlan, Mapping,
    ResponseType, Sampling,
};
use frond_clock::Timestamp;
use frond_node::View;

use crate::accountz::sharing::{Export, Import, Latency, MapDest, SERVICE, STREAM, Sharing};

/// What an account offers, takes and renames; the services of the system account too, which every
/// account has without asking for them.
pub(crate) fn sharing(view: &View<'_>, name: &str) -> Sharing {
    let directory = view.broker.directory();
    let found = directory
        .find(name)
        .and_then(|id| Some((id, directory.account(id)?)));
    let Some((id, account)) = found else {
        return Sharing::default();
    };
    let has_streams = view.config.jetstream.enabled;
    let is_system = id == directory.system_account();
    let mut exports = exports(&account.plan);
    let mut imports = imports(directory, account);
    if is_system {
        exports.extend(system_exports(has_streams));
    }
    let system = directory.account(directory.system_account());
    if let Some(system) = system {
        imports.extend(system_imports(&system.name, name, is_system, has_streams));
    }
    let mappings = directory.renames(account);
    Sharing {
        mappings: mappings
            .iter()
            .map(|mapping| (mapping.source.clone(), destinations(mapping)))
            .collect(),
        exports,
        imports,
    }
}

/// Services first.
fn exports(plan: &AccountPlan) -> Vec<Export> {
    let mut all: Vec<_> = plan.exports.iter().map(export).collect();
    all.sort_by_key(|export| export.kind == STREAM);
    all
}

fn export(export: &frond_account::Export) -> Export {
    let mut shown = Export {
        subject: export.subject.clone(),
        ..Export::default()
    };
    match &export.kind {
        ExportKind::Stream => shown.kind = STREAM,
        ExportKind::Service(service) => {
            shown.kind = SERVICE;
            shown.response_type = match service.response {
                ResponseType::Singleton => "Singleton",
                ResponseType::Stream => "Streamed",
                ResponseType::Chunked => "Chunked",
            };
            shown.service_latency = service.latency.as_ref().map(latency);
        }
    }
    match &export.access {
        ExportAccess::Public => {}
        ExportAccess::Accounts(names) => shown.approved_accounts.clone_from(names),
        ExportAccess::Activation { revoked } => {
            shown.token_req = true;
            let at = |seconds: &i64| {
                Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000)).to_string()
            };
            let moments = revoked
                .iter()
                .map(|(name, seconds)| (name.clone(), at(seconds)));
            shown.revoked_activations = moments.collect();
        }
    }
    shown
}

fn latency(plan: &LatencyPlan) -> Latency {
    Latency {
        sampling: match plan.sampling {
            Sampling::Headers => 0,
            Sampling::Percent(percent) => percent,
        },
        results: plan.subject.clone(),
    }
}

fn imports(directory: &Directory, account: &Account) -> Vec<Import> {
    let name = |id| {
        let found = directory.account(id);
        found
            .map(|account| account.name.to_string())
            .unwrap_or_default()
    };
    let streams = account.sharing.streams.iter().map(|import| Import {
        subject: import.from.clone(),
        account: name(import.account),
        local_subject: import.to.clone(),
        kind: STREAM,
        ..Import::default()
    });
    let services = account.sharing.services.iter().map(|import| Import {
        subject: import.to.clone(),
        account: name(import.account),
        to: import.from.clone(),
        local_subject: import.from.clone(),
        kind: SERVICE,
        share: import.share,
        latency: import.service.latency.as_ref().map(latency),
        ..Import::default()
    });
    streams.chain(services).collect()
}

/// spec: nats-server v2.15.1 server/events.go `addSystemAccountExports`
fn system_exports(has_streams: bool) -> impl Iterator<Item = Export> {
    let all = [
        ("$SYS.DEBUG.SUBSCRIBERS", "Singleton", true),
        ("$SYS.REQ.USER.*.INFO", "Singleton", true),
        ("$JS.API.>", "Singleton", has_streams),
        ("$SYS.REQ.ACCOUNT.*.CONNZ", "Streamed", true),
        ("$SYS.REQ.ACCOUNT.*.STATZ", "Streamed", true),
    ];
    let there = all.into_iter().filter(|(.., is_there)| *is_there);
    there.map(|(subject, response_type, _)| Export {
        subject: subject.to_owned(),
        kind: SERVICE,
        response_type,
        ..Export::default()
    })
}

/// spec: nats-server v2.15.1 server/events.go `registerSystemImports`
fn system_imports(system: &str, name: &str, is_system: bool, has_streams: bool) -> Vec<Import> {
    let of_account = |what: &str| format!("$SYS.REQ.ACCOUNT.{name}.{what}");
    let everyones = !is_system;
    let all = [
        (
            everyones,
            "$SYS.REQ.ACCOUNT.PING.CONNZ",
            of_account("CONNZ"),
        ),
        (everyones, "$SYS.REQ.SERVER.PING.CONNZ", of_account("CONNZ")),
        (
            everyones,
            "$SYS.REQ.ACCOUNT.PING.STATZ",
            of_account("STATZ"),
        ),
        (
            true,
            "$SYS.REQ.USER.INFO",
            format!("$SYS.REQ.USER.{name}.INFO"),
        ),
        (
            everyones && has_streams,
            "$JS.API.>",
            "$JS.API.>".to_owned(),
        ),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there
        .map(|(_, here, there)| Import::of_system(system, here, there))
        .collect()
}

/// In nats-server's form: by weight, each with those before it added, and what the weights leave
/// of a hundred for the source itself.
fn destinations(mapping: &Mapping) -> Vec<MapDest> {
    let mut clusters: Vec<_> = mapping.destinations.iter().map(|to| &to.cluster).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let groups = clusters.into_iter().map(|cluster| {
        let of_cluster = mapping
            .destinations
            .iter()
            .filter(|to| to.cluster == *cluster);
        weighed(&mapping.source, of_cluster.collect())
    });
    groups.flatten().collect()
}

fn weighed(source: &str, mut group: Vec<&Destination>) -> Vec<MapDest> {
    group.sort_by_key(|to| to.weight);
    let cluster = group.first().and_then(|to| to.cluster.clone());
    let mut shown: Vec<MapDest> = group
        .iter()
        .scan(0_u8, |sum, to| {
            *sum = sum.saturating_add(to.weight);
            Some((to.subject.clone(), *sum))
        })
        .map(|(subject, weight)| MapDest {
            subject,
            weight,
            cluster: cluster.clone().unwrap_or_default(),
        })
        .collect();
    let sum = shown.last().map_or(0, |to| to.weight);
    if sum < 100 && !group.iter().any(|to| to.subject == source) {
        shown.push(MapDest {
            subject: frond_subject::with_references(source),
            weight: 100,
            cluster: cluster.unwrap_or_default(),
        });
    }
    shown
}

#[cfg(test)]
mod tests;
