//! Accounts whose JetStream is another domain's (`default_js_domain`).
//!
//! spec: nats-server v2.15.1 server/server.go `registerAccountNoLock`, server/jetstream_api.go
//! `generateJSMappingTable`

use std::collections::BTreeMap;

use super::{Account, DEFAULT_ACCOUNT, Directory};
use crate::{AccountId, Destination, Mapping};

/// What clients say without a domain, and what stands for it behind the domain's prefix.
const SUBJECTS: [(&str, &str); 9] = [
    ("$JS.API.INFO", "INFO"),
    ("$JS.API.STREAM.>", "STREAM.>"),
    ("$JS.API.CONSUMER.>", "CONSUMER.>"),
    ("$JS.API.DIRECT.>", "DIRECT.>"),
    ("$JS.API.META.>", "META.>"),
    ("$JS.API.SERVER.>", "SERVER.>"),
    ("$JS.API.ACCOUNT.>", "ACCOUNT.>"),
    ("$KV.>", "$KV.>"),
    ("$OBJ.>", "$OBJ.>"),
];

/// The renamings that send an account's requests to its domain. An account with JetStream of its
/// own has none; `$G` is registered before it has any.
fn renames(domains: &BTreeMap<String, String>, account: &Account) -> Vec<Mapping> {
    let domain = domains.get(&*account.name).map_or("", String::as_str);
    let own = account.jetstream && &*account.name != DEFAULT_ACCOUNT;
    if domain.is_empty() || own {
        return Vec::new();
    }
    let rename = |(plain, behind): (&str, &str)| Mapping {
        source: plain.to_owned(),
        destinations: vec![Destination {
            subject: format!("$JS.{domain}.API.{behind}"),
            weight: 100,
            cluster: None,
        }],
    };
    SUBJECTS.into_iter().map(rename).collect()
}

impl Directory {
    /// All that an account renames: what its plan says, and what its default domain asks for.
    #[must_use]
    pub fn renames(&self, account: &Account) -> Vec<Mapping> {
        let mut all = account.plan.mappings.clone();
        all.extend(renames(&self.default_domains, account));
        all
    }

    /// Whether an account's JetStream requests without a domain cross links: its own default
    /// domain is empty; of the system account, any is.
    #[must_use]
    pub fn has_empty_domain(&self, id: AccountId) -> bool {
        if id == self.system {
            return self.default_domains.values().any(String::is_empty);
        }
        let name = self.account(id).map_or("", |account| &account.name);
        self.default_domains.get(name).is_some_and(String::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use crate::{AccountPlan, Directory, Mapped, Plan};

    #[test]
    fn requests_without_a_domain_go_to_the_default_one() {
        let account = |name: &str, jetstream| AccountPlan {
            name: name.to_owned(),
            jetstream,
            ..AccountPlan::default()
        };
        let domains = [("A", "hub"), ("B", "hub"), ("C", "")];
        let plan = Plan {
            accounts: vec![account("A", false), account("B", true), account("C", false)],
            default_domains: domains
                .map(|(a, d)| (a.to_owned(), d.to_owned()))
                .into_iter()
                .collect(),
            ..Plan::default()
        };
        let directory = Directory::build(&plan, None).unwrap();
        let id = |name| directory.find(name).unwrap();
        let select = |name, subject| {
            let account = directory.account(id(name)).unwrap();
            account.sharing.mappings.select(subject, "", 0)
        };
        let to = |subject: &str| Some(Mapped::To(subject.to_owned()));
        assert_eq!(select("A", "$JS.API.INFO"), to("$JS.hub.API.INFO"));
        assert_eq!(select("A", "$KV.b.k"), to("$JS.hub.API.$KV.b.k"));
        assert_eq!(
            select("A", "$JS.API.STREAM.NAMES"),
            to("$JS.hub.API.STREAM.NAMES")
        );
        for (name, subject) in [("A", "x"), ("B", "$JS.API.INFO"), ("C", "$JS.API.INFO")] {
            assert_eq!(select(name, subject), None, "{name} {subject}");
        }
        let empty = |name| directory.has_empty_domain(id(name));
        assert_eq!((empty("A"), empty("C"), empty("$G")), (false, true, false));
        assert!(directory.has_empty_domain(directory.system_account()));
    }
}
