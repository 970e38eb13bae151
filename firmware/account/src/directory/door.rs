//! Those who come by WebSocket may be asked for other credentials.
//! spec: nats-server v2.15.1 server/auth.go `processClientOrLeafAuthentication`

use std::sync::Arc;

use super::{Directory, DirectoryError, Logins, User};
use crate::{Caller, DoorPlan, PeerKind, Transport};

/// Who may come in by one way, instead of those who may otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(super) logins: Logins,
    no_auth_user: Option<Arc<User>>,
}

impl Directory {
    /// Whether clients who come this way have to say who they are.
    #[must_use]
    pub fn auth_required_over(&self, transport: Transport) -> bool {
        self.auth_required() || self.door(transport).is_some()
    }

    /// What the first `INFO` says to clients who come this way.
    #[must_use]
    pub fn auth_announced_over(&self, transport: Transport) -> bool {
        self.auth_announced() || self.door(transport).is_some()
    }

    pub(crate) fn logins_for(&self, caller: &Caller<'_>) -> &Logins {
        match (caller.kind, self.door(caller.transport)) {
            (PeerKind::Client, Some(door)) => &door.logins,
            (PeerKind::Client, None) | (PeerKind::Leafnode, _) => self.logins_of(caller.kind),
        }
    }

    /// Whom a peer without credentials becomes.
    pub(crate) fn nobody_for(&self, caller: &Caller<'_>) -> Option<&Arc<User>> {
        let own = self.door(caller.transport);
        match (caller.kind, own.map(|door| door.no_auth_user.as_ref())) {
            (PeerKind::Client, Some(nobody)) | (PeerKind::Leafnode, Some(nobody @ Some(_))) => {
                nobody
            }
            (PeerKind::Client, None) | (PeerKind::Leafnode, _) => self.no_auth_user.as_ref(),
        }
    }

    /// Whether clients who come this way may be nobody, though others have to say who they are.
    #[must_use]
    pub fn takes_nobody_over(&self, transport: Transport) -> bool {
        let is_open = self.takes_nobody() && self.door(transport).is_none();
        is_open || !self.auth_required_over(transport)
    }

    /// Whether who comes this way may be nobody: no other rules are for it.
    pub(crate) fn takes_nobody_from(&self, caller: &Caller<'_>) -> bool {
        self.takes_nobody()
            && self.door(caller.transport).is_none()
            && (caller.kind == PeerKind::Client || self.leafs.is_empty())
    }

    pub(super) fn open_door(&mut self, plan: &DoorPlan) -> Result<(), DirectoryError> {
        let logins = self.logins(&plan.users)?;
        let no_auth_user = match &plan.no_auth_user {
            None => None,
            Some(name) => {
                let user = logins.named(name);
                Some(user.ok_or_else(|| DirectoryError::NoAuthUser(name.clone()))?)
            }
        };
        self.websockets = Some(Arc::new(Door {
            logins,
            no_auth_user,
        }));
        Ok(())
    }

    fn door(&self, transport: Transport) -> Option<&Door> {
        match transport {
            Transport::WebSocket => self.websockets.as_deref(),
            Transport::Tcp | Transport::InProcess => None,
        }
    }
}
