//! Whether an import would lead a message back to where it came from.
//! spec: nats-server v2.15.1 server/accounts.go `checkServiceImportsForCycles`,
//! `checkStreamImportsForCycles`

use std::collections::BTreeSet;

use frond_subject::{is_subset, overlaps};

use super::share::Kind;
use crate::limits::CYCLE_ACCOUNTS_MAX;
use crate::{AccountId, Directory};

pub(super) fn of_services(
    directory: &Directory,
    importer: AccountId,
    exporter: AccountId,
    from: &str,
) -> Result<(), String> {
    let mut visited = BTreeSet::from([importer]);
    services(directory, exporter, from, &mut visited)
}

pub(super) fn of_streams(
    directory: &Directory,
    importer: AccountId,
    exporter: AccountId,
    to: &str,
) -> Result<(), String> {
    let mut visited = BTreeSet::from([importer]);
    streams(directory, exporter, to, &mut visited)
}

fn services(
    directory: &Directory,
    at: AccountId,
    from: &str,
    visited: &mut BTreeSet<AccountId>,
) -> Result<(), String> {
    is_bounded(visited)?;
    let account = directory.account(at);
    for import in account.into_iter().flat_map(|a| &a.sharing.services) {
        if !overlaps(from, &import.to) {
            continue;
        }
        is_new(visited, import.account)?;
        visited.insert(at);
        let narrower = if is_subset(&import.from, from) {
            &import.from
        } else {
            from
        };
        services(directory, import.account, narrower, visited)?;
    }
    Ok(())
}

fn streams(
    directory: &Directory,
    at: AccountId,
    to: &str,
    visited: &mut BTreeSet<AccountId>,
) -> Result<(), String> {
    is_bounded(visited)?;
    let Some(account) = directory.account(at) else {
        return Ok(());
    };
    let mut exports = account.plan.exports.iter();
    if !exports.any(|export| Kind::Stream.is_of(export) && is_subset(to, &export.subject)) {
        return Ok(());
    }
    for import in &account.sharing.streams {
        if !overlaps(to, &import.to) {
            continue;
        }
        is_new(visited, import.account)?;
        visited.insert(at);
        let narrower = if is_subset(&import.to, to) {
            &import.to
        } else {
            to
        };
        streams(directory, import.account, narrower, visited)?;
    }
    Ok(())
}

fn is_bounded(visited: &BTreeSet<AccountId>) -> Result<(), String> {
    if visited.len() >= CYCLE_ACCOUNTS_MAX {
        return Err("search cycle depth exhausted".to_owned());
    }
    Ok(())
}

fn is_new(visited: &BTreeSet<AccountId>, account: AccountId) -> Result<(), String> {
    if visited.contains(&account) {
        return Err("import forms a cycle".to_owned());
    }
    Ok(())
}
