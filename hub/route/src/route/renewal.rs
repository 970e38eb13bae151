//! What a reload changes of routes that stay.
//! spec: nats-server v2.15.1 server/reload.go `clusterOption.Apply`, `reloadClusterPermissions`,
//! `reloadAuthorization`

use frond_broker::{Admission, Packs, REFUSED_CAUSE, REFUSED_TEXT, Upcalls};
use frond_clock::Now;
use frond_wire::encode;

use super::{Route, Side, State, hello};
use crate::mesh::Place;
use crate::plan::Plan;

impl Route {
    pub(super) fn renew(&mut self, now: Now, up: &mut dyn Upcalls) {
        if !self.is_wanted(up) || !self.may_stay(up) || !self.stays_packed(now, up) {
            return;
        }
        let compression = self.compression();
        if let State::Up { session, .. } = &mut self.state {
            session.renew(up);
            let told = self.mesh.planned(Plan::told);
            if told != self.told {
                let info = hello::info(&self.mesh, None, compression, up);
                encode::info(up.out(), &info);
                self.told = told;
            }
        }
    }

    /// Whether the account that this is for still has a connection of its own.
    fn is_wanted(&mut self, up: &mut dyn Upcalls) -> bool {
        let pinned = match (&self.side, &self.state) {
            (_, State::Up { session, .. }) => match &session.place {
                Place::Pinned(account) => Some(&**account),
                Place::Only | Place::Pool(_) => None,
            },
            (Side::Dialed(dialed), _) => dialed.account.as_deref(),
            (Side::Accepted, _) => None,
        };
        if pinned.is_none_or(|account| self.mesh.pins(account)) {
            return true;
        }
        self.depart(up);
        self.end(up);
        up.close(REMOVED);
        false
    }

    /// Whether the caller shows what callers have to show now.
    fn may_stay(&mut self, up: &mut dyn Upcalls) -> bool {
        let logins = self.mesh.logins();
        let is_old = |caller: &mut (_, u64)| caller.1 != logins;
        let Some((connect, _)) = self.caller.take_if(is_old) else {
            return true;
        };
        let admission = self.judge(*connect, up);
        self.stays(admission, up)
    }

    /// A caller that was in was judged again.
    pub(super) fn stays(&mut self, admission: Admission, up: &mut dyn Upcalls) -> bool {
        match admission {
            Admission::Admitted(connect) => {
                self.caller = Some((connect, self.mesh.logins()));
                true
            }
            Admission::Refused => {
                self.refuse(Some(REFUSED_TEXT), REFUSED_CAUSE, up);
                false
            }
            Admission::Pending => true,
        }
    }

    /// Compressed as it has to be now, or closed to be agreed on anew.
    fn stays_packed(&mut self, now: Now, up: &mut dyn Upcalls) -> bool {
        let State::Up { session, .. } = &self.state else {
            return true;
        };
        let (wish, rtt) = (
            self.mesh.planned(|plan| plan.compression.clone()),
            session.rtt(),
        );
        let change = |packs: &mut Packs| packs.change(&wish, rtt, up);
        if self.packs.as_mut().is_none_or(change) {
            return true;
        }
        let words = "another compression is configured";
        // This is nothing that went wrong.
        if let Side::Dialed(dialed) = &mut self.side {
            dialed.logged = Some(words.to_owned());
        }
        self.fail(now, None, words, "Client Closed", up);
        false
    }
}

/// As nats-server calls it in `/connz` and its log.
const REMOVED: &str = "Route Removed";
