//! Accounts and users that exist because a JWT says so: they change while they are used, and end
//! by themselves.
//!
//! spec: nats-server v2.15.1 server/client.go `setExpiration`, server/accounts.go
//! `updateAccountClaims`, `expiredTimeout`.

use std::time::Duration;

use frond_account::{
    AccountId, ClaimedAccount, DirectoryError, Identity, JwtUser, Login, User, Zone,
};
use frond_clock::{Instant, Now};

use crate::broker::Alarm;
use crate::connection::Kind;
use crate::{Broker, Conn, LinkId};

pub(crate) const REVOKED: &str = "User Authentication Revoked";
pub(crate) const ACCOUNT_EXPIRED: &str = "Account Authentication Expired";
const USER_EXPIRED: &str = "User Authentication Expired";
const EXPIRED: &str = "Authentication Expired";

impl Broker {
    /// An account came by JWT, or is another now. Its clients and leafnodes whose JWT is void
    /// are closed, everybody else stays, with what may be done now.
    ///
    /// # Errors
    /// When the account makes no sense; then it is as before.
    pub fn update_claims(
        &mut self,
        now: Now,
        account: ClaimedAccount,
    ) -> Result<(), DirectoryError> {
        self.now = now;
        let expires = account.claims.expires;
        let id = self.directory.put_claims(account)?;
        self.grow_accounts();
        self.share_all();
        self.plan_account_end(id, expires);
        self.account_changed(id);
        Ok(())
    }

    /// The operator took an account back: its clients are closed, and nobody is let in.
    pub fn delete_claims(&mut self, now: Now, key: &str) {
        self.now = now;
        if let Some(id) = self.directory.find(key)
            && self.directory.delete_claims(id)
        {
            self.end_account(id);
        }
    }

    /// A time zone that a question asked for.
    pub fn put_zone(&mut self, name: &str, zone: Zone) {
        self.directory.put_zone(name, zone);
    }

    /// Applies an account's rules to everybody who is in it.
    fn account_changed(&mut self, id: AccountId) {
        self.apply_account_limits(id);
        for slot in self.slots_in(id) {
            self.reload_client(slot);
            self.settle();
        }
        self.reload_links_of(Some(id));
        self.settle();
    }

    fn slots_in(&self, id: AccountId) -> Vec<u32> {
        let mut slots: Vec<(Conn, u32)> = self
            .conns
            .iter()
            .filter(|(_, connection)| {
                let identity = connection.session().and_then(|it| it.identity.as_ref());
                identity.is_some_and(|identity| identity.account == id)
            })
            .map(|(slot, connection)| (connection.conn, slot))
            .collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, slot)| slot).collect()
    }

    /// Plans when a peer that came by JWT must go.
    pub(crate) fn plan_end(&mut self, conn: Conn, identity: &Identity) {
        let until = identity
            .user
            .as_ref()
            .and_then(|user| user.login.until_ns());
        match until {
            Some(until) => {
                let at = self.moment_of(until);
                self.timers.set(Alarm::Expire(conn), at);
            }
            None => {
                self.timers.cancel(&Alarm::Expire(conn));
            }
        }
    }

    /// The moment of a wall clock time, unless the clock is set in between.
    fn moment_of(&self, wall_ns: i64) -> Instant {
        let left = wall_ns.saturating_sub(self.now.wall.as_nanos());
        self.now.mono + Duration::from_nanos(u64::try_from(left).unwrap_or(0))
    }

    /// A peer's time may be over; the wall clock may have been set since this was planned.
    pub(crate) fn expire_time(&mut self, conn: Conn) {
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        let kind = self.conns.get(slot).map(|connection| &connection.kind);
        let (user, link) = match kind {
            Some(Kind::Client(session)) => {
                let user = session.identity.as_ref().and_then(|it| it.user.clone());
                (user, None)
            }
            Some(Kind::Link(id)) => {
                let user = self.links.get(id).and_then(|link| link.user.clone());
                (user, Some(*id))
            }
            Some(Kind::Closing) | None => return,
        };
        let until = user.as_ref().and_then(|user| user.login.until_ns());
        let Some(until) = until else {
            return;
        };
        if until > self.now.wall.as_nanos() {
            let at = self.moment_of(until);
            self.timers.set(Alarm::Expire(conn), at);
        } else {
            self.end_peer(slot, link, USER_EXPIRED);
        }
    }

    fn plan_account_end(&mut self, id: AccountId, expires_s: i64) {
        if expires_s == 0 {
            self.timers.cancel(&Alarm::Account(id));
        } else {
            let at = self.moment_of(expires_s.saturating_mul(NANOS));
            self.timers.set(Alarm::Account(id), at);
        }
    }

    pub(crate) fn account_time(&mut self, id: AccountId) {
        let wall_ns = self.now.wall.as_nanos();
        let Some(account) = self.directory.claimed(id) else {
            return;
        };
        if account.is_expired(wall_ns) {
            self.end_account(id);
        } else {
            self.plan_account_end(id, account.claims.expires);
        }
    }

    fn end_account(&mut self, id: AccountId) {
        for slot in self.slots_in(id) {
            self.end_peer(slot, None, ACCOUNT_EXPIRED);
            self.settle();
        }
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            let user = self.links.get(&link).and_then(|link| link.user.as_ref());
            let Some(slot) = user
                .filter(|user| user.account == id)
                .and_then(|_| self.links.get(&link)?.slot)
            else {
                continue;
            };
            self.end_peer(slot, Some(link), ACCOUNT_EXPIRED);
            self.settle();
        }
    }

    fn end_peer(&mut self, slot: u32, link: Option<LinkId>, text: &str) {
        match link {
            Some(link) => self.evict_link(link, text, EXPIRED),
            None => self.refuse(slot, text, EXPIRED),
        }
    }
}

/// What a JWT says of a user who came by one.
pub(crate) fn jwt_user(user: Option<&User>) -> Option<&JwtUser> {
    match &user?.login {
        Login::Jwt(user) => Some(user),
        Login::Password { .. } | Login::Token(_) | Login::Nkey(_) | Login::Delegated(_) => None,
    }
}

const NANOS: i64 = 1_000_000_000;
