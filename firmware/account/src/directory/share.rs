//! Who may import what, and the renamings that follow from it.
//! spec: nats-server v2.15.1 server/accounts.go `addStreamImportWithClaim`,
//! `addServiceImportWithClaim`, `checkAuth`

use std::sync::Arc;

use frond_subject::{
    Transform, is_literal, is_subset, is_valid_filter, with_references, without_references,
};

use super::{DEFAULT_ACCOUNT, Directory, cycles};
use crate::shared::THRESHOLD;
use crate::{
    AccountId, AccountPlan, Export, ExportAccess, ExportKind, Import, ImportKind, Mappings, Rename,
    ResponseType, Service, ServiceExport, ServiceImport, Sharing, StreamImport,
};

impl Directory {
    /// Makes the sharing of these accounts anew from their plans: all exports and stream imports
    /// before the services, as nats-server reads them.
    pub(super) fn share(&mut self, ids: &[AccountId]) {
        for id in ids {
            let renames = self.account(*id).map(|account| self.renames(account));
            let Some(account) = self.accounts.get_mut(id.0 as usize) else {
                continue;
            };
            let mappings = Mappings::new(&renames.unwrap_or_default());
            account.sharing = Sharing {
                mappings,
                ..Sharing::default()
            };
        }
        for id in ids {
            self.check_exports(*id);
        }
        for kind in [Kind::Stream, Kind::Service] {
            for id in ids {
                self.add_imports(*id, kind);
            }
        }
    }

    /// The same for one account and those that import from it.
    pub(super) fn share_again(&mut self, id: AccountId) {
        let Some(name) = self.account(id).map(|account| account.name.clone()) else {
            return;
        };
        let importers = self.ids().filter(|other| {
            let plan = self.account(*other).map(|account| &account.plan);
            let takes = |plan: &Arc<AccountPlan>| plan.imports.iter().any(|i| *i.account == *name);
            *other != id && plan.is_some_and(takes)
        });
        let ids: Vec<_> = std::iter::once(id).chain(importers).collect();
        self.share(&ids);
    }

    /// An account that somebody planned: `$G` and an unnamed system account share nothing.
    fn planned(&self, name: &str) -> Option<AccountId> {
        let id = self.find(name).filter(|_| name != DEFAULT_ACCOUNT)?;
        let planned = self.account(id).is_some_and(|a| !a.plan.name.is_empty());
        planned.then_some(id)
    }

    fn plan_of(&self, id: AccountId) -> Option<Arc<AccountPlan>> {
        Some(Arc::clone(&self.account(id)?.plan))
    }

    fn refuse(&mut self, id: AccountId, text: String) {
        if let Some(account) = self.accounts.get_mut(id.0 as usize) {
            account.sharing.refused.push(text);
        }
    }

    fn check_exports(&mut self, id: AccountId) {
        let Some(plan) = self.plan_of(id) else {
            return;
        };
        for export in &plan.exports {
            let what = match &export.kind {
                ExportKind::Stream => "stream",
                ExportKind::Service(_) => "service",
            };
            if let ExportAccess::Accounts(names) = &export.access {
                let unknown = names.iter().filter(|name| self.planned(name).is_none());
                let texts: Vec<_> = unknown
                    .map(|name| format!("{name:?} account not defined for {what} export"))
                    .collect();
                for text in texts {
                    self.refuse(id, text);
                }
            }
            let subject = &export.subject;
            if !has_token(export) {
                let text = format!("Error adding {what} export {subject:?}: {INVALID_SUBJECT}");
                self.refuse(id, text);
            } else if let ExportKind::Service(service) = &export.kind
                && let Err(text) = check_latency(&plan, export, service)
            {
                self.refuse(id, text);
            }
        }
    }

    fn add_imports(&mut self, id: AccountId, kind: Kind) {
        let Some(plan) = self.plan_of(id) else {
            return;
        };
        for import in &plan.imports {
            let what = match (import.kind, kind) {
                (ImportKind::Stream { .. }, Kind::Stream) => "stream",
                (ImportKind::Service { .. }, Kind::Service) => "service",
                (ImportKind::Stream { .. }, Kind::Service)
                | (ImportKind::Service { .. }, Kind::Stream) => continue,
            };
            let Some(from) = self.planned(&import.account) else {
                let text = format!("{:?} account not defined for {what} import", import.account);
                self.refuse(id, text);
                continue;
            };
            let added = match import.kind {
                ImportKind::Stream { allow_trace } => {
                    self.add_stream(id, from, import, allow_trace)
                }
                ImportKind::Service { share } => self.add_service(id, from, import, share),
            };
            if let Err(why) = added {
                let text = format!("Error adding {what} import {:?}: {why}", import.subject);
                self.refuse(id, text);
            }
        }
    }

    fn add_stream(
        &mut self,
        id: AccountId,
        exporter: AccountId,
        import: &Import,
        allow_trace: bool,
    ) -> Result<(), String> {
        let from = &import.subject;
        let export = self.export_for(exporter, Kind::Stream, from);
        if !export
            .is_some_and(|(export, exact)| self.may_import(id, exporter, export, exact, import))
        {
            return Err("stream import not authorized".to_owned());
        }
        let to = match (&import.prefix, &import.to) {
            (Some(prefix), _) => {
                let prefix = prefix.strip_suffix('.').unwrap_or(prefix);
                if !prefix.split('.').all(|token| token != "*" && token != ">") {
                    let text = "stream import prefix can not contain wildcard tokens";
                    return Err(text.to_owned());
                }
                format!("{prefix}.{from}")
            }
            (None, Some(to)) => to.clone(),
            (None, None) => from.clone(),
        };
        cycles::of_streams(self, id, exporter, &to)?;
        cycles::of_streams(self, id, exporter, from)?;
        let (rename, back, to) = rename_stream(from, &to)?;
        let Some(account) = self.accounts.get_mut(id.0 as usize) else {
            return Ok(());
        };
        let mut known = account.sharing.streams.iter();
        if known.any(|known| known.account == exporter && known.from == *from) {
            return Err("stream import already exists".to_owned());
        }
        account.sharing.streams.push(Arc::new(StreamImport {
            account: exporter,
            from: from.clone(),
            to,
            rename,
            back,
            allow_trace,
        }));
        Ok(())
    }

    fn add_service(
        &mut self,
        id: AccountId,
        exporter: AccountId,
        import: &Import,
        share: bool,
    ) -> Result<(), String> {
        let to = &import.subject;
        let from = import.to.as_ref().unwrap_or(to);
        if !is_valid_filter(from) || !is_valid_filter(to) {
            return Err(INVALID_SUBJECT.to_owned());
        }
        let service = match self.export_for(exporter, Kind::Service, to) {
            Some((export, exact)) if self.may_import(id, exporter, export, exact, import) => {
                Arc::new(service_of(exporter, export))
            }
            Some(_) | None => return Err("service import not authorized".to_owned()),
        };
        let plain = if is_literal(to) {
            from.clone()
        } else {
            without_references(from).0
        };
        cycles::of_services(self, id, exporter, &plain)?;
        let (rename, from, to) = rename_service(from, to)?;
        let Some(account) = self.accounts.get_mut(id.0 as usize) else {
            return Ok(());
        };
        let known = account.sharing.services.iter();
        if let Some(known) = known
            .filter(|known| known.account == exporter)
            .find(|known| known.from == from)
        {
            return Err(format!(
                "duplicate service import subject {from:?}, previously used in import for account {:?}, subject {:?}",
                import.account, known.to
            ));
        }
        account.sharing.services.push(Arc::new(ServiceImport {
            account: exporter,
            from,
            to,
            rename,
            share,
            service,
        }));
        Ok(())
    }

    /// The export that `subject` comes under, and whether it is the very same filter.
    fn export_for(
        &self,
        exporter: AccountId,
        kind: Kind,
        subject: &str,
    ) -> Option<(&Export, bool)> {
        let exports = || {
            let plan = self.account(exporter).map(|account| &account.plan);
            let all = plan.into_iter().flat_map(|plan| &plan.exports);
            all.filter(move |export| kind.is_of(export) && has_token(export))
        };
        if !is_valid_filter(subject) {
            return None;
        }
        exports()
            .rfind(|export| export.subject == subject)
            .map(|export| (export, true))
            .or_else(|| {
                let wider = exports().find(|export| is_subset(subject, &export.subject))?;
                Some((wider, false))
            })
    }

    fn may_import(
        &self,
        id: AccountId,
        exporter: AccountId,
        export: &Export,
        exact: bool,
        import: &Import,
    ) -> bool {
        let name = |id| self.account(id).map_or("", |account| &account.name);
        if let Some(index) = (export.account_token_position as usize).checked_sub(1) {
            let token = import.subject.split('.').nth(index);
            return !exact && token == Some(name(id));
        }
        match &export.access {
            ExportAccess::Public => true,
            ExportAccess::Accounts(names) => names.iter().any(|known| known == name(id)),
            ExportAccess::Activation { revoked } => {
                import.activation.as_ref().is_some_and(|activation| {
                    let void = |key: &str| {
                        let until = revoked.get(key);
                        until.is_some_and(|until| *until >= activation.issued_at)
                    };
                    activation.issuer_account == name(exporter) && !void(name(id)) && !void("*")
                })
            }
        }
    }
}

/// Which of an account's exports or imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Service,
}

impl Kind {
    pub(super) const fn is_of(self, export: &Export) -> bool {
        match (&export.kind, self) {
            (ExportKind::Stream, Self::Stream) | (ExportKind::Service(_), Self::Service) => true,
            (ExportKind::Stream, Self::Service) | (ExportKind::Service(_), Self::Stream) => false,
        }
    }
}

/// Whether the token that has to name the importing account is there and is a `*`.
fn has_token(export: &Export) -> bool {
    match (export.account_token_position as usize).checked_sub(1) {
        None => true,
        Some(index) => export.subject.split('.').nth(index) == Some("*"),
    }
}

fn service_of(account: AccountId, export: &Export) -> Service {
    let plan = match &export.kind {
        ExportKind::Service(plan) => plan.clone(),
        ExportKind::Stream => ServiceExport::default(),
    };
    Service {
        account,
        subject: export.subject.clone(),
        response: plan.response,
        threshold: plan.threshold.unwrap_or(THRESHOLD),
        latency: plan.latency,
        allow_trace: plan.allow_trace,
    }
}

/// spec: nats-server v2.15.1 server/accounts.go `TrackServiceExportWithSampling`
fn check_latency(
    plan: &AccountPlan,
    export: &Export,
    service: &ServiceExport,
) -> Result<(), String> {
    let Some(latency) = &service.latency else {
        return Ok(());
    };
    let loops = || {
        let mut services = plan.exports.iter().filter(|one| Kind::Service.is_of(one));
        services.any(|one| is_subset(&latency.subject, &one.subject))
    };
    let why = if !is_literal(&latency.subject) || loops() {
        "invalid publish subject"
    } else if service.response != ResponseType::Singleton {
        "bad service response type"
    } else {
        return Ok(());
    };
    Err(format!(
        "Error adding service latency sampling for {:?} on subject {:?}: {why}",
        export.subject, latency.subject
    ))
}

/// The renaming from there to here, the way back, and the filter here.
fn rename_stream(from: &str, to: &str) -> Result<(Rename, Option<Transform>, String), String> {
    if is_literal(from) {
        return Ok((Rename::Fixed, None, to.to_owned()));
    }
    if to == from {
        return Ok((Rename::Same, None, to.to_owned()));
    }
    let transform = Transform::reversible(from, &with_references(to)).map_err(|why| {
        format!(
            "failed to create mapping transform for stream import subject from {from:?} to {to:?}: {why}"
        )
    })?;
    let back = transform.reverse();
    Ok((Rename::By(transform), back, without_references(to).0))
}

/// The renaming from here to there, the filter here and the filter there.
fn rename_service(from: &str, to: &str) -> Result<(Rename, String, String), String> {
    if is_literal(to) {
        return Ok((Rename::Fixed, from.to_owned(), to.to_owned()));
    }
    if to == from {
        return Ok((Rename::Same, from.to_owned(), to.to_owned()));
    }
    let failed = |why: &str| {
        format!(
            "failed to create mapping transform for service import subject from {from:?} to {to:?}: {why}"
        )
    };
    let plain = without_references(to).0;
    let transform = Transform::reversible(&plain, &with_references(from))
        .map_err(|why| failed(&why.to_string()))?;
    let transform = transform
        .reverse()
        .ok_or_else(|| failed("invalid subject"))?;
    Ok((Rename::By(transform), without_references(from).0, plain))
}

/// spec: nats-server v2.15.1 server/sublist.go `ErrInvalidSubject`
const INVALID_SUBJECT: &str = "sublist: invalid subject";
