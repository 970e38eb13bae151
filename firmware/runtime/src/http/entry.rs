//! Who may see what names people's devices: whoever sits at the box, and its users.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use data_encoding::BASE64;
use frond_account::{
    AccountId, Caller, Credentials, Login, PeerKind, Question, Transport, Verdict,
};
use frond_clock::{Instant, Timestamp};
use frond_monitor::Seen;
use tokio::sync::Semaphore;

use crate::core::Core;
use crate::limits::{HTTP_KNOWN_FOR, HTTP_KNOWN_MAX, HTTP_REFUSAL_PAUSE, HTTP_REFUSED_MAX};

/// What a request says of who makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    /// The host it thinks it talks to.
    pub(super) host: Option<String>,
    /// Its credentials, as `Authorization` has them.
    pub(super) authorization: Option<String>,
    /// Whether a proxy says that it asks for somebody else.
    pub(super) is_passed_on: bool,
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// There is nobody who could be.
    NoPasswords,
    /// It is not known who this is.
    Unknown,
    /// Somebody there guessed wrong a moment ago, or too many are being looked at.
    Later,
}

/// Where private pages are asked for.
#[derive(Debug)]
pub(super) struct Door {
    /// A password takes long to check, on threads that the uplink needs as well: one at a time,
    /// also when those who gave them are gone.
    checking: Arc<Semaphore>,
    known: RefCell<Vec<Known>>,
    /// Until when whoever is there is not looked at.
    refused: RefCell<BTreeMap<IpAddr, Instant>>,
}

/// Somebody whose password was right a moment ago.
#[derive(Debug)]
struct Known {
    authorization: String,
    account: AccountId,
    until: Instant,
    /// The configuration in which it was.
    of: Timestamp,
}

impl Default for Door {
    fn default() -> Self {
        Self {
            checking: Arc::new(Semaphore::new(1)),
            known: RefCell::default(),
            refused: RefCell::default(),
        }
    }
}

impl Door {
    /// Lets in who may see private pages, and says how much of them.
    pub(super) async fn admit(
        &self,
        core: &Rc<Core>,
        from: IpAddr,
        claims: &Claims,
    ) -> Result<Seen, Denied> {
        let from = from.to_canonical();
        if from.is_loopback() && !claims.is_passed_on && is_local_name(claims.host.as_deref()) {
            return Ok(Seen::All);
        }
        if !core.with_node(|node| {
            let view = node.view(core.clock().now());
            view.broker.directory().has_passwords()
        }) {
            return Err(Denied::NoPasswords);
        }
        let now = core.clock().now().mono;
        if self.refused.borrow().get(&from).is_some_and(|it| now < *it) {
            return Err(Denied::Later);
        }
        let authorization = claims.authorization.as_deref().unwrap_or_default();
        let Some(given) = credentials(authorization) else {
            return Err(Denied::Unknown);
        };
        if let Some(account) = self.remembered(core, authorization) {
            return Ok(shown(core, account));
        }
        match self.account_of(core, from, &given).await? {
            Some(account) => {
                self.remember(core, authorization, account);
                Ok(shown(core, account))
            }
            None => {
                let user = given.user.as_deref().unwrap_or_default();
                tracing::error!("{from} - status page - authentication error - User {user:?}");
                self.refuse(from, core.clock().now().mono);
                Err(Denied::Unknown)
            }
        }
    }

    /// Whose password that is.
    async fn account_of(
        &self,
        core: &Rc<Core>,
        from: IpAddr,
        given: &Credentials,
    ) -> Result<Option<AccountId>, Denied> {
        let now = core.clock().now();
        let caller = Caller {
            kind: PeerKind::Client,
            transport: Transport::Tcp,
            ip: Some(from),
            tls: None,
            wall_ns: now.wall.as_nanos(),
        };
        let verdict = core.with_node(|node| {
            let view = node.view(now);
            view.broker.directory().authenticate(given, "", &caller)
        });
        match verdict {
            Verdict::Accept(who) => Ok(who
                .user
                .filter(|it| has_password(&it.login))
                .map(|it| it.account)),
            Verdict::Ask(Question::Bcrypt {
                hash,
                password,
                then,
            }) => {
                let checking = Arc::clone(&self.checking);
                let permit = checking.try_acquire_owned().map_err(|_| Denied::Later)?;
                let checked = tokio::task::spawn_blocking(move || {
                    let _permit = permit;
                    bcrypt::verify(password, &hash)
                });
                let is_right = matches!(checked.await, Ok(Ok(true)));
                let user = then.user.filter(|it| is_right && has_password(&it.login));
                Ok(user.map(|it| it.account))
            }
            // Whoever needs more than a name and a password asks as a client.
            Verdict::Refuse | Verdict::RefuseFor(_) | Verdict::Ask(_) => Ok(None),
        }
    }

    fn remembered(&self, core: &Rc<Core>, authorization: &str) -> Option<AccountId> {
        let (now, of) = (
            core.clock().now().mono,
            core.meter().borrow().config_loaded(),
        );
        let mut known = self.known.borrow_mut();
        known.retain(|it| now < it.until && it.of == of);
        let found = known.iter().find(|it| it.authorization == authorization);
        found.map(|it| it.account)
    }

    fn remember(&self, core: &Rc<Core>, authorization: &str, account: AccountId) {
        let mut known = self.known.borrow_mut();
        if known.len() >= HTTP_KNOWN_MAX {
            known.remove(0);
        }
        known.push(Known {
            authorization: authorization.to_owned(),
            account,
            until: core.clock().now().mono + HTTP_KNOWN_FOR,
            of: core.meter().borrow().config_loaded(),
        });
    }

    /// Guessing is made slow: what comes next from there is not looked at, right or wrong.
    fn refuse(&self, from: IpAddr, now: Instant) {
        let mut refused = self.refused.borrow_mut();
        refused.retain(|_, until| now < *until);
        if refused.len() < HTTP_REFUSED_MAX {
            refused.insert(from, now + HTTP_REFUSAL_PAUSE);
        }
    }
}

fn has_password(login: &Login) -> bool {
    match login {
        Login::Password { .. } => true,
        Login::Token(_) | Login::Nkey(_) | Login::Jwt(_) | Login::Delegated(_) => false,
    }
}

/// Users of the system account see all, others what is of their account.
fn shown(core: &Rc<Core>, account: AccountId) -> Seen {
    core.with_node(|node| {
        let view = node.view(core.clock().now());
        let directory = view.broker.directory();
        if account == directory.system_account() {
            return Seen::All;
        }
        let name = directory.account(account).map(|it| it.name.to_string());
        Seen::Account(name.unwrap_or_default())
    })
}

/// A page from elsewhere can make a browser on this box ask for a name that leads here, and would
/// be shown the answer: only an address or the box's own name is believed.
fn is_local_name(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// A user and a password out of `Basic …`.
fn credentials(authorization: &str) -> Option<Credentials> {
    let (scheme, rest) = authorization.split_once(' ')?;
    let basic = scheme
        .eq_ignore_ascii_case("basic")
        .then_some(rest.trim())?;
    let both = String::from_utf8(BASE64.decode(basic.as_bytes()).ok()?).ok()?;
    let (user, pass) = both.split_once(':')?;
    // Nobody has an empty name; who gives none may be somebody by default elsewhere.
    if user.is_empty() || pass.is_empty() {
        return None;
    }
    Some(Credentials {
        user: Some(user.to_owned()),
        pass: Some(pass.to_owned()),
        ..Credentials::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_box_itself_is_a_local_name() {
        for (host, local) in [
            (None, false),
            (Some("localhost"), true),
            (Some("LocalHost:8222"), true),
            (Some("127.0.0.1:8222"), true),
            (Some("[::1]:8222"), true),
            (Some("[::1]"), true),
            (Some("elsewhere.example:8222"), false),
            (Some("localhost.example"), false),
            (Some(""), false),
        ] {
            assert_eq!(is_local_name(host), local, "{host:?}");
        }
    }

    #[test]
    fn a_name_and_a_password_are_read() {
        let given = credentials("basic YTpiOmM=").unwrap();
        assert_eq!(given.user.as_deref(), Some("a"));
        assert_eq!(given.pass.as_deref(), Some("b:c"));
        for wrong in [
            "",
            "Basic",
            "Basic ?",
            "Bearer YTpi",
            "Basic YQ==",
            "Basic Og==",
            "Basic OmE=",
            "Basic YTo=",
        ] {
            assert!(credentials(wrong).is_none(), "{wrong}");
        }
    }
}
