//! What clients say to prove who they are.

use frond_account::{Credentials, Identity, PeerKind, Standing};
use frond_wire::ConnectInfo;

use crate::Broker;
use crate::connection::{Hello, State};
use crate::label::Name;

impl Broker {
    /// What a client says to prove who it is, in its `CONNECT` and before.
    pub(crate) fn given(&self, slot: u32, said: &ConnectInfo) -> Credentials {
        let brought = self.conns.get(slot).and_then(|c| c.upgrade.as_ref());
        credentials(said, brought.map(|upgrade| &upgrade.credentials))
    }

    /// Who it is, if it showed that before and doesn't say anything else now.
    pub(crate) fn still_known(
        &self,
        slot: u32,
        said: &ConnectInfo,
    ) -> Option<(Identity, Option<Box<Credentials>>)> {
        let connection = self.conns.get(slot)?;
        let session = connection.session()?;
        let identity = session.identity.clone()?;
        let is_known = match (&session.state, &identity.user) {
            (State::Greeted | State::Authenticating { .. }, _) => false,
            // Nobody was asked, and only a CONNECT may change that.
            (State::Ready(Hello::Silent), _) => false,
            (State::Ready(_), None) => !self.directory.auth_required_over(connection.transport),
            (State::Ready(_), Some(user)) => {
                let standing = self.directory.standing(user, PeerKind::Client);
                matches!(standing, Standing::Same(_))
            }
        };
        let silent = credentials(said, None) == Credentials::default();
        (is_known && silent).then(|| (identity, session.offered.clone()))
    }
}

/// What the log says of a client that isn't let in.
pub(crate) fn authentication_error(name: Option<Name<'_>>) -> String {
    match name {
        Some(name) => format!("authentication error - {}", name.in_words()),
        None => "authentication error".to_owned(),
    }
}

/// Whether what came with an `INFO` makes sense; a client's is of no use even then.
pub(crate) fn is_object(json: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<Option<serde_json::Map<String, serde_json::Value>>>(json).map(drop)
}

fn credentials(connect: &ConnectInfo, brought: Option<&Credentials>) -> Credentials {
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    let said = Credentials {
        user: some(&connect.user),
        pass: some(&connect.pass),
        auth_token: some(&connect.auth_token),
        nkey: some(&connect.nkey),
        jwt: some(&connect.jwt),
        sig: some(&connect.sig),
        proxy_sig: some(&connect.proxy_sig),
        account: some(&connect.account),
    };
    let Some(brought) = brought.cloned() else {
        return said;
    };
    Credentials {
        user: said.user.or(brought.user),
        pass: said.pass.or(brought.pass),
        auth_token: said.auth_token.or(brought.auth_token),
        jwt: said.jwt.or(brought.jwt),
        ..said
    }
}
