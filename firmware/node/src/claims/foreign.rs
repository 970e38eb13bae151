//! Accounts that only other servers of the system have in use: what is wanted there in them is
//! passed on to other clusters by this server, so it has to know them.
//!
//! spec: nats-server v2.15.1 server/route.go `processRemoteSub`, which looks accounts up

use std::collections::BTreeSet;
use std::time::Duration;

use frond_account::nkey::{Role, is_public_key};
use frond_clock::{Instant, Now};

use super::Waiter;
use crate::Node;
use crate::limits::FOREIGN_MAX;

/// Those that could not be had yet.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    missing: BTreeSet<String>,
    /// When they are looked up again.
    again_at: Option<Instant>,
}

impl Foreign {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.again_at
    }

    pub(crate) fn misses(&self, key: &str) -> bool {
        self.missing.contains(key)
    }
}

impl Node {
    pub(crate) fn foreign_settled(&mut self, now: Now, key: &str, is_here: bool) {
        let Some(claims) = &mut self.claims else {
            return;
        };
        let foreign = &mut claims.foreign;
        if is_here {
            foreign.missing.remove(key);
        } else if foreign.missing.len() < FOREIGN_MAX && is_public_key(Role::Account, key) {
            foreign.missing.insert(key.to_owned());
            foreign.again_at.get_or_insert(now.mono + FOREIGN_PAUSE);
        }
    }

    pub(crate) fn retry_foreign(&mut self, now: Now) {
        let Some(claims) = &mut self.claims else {
            return;
        };
        if claims.foreign.again_at.is_some_and(|at| at <= now.mono) {
            claims.foreign.again_at = None;
            for key in core::mem::take(&mut claims.foreign.missing) {
                self.look_up(now, &key, Waiter::Link);
            }
        }
    }
}

/// Between two attempts to find them.
const FOREIGN_PAUSE: Duration = Duration::from_secs(10);
