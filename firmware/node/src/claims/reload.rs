use std::collections::BTreeMap;

use frond_clock::Now;
use frond_config::Resolver;

use super::Waiter;
use super::shelf::{Rules, Shelf};
use crate::Node;

impl Node {
    /// The configuration may preload other accounts. In memory these are all there are: the rest
    /// is taken back.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `reloadAuthorization`
    pub(crate) fn reload_claims(&mut self, now: Now) {
        let Some(claims) = &mut self.claims else {
            return;
        };
        let in_memory = matches!(claims.resolver, Resolver::Memory);
        if in_memory {
            claims.shelf = Shelf::new(Rules::default());
        }
        self.preload(now);
        let directory = self.broker.directory();
        let keys: Vec<String> = directory
            .claimed_accounts()
            .filter(|(_, account)| !account.is_deleted)
            .map(|(_, account)| account.claims.subject.clone())
            .collect();
        for key in keys.iter().filter(|_| in_memory) {
            let Some(claims) = &mut self.claims else {
                return;
            };
            match claims.shelf.get(now.mono, key) {
                Some(text) => self.changed(now, key, &text),
                None => {
                    self.warn(format!("Reloaded: deleting account [removed]: {key:?}"));
                    self.broker.delete_claims(now, key);
                }
            }
        }
    }

    /// The directory of JWTs was read again: somebody may have changed it by hand.
    pub fn reread_claims(&mut self, now: Now, jwts: BTreeMap<String, String>) {
        for (key, text) in jwts {
            let saved = self
                .claims
                .as_mut()
                .map(|claims| claims.shelf.save(now.mono, &key, &text));
            if let Some(Ok(super::Saved::New { .. })) = saved {
                self.changed(now, &key, &text);
            }
        }
        let wanted = self.claims.as_ref().map(|claims| claims.wanted.clone());
        for key in wanted.into_iter().flatten() {
            self.look_up(now, &key, Waiter::Remote);
        }
        self.settle(now);
    }
}
