use std::time::Duration;

use super::{ClaimedAccount, permissions};
use crate::jwt::{
    Account, ActivationClaims, ClaimedExport, ClaimedImport, ClaimedKind, ServiceLatency,
    WeightedMapping,
};
use crate::{
    AccountLimits, AccountPlan, Activation, Destination, Directory, Export, ExportAccess,
    ExportKind, Import, ImportKind, LatencyPlan, Mapping, ResponseType, Sampling, ServiceExport,
    TracePlan,
};

impl Directory {
    /// What an account's claims say, without imports whose activation does not hold.
    pub(crate) fn claimed_plan(&self, account: &ClaimedAccount) -> AccountPlan {
        let claims = &account.claims;
        let wall_s = account.updated_ns / super::claimed::NANOS;
        let said = &claims.nats;
        AccountPlan {
            name: claims.subject.clone(),
            limits: limits(said),
            jetstream: said.limits.has_jetstream(),
            exports: said.exports.iter().filter_map(export).collect(),
            imports: said
                .imports
                .iter()
                .filter_map(|import| self.import(import, &claims.subject, wall_s))
                .collect(),
            mappings: said.mappings.iter().map(mapping).collect(),
            default_permissions: permissions::of(&said.default_permissions),
            msg_trace: trace(said),
        }
    }

    fn import(&self, import: &ClaimedImport, importer: &str, wall_s: i64) -> Option<Import> {
        let activation = match import.token.as_str() {
            "" => None,
            token => Some(self.activation(token, &import.account, importer, wall_s)?),
        };
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut made = Import {
            kind: ImportKind::Stream {
                allow_trace: import.allow_trace,
            },
            account: import.account.clone(),
            subject: import.subject.clone(),
            to: some(&import.local_subject),
            prefix: some(&import.to).filter(|_| import.local_subject.is_empty()),
            activation,
        };
        match import.kind {
            ClaimedKind::Unknown => return None,
            ClaimedKind::Stream => {}
            ClaimedKind::Service => {
                made.kind = ImportKind::Service {
                    share: import.share,
                };
                made.prefix = None;
                if import.local_subject.is_empty() {
                    // The old way round: `subject` is the importer's, `to` the exporter's.
                    if let Some(there) = some(&import.to) {
                        made.to = Some(core::mem::replace(&mut made.subject, there));
                    }
                }
            }
        }
        Some(made)
    }

    /// The exporter's permission, if it is one.
    ///
    /// spec: nats-server v2.15.1 server/accounts.go `checkActivation`
    fn activation(
        &self,
        token: &str,
        exporter: &str,
        importer: &str,
        wall_s: i64,
    ) -> Option<Activation> {
        let claims = ActivationClaims::decode(token).ok()?;
        let issuer_account = claims.nats.issuer_account.as_str();
        let by = if issuer_account.is_empty() {
            claims.issuer.as_str()
        } else {
            let id = self.find(issuer_account)?;
            let trust = self.trust()?;
            let account = self.claimed(id)?;
            match account.signer(&claims.issuer, trust) {
                super::claimed::Signer::Stranger => return None,
                super::claimed::Signer::Free | super::claimed::Signer::Scoped(_) => issuer_account,
            }
        };
        let holds = by == exporter
            && claims.subject == importer
            && (claims.expires == 0 || claims.expires > wall_s)
            && !claims.validate(wall_s).is_blocking(true);
        holds.then(|| Activation {
            issuer_account: by.to_owned(),
            issued_at: claims.issued_at,
        })
    }
}

fn limits(said: &Account) -> AccountLimits {
    let number = |value: i64| (value >= 0).then(|| u32::try_from(value).unwrap_or(u32::MAX));
    AccountLimits {
        connections_max: number(said.limits.conn),
        subscriptions_max: number(said.limits.subs),
        payload_bytes_max: number(said.limits.payload),
        leafnodes_max: number(said.limits.leaf),
    }
}

fn export(export: &ClaimedExport) -> Option<Export> {
    let kind = match export.kind {
        ClaimedKind::Unknown => return None,
        ClaimedKind::Stream => ExportKind::Stream,
        ClaimedKind::Service => ExportKind::Service(ServiceExport {
            response: match export.response_type.as_str() {
                "Stream" => ResponseType::Stream,
                "Chunked" => ResponseType::Chunked,
                _ => ResponseType::Singleton,
            },
            threshold: u64::try_from(export.response_threshold)
                .ok()
                .filter(|nanos| *nanos > 0)
                .map(Duration::from_nanos),
            latency: export.service_latency.as_ref().map(latency),
            allow_trace: export.allow_trace,
        }),
    };
    Some(Export {
        subject: export.subject.clone(),
        kind,
        access: match export.token_req {
            false => ExportAccess::Public,
            true => ExportAccess::Activation {
                revoked: export.revocations.clone(),
            },
        },
        account_token_position: export.account_token_position,
    })
}

fn latency(latency: &ServiceLatency) -> LatencyPlan {
    LatencyPlan {
        subject: latency.results.clone(),
        sampling: match u8::try_from(latency.sampling.0) {
            Ok(0) | Err(_) => Sampling::Headers,
            Ok(percent) => Sampling::Percent(percent),
        },
    }
}

fn mapping((source, destinations): (&String, &Vec<WeightedMapping>)) -> Mapping {
    let destination = |to: &WeightedMapping| Destination {
        subject: to.subject.clone(),
        weight: to.percent(),
        cluster: (!to.cluster.is_empty()).then(|| to.cluster.clone()),
    };
    Mapping {
        source: source.clone(),
        destinations: destinations.iter().map(destination).collect(),
    }
}

fn trace(said: &Account) -> Option<TracePlan> {
    let trace = said.trace.as_ref()?;
    frond_subject::is_literal(&trace.destination).then(|| TracePlan {
        subject: trace.destination.clone(),
        sampling: u8::try_from(trace.sampling)
            .ok()
            .filter(|percent| (1..=100).contains(percent))
            .unwrap_or(100),
    })
}
