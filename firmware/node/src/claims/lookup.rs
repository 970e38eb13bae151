use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use frond_account::nkey::{Role, is_public_key};
use frond_account::{Answer, Question, Zone};
use frond_broker::Conn;
use frond_clock::{Instant, Now};
use frond_config::Resolver;
use frond_wire::Message;

use super::ClaimsWish;
use crate::limits::{FOREIGN_LOOKUPS_MAX, LOOKUP_WAITERS_MAX, LOOKUPS_MAX};
use crate::{Node, Output};

/// An account that somebody waits for.
#[derive(Debug)]
pub(crate) struct Lookup {
    waiters: Vec<Waiter>,
    stage: Stage,
}

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// Others were asked.
    Asking {
        /// Until when.
        until: Instant,
        /// What is used when nobody answers.
        last_good: Option<Arc<str>>,
    },
    /// It is here; what it imports from is not.
    Importing { missing: BTreeSet<String> },
}

/// Who waits for an account.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// A peer whose credentials are to be judged again.
    Peer(Conn, u64),
    /// An account that imports from it.
    Importer(String),
    /// A remote of ours: it is looked up until it is there.
    Remote,
    /// A link, whose peer speaks of it.
    Link,
    /// Nobody in particular.
    Nobody,
}

impl Lookup {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Asking { until, .. } => Some(until),
            Stage::Importing { .. } => None,
        }
    }
}

impl Node {
    /// Asks the shell, or answers what is known here.
    pub(crate) fn find_out(&mut self, now: Now, conn: Conn, token: u64, question: Question) {
        match question {
            Question::Bcrypt {
                hash,
                password,
                then,
            } => self.outputs.push_back(Output::Check {
                conn,
                token,
                hash,
                password,
                then,
            }),
            Question::Account { key } => self.look_up(now, &key, Waiter::Peer(conn, token)),
            Question::Callout(delegation) => self.call_out(now, conn, token, *delegation),
            Question::NoService { account } => {
                self.warn(format!(
                    "No valid account {account:?} for auth callout request: account missing"
                ));
                self.answer_peer(now, (conn, token), Answer::Refuse(String::new()));
            }
            Question::Zone { name } => {
                let wish = ClaimsWish::Zone { conn, token, name };
                self.outputs.push_back(Output::Claims(wish));
            }
        }
    }

    /// Gets an account into the directory.
    pub(crate) fn look_up(&mut self, now: Now, key: &str, waiter: Waiter) {
        let Some(claims) = &mut self.claims else {
            return self.tell_waiter(now, key, waiter, Err("account resolver missing"));
        };
        if let Some(lookup) = claims.lookups.get_mut(key) {
            if lookup.waiters.len() < LOOKUP_WAITERS_MAX {
                return lookup.waiters.push(waiter);
            }
            return self.tell_waiter(now, key, waiter, Err("too many wait for the account"));
        }
        let most = match waiter {
            // Whoever logs in comes first.
            Waiter::Link => FOREIGN_LOOKUPS_MAX,
            Waiter::Peer(..) | Waiter::Importer(_) | Waiter::Remote | Waiter::Nobody => LOOKUPS_MAX,
        };
        if claims.lookups.len() >= most {
            return self.tell_waiter(now, key, waiter, Err("too many account lookups"));
        }
        if !matches!(waiter, Waiter::Nobody) && self.is_here(key) {
            return self.tell_waiter(now, key, waiter, Ok(()));
        }
        if !is_public_key(Role::Account, key) {
            return self.tell_waiter(now, key, waiter, Err("no account key"));
        }
        let Some(claims) = &mut self.claims else {
            return;
        };
        let fresh = claims.shelf.is_fresh(now.mono, key);
        let kept = claims.shelf.get(now.mono, key);
        let (asks, timeout) = match &claims.resolver {
            Resolver::Memory => (false, Duration::ZERO),
            Resolver::Url(_) => (true, URL_TIMEOUT),
            Resolver::Full { timeout, .. } | Resolver::Cache { timeout, .. } => (!fresh, *timeout),
        };
        let stage = Stage::Asking {
            until: now.mono + timeout,
            last_good: kept.clone(),
        };
        let waiters = vec![waiter];
        let lookup = Lookup { waiters, stage };
        claims.lookups.insert(key.to_owned(), lookup);
        if !asks || !self.ask_others(now, key) {
            self.looked_up(now, key, kept.ok_or("account missing"));
        }
    }

    fn is_here(&self, key: &str) -> bool {
        let directory = self.broker.directory();
        let id = directory.find(key);
        id.is_some_and(|id| {
            directory
                .claimed(id)
                .is_some_and(|account| !account.is_temporary())
        })
    }

    /// Whether there was anybody to ask.
    fn ask_others(&mut self, now: Now, key: &str) -> bool {
        let Some(claims) = &self.claims else {
            return false;
        };
        match &claims.resolver {
            Resolver::Memory => false,
            Resolver::Url(base) => {
                let slash = if base.ends_with('/') { "" } else { "/" };
                let wish = ClaimsWish::Fetch {
                    key: key.to_owned(),
                    url: format!("{base}{slash}{key}"),
                };
                self.outputs.push_back(Output::Claims(wish));
                true
            }
            Resolver::Full { .. } | Resolver::Cache { .. } => {
                let reply = format!("{}.LOOKUP.{key}", claims.inbox);
                let message = Message {
                    subject: &format!("$SYS.REQ.ACCOUNT.{key}.CLAIMS.LOOKUP"),
                    reply: Some(&reply),
                    header: &[],
                    payload: &[],
                };
                let system = self.broker.directory().system_account();
                self.broker.publish_internal(now, system, &message, None)
            }
        }
    }

    /// Another server answered; an empty body says that it has none.
    pub(super) fn lookup_answered(&mut self, now: Now, key: &str, body: &[u8]) {
        let Some(lookup) = self.claims.as_mut().and_then(|c| c.lookups.get_mut(key)) else {
            return;
        };
        let Stage::Asking { until, .. } = &mut lookup.stage else {
            return;
        };
        if body.is_empty() {
            // Another one may have it.
            *until = (*until).min(now.mono + OTHERS_PATIENCE);
            return;
        }
        let text = String::from_utf8_lossy(body).into_owned();
        self.take_answer(now, key, text);
    }

    pub(super) fn fetched_claims(&mut self, now: Now, key: &str, result: Result<String, String>) {
        match result {
            Ok(text) => self.take_answer(now, key, text.trim().to_owned()),
            Err(why) => {
                self.warn(format!("Account fetch failed: {why}"));
                self.give_up_asking(now, key, "account fetch failed");
            }
        }
    }

    fn take_answer(&mut self, now: Now, key: &str, text: String) {
        let asking = self
            .claims
            .as_ref()
            .and_then(|claims| claims.lookups.get(key))
            .is_some_and(|lookup| matches!(lookup.stage, Stage::Asking { .. }));
        let newer = |claims: &super::Claims| claims.shelf.wants(key, &text) == Ok(true);
        if !asking {
            return;
        }
        if let Err(why) = self.vouched(now, key, &text) {
            self.warn(format!(
                "Account {key}: what was looked up is not used: {why}"
            ));
            return self.give_up_asking(now, key, "account validation failed");
        }
        if self.claims.as_ref().is_some_and(newer) {
            self.shelve(now, key, &text);
        } else if let Some(claims) = &mut self.claims {
            // Ours is as good, and good again.
            let kept = claims.shelf.get(now.mono, key);
            let kept = kept.unwrap_or_else(|| text.as_str().into());
            let _ = claims.shelf.save(now.mono, key, &kept);
        }
        self.looked_up(now, key, Ok(text.into()));
    }

    fn give_up_asking(&mut self, now: Now, key: &str, why: &'static str) {
        let lookup = self.claims.as_ref().and_then(|c| c.lookups.get(key));
        let Some(Stage::Asking { last_good, .. }) = lookup.map(|lookup| &lookup.stage) else {
            return;
        };
        let kept = last_good.clone();
        self.looked_up(now, key, kept.ok_or(why));
    }

    /// The account is found, or nowhere.
    fn looked_up(&mut self, now: Now, key: &str, found: Result<Arc<str>, &'static str>) {
        let adopted = found.and_then(|text| {
            self.adopt(now, key, &text).map_err(|why| {
                self.warn(format!("Account {key} is not used: {why}"));
                "account validation failed"
            })
        });
        if let Err(why) = adopted {
            return self.finish(now, key, Err(why));
        }
        let missing: BTreeSet<String> = self.missing_exporters(key);
        if let Some(lookup) = self.claims.as_mut().and_then(|c| c.lookups.get_mut(key)) {
            let missing = missing.clone();
            lookup.stage = Stage::Importing { missing };
        }
        for exporter in &missing {
            self.look_up(now, exporter, Waiter::Importer(key.to_owned()));
        }
        if missing.is_empty() {
            self.finish(now, key, Ok(()));
        }
    }

    fn finish(&mut self, now: Now, key: &str, result: Result<(), &'static str>) {
        let lookup = self.claims.as_mut().and_then(|c| c.lookups.remove(key));
        for waiter in lookup.into_iter().flat_map(|lookup| lookup.waiters) {
            self.tell_waiter(now, key, waiter, result);
        }
    }

    fn tell_waiter(
        &mut self,
        now: Now,
        key: &str,
        waiter: Waiter,
        result: Result<(), &'static str>,
    ) {
        match waiter {
            Waiter::Peer(conn, token) => {
                let answer = match result {
                    Ok(()) => Answer::Again,
                    Err(why) => Answer::Refuse(format!("Account JWT lookup error: {why}")),
                };
                self.answer_peer(now, (conn, token), answer);
            }
            Waiter::Importer(importer) => self.exporter_settled(now, &importer, key, result),
            Waiter::Remote => {
                if let Some(claims) = &mut self.claims {
                    match result {
                        Ok(()) => claims.wanted.remove(key),
                        Err(_) => claims.wanted.insert(key.to_owned()),
                    };
                    if !claims.wanted.is_empty() && claims.retry_at.is_none() {
                        claims.retry_at = Some(now.mono + REMOTE_PAUSE);
                    }
                }
            }
            Waiter::Link => self.foreign_settled(now, key, result.is_ok()),
            Waiter::Nobody => {}
        }
    }

    fn exporter_settled(
        &mut self,
        now: Now,
        importer: &str,
        exporter: &str,
        result: Result<(), &'static str>,
    ) {
        if let Err(why) = result {
            self.warn(format!(
                "Can't locate account [{exporter}] for import of account {importer} (err={why})"
            ));
        }
        let lookup = self
            .claims
            .as_mut()
            .and_then(|c| c.lookups.get_mut(importer));
        let Some(Stage::Importing { missing }) = lookup.map(|lookup| &mut lookup.stage) else {
            return;
        };
        missing.remove(exporter);
        if missing.is_empty() {
            self.finish(now, importer, Ok(()));
        }
    }

    /// Passes an answer on and lets the peer be read again.
    pub(crate) fn answer_peer(&mut self, now: Now, (conn, token): (Conn, u64), answer: Answer) {
        self.broker.answered(now, conn, token, answer);
        self.outputs.push_back(Output::Resume(conn));
    }

    pub(super) fn zone_read(
        &mut self,
        now: Now,
        peer: (Conn, u64),
        name: &str,
        zone: Option<Zone>,
    ) {
        let answer = match zone {
            Some(zone) => {
                self.broker.put_zone(name, zone);
                Answer::Again
            }
            None => Answer::Refuse(format!("unknown time zone {name}")),
        };
        self.answer_peer(now, peer, answer);
    }

    pub(super) fn lookups_time(&mut self, now: Now) {
        let lookups = self.claims.iter().flat_map(|claims| &claims.lookups);
        let due: Vec<String> = lookups
            .filter(|(_, lookup)| lookup.deadline().is_some_and(|until| until <= now.mono))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.give_up_asking(now, &key, "fetching jwt timed out");
        }
    }

    pub(super) fn retry_wanted(&mut self, now: Now) {
        let Some(claims) = &mut self.claims else {
            return;
        };
        if claims.retry_at.is_some_and(|at| at <= now.mono) {
            claims.retry_at = None;
            for key in claims.wanted.clone() {
                self.look_up(now, &key, Waiter::Remote);
            }
        }
    }
}

/// spec: nats-server v2.15.1 server/accounts.go `DEFAULT_ACCOUNT_FETCH_TIMEOUT`
const URL_TIMEOUT: Duration = Duration::from_millis(1_900);

/// How long others may still answer after one server said that it has no such account.
const OTHERS_PATIENCE: Duration = Duration::from_millis(250);

/// Between two attempts to find the account of a remote.
const REMOTE_PAUSE: Duration = Duration::from_secs(2);
