//! Subscriptions to imported messages: each has shadows in the exporting accounts.
//! spec: nats-server v2.15.1 server/client.go `addShadowSubscriptions`, `addShadowSub`.

use std::sync::Arc;

use frond_account::{AccountId, Rename, StreamImport};
use frond_subject::is_subset;
use frond_wire::Message;

use crate::deliver::Delivery;
use crate::interest::{Owner, Sub, SubId, Tie};
use crate::{Broker, LinkKind};

/// The place of a subscription in the account it gets messages from.
#[derive(Debug)]
pub(crate) struct Shadow {
    pub(crate) import: Arc<StreamImport>,
    /// The subscription itself.
    pub(crate) of: SubId,
    /// Its account.
    pub(crate) account: AccountId,
}

impl Broker {
    /// Files the shadows of a subscription that has none yet.
    pub(crate) fn add_shadows(&mut self, id: SubId) {
        let Some(sub) = self.subs.get(id) else {
            return;
        };
        if !matches!(sub.tie, Tie::None) || !sub.owner.may_import() {
            return;
        }
        let Some(state) = self.accounts.get(sub.account.0 as usize) else {
            return;
        };
        let imports = state.sharing.streams.iter();
        let wanted: Vec<_> = imports
            .filter_map(|import| Some((Arc::clone(import), filter_there(import, &sub.filter)?)))
            .collect();
        let mut shadows = Vec::new();
        for (import, filter) in wanted {
            let Some(sub) = self.subs.get(id) else {
                return;
            };
            let shadow = Sub {
                account: import.account,
                filter: filter.into(),
                queue: sub.queue.clone(),
                owner: sub.owner.clone(),
                delivered: 0,
                max: 0,
                filtered: sub.filtered,
                tie: Tie::Shadow(Box::new(Shadow {
                    import,
                    of: id,
                    account: sub.account,
                })),
            };
            shadows.extend(self.file_sub(shadow));
        }
        if let Some(sub) = self.subs.get_mut(id).filter(|_| !shadows.is_empty()) {
            sub.tie = Tie::Shadows(shadows.into());
        }
    }

    /// Removes them again; whether there were any.
    pub(crate) fn drop_shadows(&mut self, id: SubId) {
        let Some(sub) = self.subs.get_mut(id) else {
            return;
        };
        match core::mem::take(&mut sub.tie) {
            Tie::None => {}
            tie @ Tie::Shadow(_) => sub.tie = tie,
            Tie::Shadows(shadows) => {
                for shadow in &shadows {
                    self.remove_sub(*shadow);
                }
            }
        }
    }

    /// To a shadow's subscription, under the name its account gives the message. What came
    /// through an imported service isn't exported again.
    pub(crate) fn deliver_imported(&mut self, id: SubId, delivery: &mut Delivery<'_>) -> bool {
        let Some(Tie::Shadow(shadow)) = self.subs.get(id).map(|sub| &sub.tie) else {
            return false;
        };
        if delivery.publication.hop.is_some() {
            return false;
        }
        let (import, of) = (Arc::clone(&shadow.import), shadow.of);
        let filtered = self.subs.get(of).is_some_and(|sub| sub.filtered);
        if let Some(shadow) = self.subs.get_mut(id) {
            shadow.filtered = filtered;
        }
        let publication = delivery.publication;
        let here = import.here(publication.message.subject);
        // A consumer's delivery shows the subject it was stored under, whoever gets it.
        let mut imported = Delivery {
            publication,
            shown: Message {
                subject: publication.shown.unwrap_or(&here),
                ..delivery.shown
            },
            renamed: true,
            copy: None,
            sent: (0, 0),
        };
        let name = imported.shown.subject;
        let account = self.subs.get(of).map(|sub| sub.account);
        let taken = self.trace_export(account, name, import.allow_trace, |broker| {
            broker.deliver(id, &mut imported)
        });
        delivery.sent.0 += imported.sent.0;
        delivery.sent.1 += imported.sent.1;
        taken
    }
}

impl Owner {
    /// Whether imported messages are for it too.
    const fn may_import(&self) -> bool {
        match self {
            Self::Client { .. } | Self::Internal(_) => true,
            // The other servers of the cluster have the same imports.
            Self::Link { kind, .. } => matches!(kind, LinkKind::Leaf),
            Self::Import(_) | Self::Responses => false,
        }
    }
}

/// The filter in the exporting account of what a subscription to `filter` gets by this import.
fn filter_there(import: &StreamImport, filter: &str) -> Option<String> {
    let own_name = || Some(import.from.clone());
    if filter == import.to {
        return own_name();
    }
    let (wanted, narrower) = if is_subset(filter, &import.to) {
        (filter.to_owned(), false)
    } else if is_subset(&import.to, filter) {
        return own_name();
    } else {
        (intersection(filter, &import.to)?, true)
    };
    match &import.rename {
        Rename::By(_) => Some(import.back.as_ref()?.rename(&wanted, 0)),
        Rename::Same => Some(wanted),
        Rename::Fixed if narrower => Some(wanted),
        Rename::Fixed => own_name(),
    }
}

/// The part of `filter` that `of` names, when each has wildcards where the other has none.
fn intersection(filter: &str, of: &str) -> Option<String> {
    let theirs: Vec<&str> = of.split('.').collect();
    let mut tokens: Vec<&str> = filter.split('.').collect();
    for (token, their) in tokens.iter_mut().zip(&theirs) {
        if *token == "*" && *their != ">" {
            *token = their;
        }
    }
    let last = tokens.len() - 1;
    if tokens.last() == Some(&">") && theirs.len() > last {
        tokens.truncate(last);
        tokens.extend(theirs.get(last..)?);
    }
    let narrower = tokens.join(".");
    is_subset(&narrower, of).then_some(narrower)
}
