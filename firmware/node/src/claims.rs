//! Accounts that come by JWT: where they are looked up, kept, and changed while they are used.
//!
//! spec: nats-server v2.15.1 server/accounts.go `AccountResolver`, server/dirstore.go

mod adopt;
mod delete;
mod foreign;
mod lookup;
mod packs;
mod reload;
mod reply;
mod requests;
mod services;
mod shelf;
mod streams;
mod update;
mod wish;

use std::collections::{BTreeMap, BTreeSet};

use frond_account::ClaimedAccount;
use frond_clock::{Instant, Now};
use frond_config::{Deletion, Resolver};

use crate::{Node, Output};

use foreign::Foreign;
use lookup::Lookup;
use reply::Pending;
use shelf::{Rules, Saved, Shelf, WhenFull};

pub(crate) use lookup::Waiter;

pub use wish::{ClaimsNews, ClaimsWish};

/// What is known of account JWTs, and what is being found out.
#[derive(Debug)]
pub(crate) struct Claims {
    resolver: Resolver,
    shelf: Shelf,
    lookups: BTreeMap<String, Lookup>,
    /// Accounts of our own remotes that could not be had yet.
    wanted: BTreeSet<String>,
    /// When these are looked up again.
    retry_at: Option<Instant>,
    /// Accounts that other servers speak of.
    foreign: Foreign,
    /// When our JWTs are compared with another server's.
    compare_at: Option<Instant>,
    /// Requests whose answer waits for the disk.
    pending: BTreeMap<u64, Pending>,
    next_ticket: u64,
    /// Where answers to our own questions come.
    inbox: String,
}

impl Claims {
    fn new(resolver: Resolver, inbox: String) -> Self {
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let rules = match &resolver {
            Resolver::Memory | Resolver::Url(_) => Rules::default(),
            Resolver::Full { limit, .. } => Rules {
                limit: limit.map(size),
                ..Rules::default()
            },
            Resolver::Cache { limit, ttl, .. } => Rules {
                limit: Some(size(*limit)),
                when_full: WhenFull::Evicts,
                ttl: *ttl,
            },
        };
        Self {
            resolver,
            shelf: Shelf::new(rules),
            lookups: BTreeMap::new(),
            wanted: BTreeSet::new(),
            retry_at: None,
            foreign: Foreign::default(),
            compare_at: None,
            pending: BTreeMap::new(),
            next_ticket: 0,
            inbox,
        }
    }

    fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn begin_comparing(&mut self, now: Now) {
        if let Resolver::Full { interval, .. } = &self.resolver {
            self.compare_at = Some(now.mono + *interval);
        }
    }

    const fn deletion(&self) -> Deletion {
        match &self.resolver {
            Resolver::Full { deletion, .. } => *deletion,
            Resolver::Cache { .. } => Deletion::Removes,
            Resolver::Memory | Resolver::Url(_) => Deletion::Refused,
        }
    }

    /// Whether JWTs survive a restart.
    const fn has_disk(&self) -> bool {
        match &self.resolver {
            Resolver::Full { .. } | Resolver::Cache { .. } | Resolver::Url(_) => true,
            Resolver::Memory => false,
        }
    }
}

impl Node {
    /// Takes over the JWTs that the disk and the configuration have, and finds the system account.
    ///
    /// # Errors
    /// When the system account is not to be had, now or later.
    pub(crate) fn start_claims(&mut self, now: Now) -> Result<(), String> {
        let Some(resolver) = self.authority.resolver.clone() else {
            return Ok(());
        };
        if self.authority.trust.is_none() {
            return Ok(());
        }
        let inbox = format!("$SYS._INBOX.{}.CLAIMS", self.facts().id);
        let mut claims = Claims::new(resolver, inbox);
        for (key, text) in core::mem::take(&mut self.seed.jwts) {
            let _ = claims.shelf.save(now.mono, &key, &text);
        }
        claims.begin_comparing(now);
        self.claims = Some(claims);
        self.preload(now);
        self.find_system_account(now)?;
        self.serve_claims();
        self.want_remotes(now);
        Ok(())
    }

    fn preload(&mut self, now: Now) {
        for (key, text) in self.config.operator_mode.preload.clone() {
            let Some(claims) = &mut self.claims else {
                return;
            };
            if !claims.has_disk() || claims.shelf.wants(&key, &text) == Ok(true) {
                self.shelve(now, &key, &text);
            }
        }
    }

    /// Puts a JWT on the shelf and the disk, without an answer to anybody. Whether it is new.
    fn shelve(&mut self, now: Now, key: &str, text: &str) -> bool {
        let saved = self
            .claims
            .as_mut()
            .map(|claims| claims.shelf.save(now.mono, key, text));
        match saved {
            Some(Ok(Saved::New { evicted })) => {
                self.write(key, text, evicted);
                true
            }
            Some(Ok(Saved::Same)) | None => false,
            Some(Err(why)) => {
                self.warn(format!("Account {key} is not kept: {why}"));
                false
            }
        }
    }

    /// Wishes that the disk keeps what the shelf does; the ticket of that.
    fn write(&mut self, key: &str, text: &str, evicted: Option<String>) -> Option<u64> {
        let claims = self.claims.as_mut().filter(|claims| claims.has_disk())?;
        let ticket = claims.ticket();
        if let Some(key) = evicted {
            let ticket = claims.ticket();
            self.outputs.push_back(Output::Claims(ClaimsWish::Remove {
                ticket,
                key,
                renames: false,
            }));
        }
        self.outputs.push_back(Output::Claims(ClaimsWish::Keep {
            ticket,
            key: key.to_owned(),
            text: text.to_owned(),
        }));
        Some(ticket)
    }

    /// The system account must be there; with a resolver that asks others it may come later, and
    /// until then its own key vouches for its users.
    fn find_system_account(&mut self, now: Now) -> Result<(), String> {
        let Some(key) = self.authority.system_account.clone() else {
            return Ok(());
        };
        let Some(claims) = &mut self.claims else {
            return Ok(());
        };
        let kept = claims.shelf.get(now.mono, &key);
        let asks = !matches!(claims.resolver, Resolver::Memory);
        let operator = match self.authority.operators.as_slice() {
            [only] if asks => Some(only.issuer.clone()),
            _ => None,
        };
        let taken = kept.is_some_and(|text| self.adopt(now, &key, &text).is_ok());
        match (taken, operator) {
            (true, _) => Ok(()),
            (false, Some(operator)) => {
                let temporary = ClaimedAccount::temporary(&key, &operator);
                let put = self.broker.update_claims(now, temporary);
                put.map_err(|error| error.to_string())?;
                self.look_up(now, &key, Waiter::Nobody);
                Ok(())
            }
            (false, None) => Err("error resolving system account: account missing".to_owned()),
        }
    }

    /// Looks up the accounts that remotes belong to: they cannot attach before.
    pub(crate) fn want_remotes(&mut self, now: Now) {
        let remotes = self.config.leafnodes.remotes.iter();
        let keys: BTreeSet<String> = remotes.map(|remote| remote.account.clone()).collect();
        for key in keys {
            self.look_up(now, &key, Waiter::Remote);
        }
    }

    /// When accounts have something to do by themselves.
    pub(crate) fn claims_deadline(&self) -> Option<Instant> {
        let claims = self.claims.as_ref()?;
        let lookups = claims.lookups.values().filter_map(Lookup::deadline);
        lookups
            .chain(claims.retry_at)
            .chain(claims.foreign.deadline())
            .chain(claims.compare_at)
            .min()
    }

    pub(crate) fn claims_time(&mut self, now: Now) {
        self.lookups_time(now);
        self.retry_wanted(now);
        self.retry_foreign(now);
        self.compare(now);
    }

    pub(crate) fn claims_news(&mut self, now: Now, news: ClaimsNews) {
        match news {
            ClaimsNews::Stored { ticket, result } => self.stored(now, ticket, result),
            ClaimsNews::Fetched { key, result } => self.fetched_claims(now, &key, result),
            ClaimsNews::Zone {
                conn,
                token,
                name,
                zone,
            } => self.zone_read(now, (conn, token), &name, zone),
        }
    }
}
