use frond_config::Resolver;

use crate::Node;
use crate::owner::Owner;

/// What a message in the system account is about; its number is the subscription's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// A changed account, its key in the subject.
    UpdateOf,
    /// A changed account.
    Update,
    /// Another server looks an account up.
    Lookup,
    /// Another server compares its accounts with ours.
    Pack,
    /// Which accounts are kept here.
    List,
    /// Accounts to be taken back.
    Delete,
    /// An answer to a lookup of ours.
    LookedUp,
    /// An answer to a comparison of ours.
    Packed,
}

const ALL: [Service; 8] = [
    Service::UpdateOf,
    Service::Update,
    Service::Lookup,
    Service::Pack,
    Service::List,
    Service::Delete,
    Service::LookedUp,
    Service::Packed,
];

impl Service {
    pub(super) fn of(own: u64) -> Option<Self> {
        ALL.get(usize::try_from(own).ok()?).copied()
    }

    fn own(self) -> u64 {
        ALL.iter().position(|it| *it == self).unwrap_or(0) as u64
    }

    fn is_offered_by(self, resolver: &Resolver) -> bool {
        let (full, cache) = match resolver {
            Resolver::Full { .. } => (true, false),
            Resolver::Cache { .. } => (false, true),
            Resolver::Memory | Resolver::Url(_) => (false, false),
        };
        match self {
            Self::UpdateOf => true,
            Self::Update | Self::List | Self::Delete | Self::LookedUp => full || cache,
            Self::Lookup | Self::Pack | Self::Packed => full,
        }
    }

    fn subjects(self, inbox: &str) -> Vec<String> {
        let one = |subject: &str| vec![subject.to_owned()];
        match self {
            Self::UpdateOf => vec![
                "$SYS.ACCOUNT.*.CLAIMS.UPDATE".to_owned(),
                "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE".to_owned(),
            ],
            Self::Update => one("$SYS.REQ.CLAIMS.UPDATE"),
            Self::Lookup => one("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"),
            Self::Pack => one("$SYS.REQ.CLAIMS.PACK"),
            Self::List => one("$SYS.REQ.CLAIMS.LIST"),
            Self::Delete => one("$SYS.REQ.CLAIMS.DELETE"),
            Self::LookedUp => vec![format!("{inbox}.LOOKUP.*")],
            Self::Packed => vec![format!("{inbox}.PACK")],
        }
    }
}

impl Node {
    /// Listens no more.
    pub(super) fn stop_serving_claims(&mut self) {
        let system = self.broker.directory().system_account();
        for service in ALL {
            let id = Owner::Claims.number(service.own());
            self.broker.unsubscribe_internal(system, id);
        }
    }

    /// Listens in the system account to what concerns accounts.
    pub(super) fn serve_claims(&mut self) {
        let Some(claims) = &self.claims else {
            return;
        };
        let system = self.broker.directory().system_account();
        for service in ALL {
            if !service.is_offered_by(&claims.resolver) {
                continue;
            }
            for subject in service.subjects(&claims.inbox) {
                let id = Owner::Claims.number(service.own());
                if service == Service::Pack {
                    let queue = "responder";
                    self.broker
                        .subscribe_internal_group(system, &subject, queue, id);
                } else {
                    self.broker.subscribe_internal(system, &subject, id);
                }
            }
        }
    }
}
