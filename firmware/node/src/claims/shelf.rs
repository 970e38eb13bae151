use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use frond_account::jwt::AccountClaims;
use frond_account::nkey::{Role, is_public_key};
use frond_clock::Instant;
use sha2::{Digest, Sha256};

use crate::limits::SHELF_BYTES_MAX;

/// The account JWTs that are kept here, in memory; the disk has the same.
///
/// spec: nats-server v2.15.1 server/dirstore.go
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    jwts: BTreeMap<String, Kept>,
    /// All hashes, one over the other: equal on two servers that keep the same.
    hash: Hash,
    rules: Rules,
    bytes: usize,
    uses: u64,
}

/// What a shelf does when time passes or it is full.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// JWTs at most; `None` is any number.
    pub(crate) limit: Option<usize>,
    /// What happens beyond.
    pub(crate) when_full: WhenFull,
    /// How long one is good after it was last taken; `None` is for ever.
    pub(crate) ttl: Option<Duration>,
}

/// What a full shelf does with another JWT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// It is not taken.
    #[default]
    Refuses,
    /// The one that was not used for longest makes room.
    Evicts,
}

type Hash = [u8; 32];

#[derive(Debug)]
struct Kept {
    text: Arc<str>,
    hash: Hash,
    used: u64,
    fresh_until: Option<Instant>,
}

/// What became of a JWT.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// It was here already.
    Same,
    /// It is new.
    New {
        /// What had to make room.
        evicted: Option<String>,
    },
}

impl Shelf {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// The JWT of an account, whether fresh or not.
    pub(crate) fn get(&mut self, now: Instant, key: &str) -> Option<Arc<str>> {
        self.uses += 1;
        let (used, ttl) = (self.uses, self.rules.ttl);
        let kept = self.jwts.get_mut(key)?;
        kept.used = used;
        if kept.is_fresh(now) {
            kept.fresh_until = ttl.map(|ttl| now + ttl);
        }
        Some(Arc::clone(&kept.text))
    }

    /// Whether an account's JWT need not be asked for again.
    pub(crate) fn is_fresh(&self, now: Instant, key: &str) -> bool {
        self.jwts.get(key).is_some_and(|kept| kept.is_fresh(now))
    }

    /// Puts a JWT there, in the place of the one that was.
    pub(crate) fn save(
        &mut self,
        now: Instant,
        key: &str,
        text: &str,
    ) -> Result<Saved, &'static str> {
        if text.is_empty() {
            return Err("invalid JWT");
        }
        if !is_public_key(Role::Account, key) {
            return Err("invalid public key");
        }
        self.uses += 1;
        let hash: Hash = Sha256::digest(text.as_bytes()).into();
        let fresh_until = self.rules.ttl.map(|ttl| now + ttl);
        if let Some(kept) = self.jwts.get_mut(key)
            && kept.hash == hash
        {
            (kept.used, kept.fresh_until) = (self.uses, fresh_until);
            return Ok(Saved::Same);
        }
        let evicted = self.make_room(key, text.len())?;
        self.remove(key);
        self.fold(hash);
        self.bytes += text.len();
        let kept = Kept {
            text: text.into(),
            hash,
            used: self.uses,
            fresh_until,
        };
        self.jwts.insert(key.to_owned(), kept);
        Ok(Saved::New { evicted })
    }

    /// Whether a JWT of another server is to take the place of ours.
    pub(crate) fn wants(&self, key: &str, text: &str) -> Result<bool, String> {
        let Some(kept) = self.jwts.get(key) else {
            return Ok(true);
        };
        let new = decoded(text)?;
        let Ok(old) = decoded(&kept.text) else {
            return Ok(true);
        };
        if old.id == new.id || old.issued_at > new.issued_at {
            Ok(false)
        } else if new.subject != key {
            Err("jwt subject nkey and provided nkey do not match".to_owned())
        } else {
            Ok(true)
        }
    }

    /// Takes a JWT away; whether it was there.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        let Some(kept) = self.jwts.remove(key) else {
            return false;
        };
        self.fold(kept.hash);
        self.bytes = self.bytes.saturating_sub(kept.text.len());
        true
    }

    /// Key and JWT of all that hold at `wall_s`, unix seconds.
    pub(crate) fn holding(&self, wall_s: i64) -> impl Iterator<Item = (&str, &str)> {
        self.jwts
            .iter()
            .filter(move |(_, kept)| {
                !decoded(&kept.text).is_ok_and(|it| it.expires > 0 && it.expires < wall_s)
            })
            .map(|(key, kept)| (key.as_str(), &*kept.text))
    }

    /// Equal when all JWTs are.
    pub(crate) const fn hash(&self) -> &Hash {
        &self.hash
    }

    fn make_room(&mut self, key: &str, bytes: usize) -> Result<Option<String>, &'static str> {
        let known = self.jwts.get(key).map_or(0, |kept| kept.text.len());
        if self.bytes - known + bytes > SHELF_BYTES_MAX {
            return Err("jwt store is full");
        }
        let full = self
            .rules
            .limit
            .is_some_and(|limit| self.jwts.len() >= limit);
        if !full || self.jwts.contains_key(key) {
            return Ok(None);
        }
        if self.rules.when_full == WhenFull::Refuses {
            return Err("jwt store is full");
        }
        let oldest = self.jwts.iter().min_by_key(|(_, kept)| kept.used);
        let oldest = oldest.map(|(key, _)| key.clone());
        if let Some(oldest) = &oldest {
            self.remove(oldest);
        }
        Ok(oldest)
    }

    fn fold(&mut self, hash: Hash) {
        for (all, one) in self.hash.iter_mut().zip(hash) {
            *all ^= one;
        }
    }
}

impl Kept {
    fn is_fresh(&self, now: Instant) -> bool {
        self.fresh_until.is_none_or(|until| now < until)
    }
}

fn decoded(text: &str) -> Result<AccountClaims, String> {
    AccountClaims::decode(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
