use std::collections::BTreeMap;

use frond_clock::Now;
use frond_config::Resolver;

use super::shelf::{Rules, Shelf};
use super::{Claims, Waiter};
use crate::Node;

impl Node {
    /// Accounts may come from elsewhere, or the configuration preload others. In memory the
    /// preloaded ones are all there are: the rest is taken back.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `reloadAuthorization`
    pub(crate) fn reload_claims(&mut self, now: Now) {
        self.change_resolver(now);
        let Some(claims) = &mut self.claims else {
            return;
        };
        if !matches!(claims.resolver, Resolver::Memory) {
            // What the directory has comes first: [`Node::reread_claims`].
            return;
        }
        claims.shelf = Shelf::new(Rules::default());
        self.preload(now);
        let directory = self.broker.directory();
        let keys: Vec<String> = directory
            .claimed_accounts()
            .filter(|(_, account)| !account.is_deleted)
            .map(|(_, account)| account.claims.subject.clone())
            .collect();
        for key in &keys {
            let Some(claims) = &mut self.claims else {
                return;
            };
            match claims.shelf.get(now.mono, key) {
                Some(text) => self.changed(now, key, &text),
                None => {
                    self.warn(format!("Reloaded: deleting account [removed]: {key:?}"));
                    self.broker.delete_claims(now, key);
                    self.serve_accounts();
                }
            }
        }
    }

    /// Another source of accounts takes the place of the former; who waits for one goes on to.
    fn change_resolver(&mut self, now: Now) {
        let Some(resolver) = self.authority.resolver.clone() else {
            return;
        };
        let changed = |claims: &&mut Claims| claims.resolver != resolver;
        let Some(claims) = self.claims.as_mut().filter(changed) else {
            return;
        };
        let mut new = Claims::new(resolver, claims.inbox.clone());
        core::mem::swap(&mut new.lookups, &mut claims.lookups);
        core::mem::swap(&mut new.wanted, &mut claims.wanted);
        core::mem::swap(&mut new.foreign, &mut claims.foreign);
        core::mem::swap(&mut new.pending, &mut claims.pending);
        new.retry_at = claims.retry_at;
        new.next_ticket = claims.next_ticket;
        new.begin_comparing(now);
        *claims = new;
        self.stop_serving_claims();
        self.serve_claims();
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
        if let Some(claims) = &self.claims
            && !matches!(claims.resolver, Resolver::Memory)
        {
            self.preload(now);
        }
        let wanted = self.claims.as_ref().map(|claims| claims.wanted.clone());
        for key in wanted.into_iter().flatten() {
            self.look_up(now, &key, Waiter::Remote);
        }
        self.settle(now);
    }
}
