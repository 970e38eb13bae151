use frond_account::jwt::AccountClaims;
use frond_clock::Now;
use frond_config::Resolver;

use super::reply::Pending;
use super::shelf::Saved;
use crate::Node;

/// The words of an answer, which differ from resolver to resolver.
struct Words {
    done: &'static str,
    failed: &'static str,
    invalid: &'static str,
}

const FULL: Words = Words {
    done: "jwt updated",
    failed: "jwt update resulted in error",
    invalid: "jwt validation failed",
};

const CACHE: Words = Words {
    done: "jwt updated cache",
    failed: "jwt update cache resulted in error",
    invalid: "jwt update cache validation failed",
};

/// A request to change an account.
struct Request<'a> {
    reply: Option<&'a str>,
    text: &'a str,
    words: Words,
}

impl Node {
    /// `$SYS.REQ.ACCOUNT.<key>.CLAIMS.UPDATE` and `$SYS.ACCOUNT.<key>.CLAIMS.UPDATE`.
    pub(super) fn update_of(&mut self, now: Now, subject: &str, reply: Option<&str>, body: &[u8]) {
        let place = if subject.starts_with("$SYS.REQ.") {
            3
        } else {
            2
        };
        let Some(key) = subject.split('.').nth(place) else {
            return;
        };
        let text = String::from_utf8_lossy(body);
        match self.claims.as_ref().map(|claims| &claims.resolver) {
            None => {}
            Some(Resolver::Memory | Resolver::Url(_)) => {
                self.update_in_memory(now, key, reply, &text);
            }
            Some(Resolver::Full { .. }) => {
                let request = Request {
                    reply,
                    text: &text,
                    words: FULL,
                };
                self.change(now, Some(key), "n/a", &request);
            }
            Some(Resolver::Cache { .. }) => {
                let request = Request {
                    reply,
                    text: &text,
                    words: CACHE,
                };
                self.change(now, Some(key), key, &request);
            }
        }
    }

    /// `$SYS.REQ.CLAIMS.UPDATE`
    pub(super) fn update(&mut self, now: Now, reply: Option<&str>, body: &[u8]) {
        let resolver = self.claims.as_ref().map(|claims| &claims.resolver);
        let words = match resolver {
            Some(Resolver::Cache { .. }) => CACHE,
            Some(Resolver::Full { .. } | Resolver::Memory | Resolver::Url(_)) | None => FULL,
        };
        let text = &String::from_utf8_lossy(body);
        self.change(now, None, "n/a", &Request { reply, text, words });
    }

    /// Without a place to keep it, only an account in use takes it over.
    ///
    /// spec: nats-server v2.15.1 server/events.go `accountClaimUpdate`
    fn update_in_memory(&mut self, now: Now, key: &str, reply: Option<&str>, text: &str) {
        if text.is_empty() {
            let why = Err("request body is empty");
            return self.respond(now, reply, key, "jwt update error", why);
        }
        let result = match AccountClaims::decode(text) {
            Err(why) => Err(why.to_string()),
            Ok(claims) if claims.subject != key => {
                Err("subject does not match jwt content".to_owned())
            }
            Ok(_) if !self.is_in_use(key) => {
                return self.respond(now, reply, key, "jwt update skipped", Ok(()));
            }
            Ok(_) => self.adopt(now, key, text),
        };
        match result {
            Ok(()) => {
                self.shelve(now, key, text);
                self.look_up_exporters(now, key);
                self.respond(now, reply, key, "jwt updated", Ok(()));
            }
            Err(why) => self.respond(now, reply, key, FULL.failed, Err(&why)),
        }
    }

    fn change(&mut self, now: Now, key: Option<&str>, unread: &str, request: &Request<'_>) {
        let Request { reply, words, .. } = request;
        let claims = match AccountClaims::decode(request.text) {
            Ok(claims) => claims,
            Err(why) => {
                let why = why.to_string();
                return self.respond(now, *reply, unread, words.failed, Err(&why));
            }
        };
        let about = key.unwrap_or(&claims.subject);
        if let Err((failed, why)) = self.check_change(now, about, &claims, words) {
            return self.respond(now, *reply, about, failed, Err(&why));
        }
        if words.done == CACHE.done && !self.is_in_use(about) {
            return self.respond(now, *reply, about, "jwt update cache skipped", Ok(()));
        }
        let saved = self
            .claims
            .as_mut()
            .map(|claims| claims.shelf.save(now.mono, about, request.text));
        match saved {
            None => {}
            Some(Ok(Saved::Same)) => self.respond(now, *reply, about, words.done, Ok(())),
            Some(Err(why)) => self.respond(now, *reply, about, words.failed, Err(why)),
            Some(Ok(Saved::New { evicted })) => {
                let ticket = self.write(about, request.text, evicted);
                if let (Some(ticket), Some(claims)) = (ticket, &mut self.claims) {
                    let pending = Pending {
                        reply: reply.map(str::to_owned),
                        account: about.to_owned(),
                        done: words.done.to_owned(),
                        failed: words.failed.to_owned(),
                    };
                    claims.pending.insert(ticket, pending);
                }
                self.changed(now, about, request.text);
            }
        }
    }

    fn check_change(
        &self,
        now: Now,
        about: &str,
        claims: &AccountClaims,
        words: &Words,
    ) -> Result<(), (&'static str, String)> {
        if claims.subject != about {
            let why = "subject does not match jwt content";
            return Err((words.failed, why.to_owned()));
        }
        let operator = self.authority.operators.first();
        let strict = operator.is_some_and(|operator| {
            operator.nats.strict_signing_key_usage && operator.subject == claims.issuer
        });
        if strict {
            let why = "operator requires issuer to be a signing key";
            return Err((words.failed, why.to_owned()));
        }
        let found = claims.validate(now.wall.as_nanos() / 1_000_000_000);
        if found.is_blocking(false) {
            let why = format!("validation errors: {}", found.errors());
            return Err((words.invalid, why));
        }
        Ok(())
    }

    /// An account on the shelf is another now: it is taken over where it is in use.
    pub(super) fn changed(&mut self, now: Now, key: &str, text: &str) {
        if !self.is_in_use(key) {
            return;
        }
        match self.adopt(now, key, text) {
            Ok(()) => self.look_up_exporters(now, key),
            Err(why) => self.warn(format!(
                "DirResolver - Update for account {key:?} resulted in error {why}"
            )),
        }
    }

    fn look_up_exporters(&mut self, now: Now, key: &str) {
        for exporter in self.missing_exporters(key) {
            self.look_up(now, &exporter, super::Waiter::Nobody);
        }
    }

    /// Whether somebody here has it, or another server speaks of it.
    fn is_in_use(&self, key: &str) -> bool {
        let directory = self.broker.directory();
        let id = directory.find(key);
        let claims = self.claims.as_ref();
        id.is_some_and(|id| directory.claimed(id).is_some())
            || claims.is_some_and(|claims| claims.foreign.misses(key))
    }
}
