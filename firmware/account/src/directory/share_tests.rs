use std::collections::BTreeMap;

use super::*;
use crate::{
    Activation, Export, ExportAccess, ExportKind, Import, ImportKind, LatencyPlan, ResponseType,
    Sampling, ServiceExport,
};

fn stream(subject: &str) -> Export {
    Export {
        subject: subject.to_owned(),
        kind: ExportKind::Stream,
        access: ExportAccess::Public,
        account_token_position: 0,
    }
}

fn service(subject: &str) -> Export {
    Export {
        kind: ExportKind::Service(ServiceExport::default()),
        ..stream(subject)
    }
}

fn import(kind: ImportKind, account: &str, subject: &str, to: Option<&str>) -> Import {
    Import {
        kind,
        account: account.to_owned(),
        subject: subject.to_owned(),
        to: to.map(str::to_owned),
        prefix: None,
        activation: None,
    }
}

const STREAM: ImportKind = ImportKind::Stream { allow_trace: false };
const SERVICE: ImportKind = ImportKind::Service { share: false };

fn account(name: &str, exports: Vec<Export>, imports: Vec<Import>) -> AccountPlan {
    AccountPlan {
        name: name.to_owned(),
        exports,
        imports,
        ..AccountPlan::default()
    }
}

fn build(accounts: Vec<AccountPlan>) -> Result<Directory, DirectoryError> {
    let plan = Plan {
        accounts,
        ..Plan::default()
    };
    Directory::build(&plan, None)
}

fn refusal(accounts: Vec<AccountPlan>) -> String {
    build(accounts).map_or_else(|e| e.to_string(), |_| String::new())
}

fn sharing(directory: &Directory, name: &str) -> Sharing {
    let id = directory.find(name).unwrap();
    directory.account(id).unwrap().sharing.clone()
}

#[test]
fn imported_messages_are_renamed_and_filters_renamed_back() {
    for (from, to, there, here) in [
        ("a.*", Some("b.$1.x"), "a.1", "b.1.x"),
        ("a.>", None, "a.1.2", "a.1.2"),
        ("a.*.*", Some("b.*.*"), "a.1.2", "b.1.2"),
        ("a", Some("b"), "a", "b"),
    ] {
        let exporter = account("A", vec![stream("a"), stream("a.>")], vec![]);
        let importer = account("B", vec![], vec![import(STREAM, "A", from, to)]);
        let shared = sharing(&build(vec![exporter, importer]).unwrap(), "B");
        let import = &shared.streams[0];
        assert_eq!(import.here(there), here);
        if let Some(back) = &import.back {
            assert_eq!(back.rename(here, 0), there);
        }
    }
}

#[test]
fn a_prefix_goes_in_front() {
    let prefixed = |prefix: &str| Import {
        prefix: Some(prefix.to_owned()),
        ..import(STREAM, "A", "a.>", None)
    };
    for prefix in ["p.q", "p.q."] {
        let importer = account("B", vec![], vec![prefixed(prefix)]);
        let directory = build(vec![account("A", vec![stream(">")], vec![]), importer]).unwrap();
        let shared = sharing(&directory, "B");
        assert_eq!(shared.streams[0].to, "p.q.a.>");
        assert_eq!(shared.streams[0].here("a.x"), "p.q.a.x");
    }
    let importer = account("B", vec![], vec![prefixed("p.*")]);
    let text =
        "Error adding stream import \"a.>\": stream import prefix can not contain wildcard tokens";
    assert_eq!(
        refusal(vec![account("A", vec![stream(">")], vec![]), importer]),
        text
    );
}

#[test]
fn requests_are_renamed_for_the_exporter() {
    for (to, from, here, there) in [
        ("s.*", Some("l.$1"), "l.x", "s.x"),
        ("s.*.*", Some("l.$2.$1"), "l.x.y", "s.y.x"),
        ("s.>", Some("l.>"), "l.x.y", "s.x.y"),
        ("s.a", Some("l.*"), "l.x", "s.a"),
        ("s.a", None, "s.a", "s.a"),
    ] {
        let importer = account("B", vec![], vec![import(SERVICE, "A", to, from)]);
        let directory = build(vec![account("A", vec![service("s.>")], vec![]), importer]).unwrap();
        let shared = sharing(&directory, "B");
        assert_eq!(shared.services[0].there(here), there, "{to}");
        assert_eq!(shared.services[0].service.subject, "s.>");
    }
}

#[test]
fn who_may_import_is_the_exporters_word() {
    let only = |names: &[&str]| Export {
        access: ExportAccess::Accounts(names.iter().map(|n| (*n).to_owned()).collect()),
        ..stream("a")
    };
    let takes = |name: &str| account(name, vec![], vec![import(STREAM, "A", "a", None)]);
    let denied = "Error adding stream import \"a\": stream import not authorized";
    assert_eq!(
        refusal(vec![account("A", vec![only(&["B"])], vec![]), takes("B")]),
        ""
    );
    let mut accounts = vec![account("A", vec![only(&["B"])], vec![]), takes("C")];
    accounts.push(account("B", vec![], vec![]));
    assert_eq!(refusal(accounts), denied);
    assert_eq!(
        refusal(vec![account("A", vec![], vec![]), takes("B")]),
        denied
    );
    assert_eq!(
        refusal(vec![takes("B")]),
        "\"A\" account not defined for stream import"
    );
    assert_eq!(
        refusal(vec![account("A", vec![only(&["X"])], vec![])]),
        "\"X\" account not defined for stream export"
    );
}

#[test]
fn a_token_names_the_importer() {
    let export = Export {
        account_token_position: 2,
        ..service("s.*.>")
    };
    let takes = |subject: &str| account("B", vec![], vec![import(SERVICE, "A", subject, None)]);
    let with = |subject: &str| {
        refusal(vec![
            account("A", vec![export.clone()], vec![]),
            takes(subject),
        ])
    };
    assert_eq!(with("s.B.x"), "");
    let denied =
        |s: &str| format!("Error adding service import {s:?}: service import not authorized");
    for subject in ["s.C.x", "s.*.x", "s.*.>"] {
        assert_eq!(with(subject), denied(subject));
    }
    let bad = Export {
        account_token_position: 1,
        ..service("s.*")
    };
    let text = "Error adding service export \"s.*\": sublist: invalid subject";
    assert_eq!(refusal(vec![account("A", vec![bad], vec![])]), text);
}

#[test]
fn an_activation_counts_until_it_is_revoked() {
    let export = |revoked: &[(&str, i64)]| Export {
        access: ExportAccess::Activation {
            revoked: revoked
                .iter()
                .map(|(n, t)| ((*n).to_owned(), *t))
                .collect::<BTreeMap<_, _>>(),
        },
        ..stream("a")
    };
    let token = |issuer: &str| Import {
        activation: Some(Activation {
            issuer_account: issuer.to_owned(),
            issued_at: 100,
        }),
        ..import(STREAM, "A", "a", None)
    };
    let without = import(STREAM, "A", "a", None);
    for (revoked, import, allowed) in [
        (&[][..], token("A"), true),
        (&[][..], token("X"), false),
        (&[][..], without, false),
        (&[("B", 100)][..], token("A"), false),
        (&[("*", 200)][..], token("A"), false),
        (&[("B", 99), ("C", 200)][..], token("A"), true),
    ] {
        let accounts = vec![
            account("A", vec![export(revoked)], vec![]),
            account("B", vec![], vec![import]),
        ];
        assert_eq!(build(accounts).is_ok(), allowed, "{revoked:?}");
    }
}

/// Field report F17: nats-server issue 1789.
#[test]
fn cycles_of_three_accounts_are_refused() {
    let ring = |kind: ImportKind, export: fn(&str) -> Export| {
        let link =
            |name, next| account(name, vec![export("x")], vec![import(kind, next, "x", None)]);
        refusal(vec![link("A", "B"), link("B", "C"), link("C", "A")])
    };
    assert_eq!(
        ring(STREAM, stream),
        "Error adding stream import \"x\": import forms a cycle"
    );
    assert_eq!(
        ring(SERVICE, service),
        "Error adding service import \"x\": import forms a cycle"
    );
}

#[test]
fn latency_goes_where_it_disturbs_nobody() {
    let tracked = |subject: &str, response| Export {
        kind: ExportKind::Service(ServiceExport {
            response,
            latency: Some(LatencyPlan {
                subject: subject.to_owned(),
                sampling: Sampling::Percent(50),
            }),
            ..ServiceExport::default()
        }),
        ..stream("s.>")
    };
    let with =
        |subject, response| refusal(vec![account("A", vec![tracked(subject, response)], vec![])]);
    assert_eq!(with("lat", ResponseType::Singleton), "");
    for subject in ["s.lat", "lat.>"] {
        let text = format!(
            "Error adding service latency sampling for \"s.>\" on subject {subject:?}: invalid publish subject"
        );
        assert_eq!(with(subject, ResponseType::Singleton), text);
    }
    let text = "Error adding service latency sampling for \"s.>\" on subject \"lat\": bad service response type";
    assert_eq!(with("lat", ResponseType::Stream), text);
}

#[test]
fn importers_follow_an_account_that_changes() {
    let importer = account("B", vec![], vec![import(STREAM, "A", "a", None)]);
    let mut directory = build(vec![account("A", vec![stream("a")], vec![]), importer]).unwrap();
    assert_eq!(sharing(&directory, "B").streams.len(), 1);
    let id = directory
        .put_account(&account("A", vec![], vec![]))
        .unwrap();
    assert_eq!(sharing(&directory, "B").streams.len(), 0);
    assert_eq!(sharing(&directory, "B").refused.len(), 1);
    directory
        .put_account(&account("A", vec![stream(">")], vec![]))
        .unwrap();
    assert_eq!(sharing(&directory, "B").streams.len(), 1);
    directory.remove_account(id);
    assert_eq!(sharing(&directory, "B").streams.len(), 0);
    assert_eq!(directory.find("A"), None);
    assert_eq!(
        directory
            .put_account(&account("A", vec![], vec![]))
            .unwrap(),
        id
    );
}
