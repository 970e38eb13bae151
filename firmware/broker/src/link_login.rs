//! Who is at the other end of a link.

use frond_account::{
    Answer, Credentials, Identity, JwtRefusal, PeerKind, Question, Refusal, Verdict,
};

use crate::calls::Call;
use crate::label::Name;
use crate::proof::authentication_error;
use crate::{Broker, Level, LinkId, LinkKind, LinkVerdict, Output};

/// What the peer of a link said of itself, whoever it turns out to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) name: Box<str>,
    pub(crate) version: Box<str>,
    /// Whom it wanted to be.
    pub(crate) user: Box<str>,
}

/// Credentials that cannot be judged before a question is answered.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The question's.
    pub(crate) token: u64,
    pub(crate) credentials: Credentials,
    pub(crate) nonce: Box<str>,
}

impl Broker {
    /// What the credentials file of a link that dials holds now.
    pub fn credentials_read(&mut self, id: LinkId, read: Result<&str, &str>) {
        let link = self.links.get_mut(&id);
        if let Some(link) = link.and_then(|link| link.link.as_mut()) {
            link.credentials(read);
        }
    }

    /// Judges what the peer of a link gave.
    pub(crate) fn judge_link(&mut self, id: LinkId, mut pending: Pending) {
        let slot = self.links.get(&id).and_then(|link| link.slot);
        let Some((slot, connection)) = slot.and_then(|slot| Some((slot, self.conns.get(slot)?)))
        else {
            return;
        };
        let conn = connection.conn;
        let caller = connection.caller(PeerKind::Leafnode, self.now.wall);
        let (given, nonce) = (&pending.credentials, &pending.nonce);
        let signature = given.proxy_sig.as_deref().unwrap_or_default();
        let proxy = self.directory.trusted_proxy(signature, nonce);
        let proxy = proxy.map(Into::into);
        let verdict = self.directory.authenticate(given, nonce, &caller);
        if let Some(link) = self.links.get_mut(&id) {
            link.proxy = proxy;
            link.said.user = wanted(given).into();
        }
        match verdict {
            Verdict::Accept(identity) => self.welcome_link(id, identity),
            Verdict::Refuse => {
                let why = self.directory.why_refused(
                    &pending.credentials,
                    &pending.nonce,
                    PeerKind::Leafnode,
                );
                self.refuse_link(id, slot, why, &pending.credentials);
            }
            Verdict::RefuseFor(why) => {
                let why = self.log_jwt_refusal(slot, &why);
                self.refuse_link(id, slot, why, &pending.credentials);
            }
            Verdict::Ask(question) => {
                self.next_token += 1;
                let token = self.next_token;
                pending.token = token;
                if let Some(link) = self.links.get_mut(&id) {
                    link.verifying = Some(pending);
                }
                self.outputs.push_back(Output::Ask {
                    conn,
                    token,
                    question,
                });
            }
        }
    }

    /// Another server gave a password that is known by its hash.
    pub(crate) fn compare_for_link(&mut self, id: LinkId, hash: &str, password: &str) {
        let token = self.next_token + 1;
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let slot = link.slot.and_then(|slot| self.conns.get(slot));
        let Some(conn) = slot.map(|connection| connection.conn) else {
            return;
        };
        self.next_token = token;
        link.verifying = Some(Pending {
            token,
            credentials: Credentials::default(),
            nonce: "".into(),
        });
        self.outputs.push_back(Output::Ask {
            conn,
            token,
            question: Question::Bcrypt {
                hash: hash.to_owned(),
                password: password.to_owned(),
                // Whoever may join speaks for all accounts.
                then: Identity {
                    account: self.directory.system_account(),
                    user: None,
                },
            },
        });
    }

    pub(crate) fn link_answered(&mut self, id: LinkId, token: u64, answer: Answer) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let pending = link.verifying.take_if(|pending| pending.token == token);
        let (Some(slot), Some(pending)) = (link.slot, pending) else {
            return;
        };
        match answer {
            Answer::Accept(identity) => self.welcome_link(id, identity),
            Answer::Refuse(why) => {
                if !why.is_empty() {
                    self.log_connection(slot, Level::Debug, &why);
                }
                self.refuse_link(id, slot, Refusal::Credentials, &pending.credentials);
            }
            Answer::Again => self.judge_link(id, pending),
        }
    }

    /// Its peer showed who it is.
    pub(crate) fn welcome_link(&mut self, id: LinkId, identity: Identity) {
        if let Some(link) = self.links.get_mut(&id) {
            link.user.clone_from(&identity.user);
            let slot = link.slot;
            let connection = slot.and_then(|slot| self.conns.get(slot));
            if let Some(conn) = connection.map(|connection| connection.conn) {
                self.plan_end(conn, &identity);
            }
        }
        self.tell(id, Call::Verdict(accepted(identity)));
    }

    /// spec: nats-server v2.15.1 server/client.go `authViolation`
    fn refuse_link(&mut self, id: LinkId, slot: u32, why: Refusal, given: &Credentials) {
        // Another server of the system says itself whom it let not in.
        if self.link_kind(id) == LinkKind::Leaf {
            let text = authentication_error(Name::given(given));
            self.log_connection(slot, Level::Error, &text);
        }
        if !why.detail().is_empty() {
            self.log_connection(slot, Level::Debug, why.detail());
        }
        let cause = why.cause();
        if let Some(closed) = self.closed_link(id, slot, cause) {
            self.outputs.push_back(Output::Rejected(closed.into()));
        }
        self.tell(id, Call::Verdict(LinkVerdict::Refused { cause }));
    }

    /// What was wrong with a JWT goes to the log; what is left is what the peer is closed for.
    pub(crate) fn log_jwt_refusal(&mut self, slot: u32, why: &JwtRefusal) -> Refusal {
        match why {
            JwtRefusal::Debug(why) => self.log_connection(slot, Level::Debug, why),
            JwtRefusal::Unpinned(why) => {
                self.totals.unpinned += 1;
                self.log_connection(slot, Level::Debug, why);
            }
            JwtRefusal::Error(why) => self.log_connection(slot, Level::Error, why),
            JwtRefusal::ProxyRequired => return Refusal::ProxyRequired,
        }
        Refusal::Credentials
    }
}

/// The welcome of a link that showed who it is.
fn accepted(identity: Identity) -> LinkVerdict {
    let permissions = identity
        .user
        .as_ref()
        .and_then(|user| user.permissions.as_deref().cloned());
    LinkVerdict::Accepted {
        account: identity.account,
        permissions,
        user: identity.name().to_owned(),
    }
}

/// Whom these credentials name; a token isn't shown.
fn wanted(given: &Credentials) -> &str {
    let named = [&given.nkey, &given.user].into_iter().flatten();
    let token = given.auth_token.iter().map(|_| "[REDACTED]");
    named
        .map(String::as_str)
        .chain(token)
        .find(|name| !name.is_empty())
        .unwrap_or_default()
}
