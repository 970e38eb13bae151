use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use thiserror::Error;

use crate::callout::Callout;
use crate::nkey::{Role, is_public_key};
use crate::{
    AccountId, AccountLimits, AccountPlan, CertMaps, ClaimedAccount, ConnectionType, Login,
    PeerKind, Permissions, Plan, Sharing, Trust, UserPlan, Zone,
};

mod cycles;
mod domains;
mod door;
mod share;

/// All accounts and users of this server.
#[derive(Clone, Debug)]
pub struct Directory {
    accounts: Vec<Account>,
    by_name: HashMap<Box<str>, AccountId>,
    system: AccountId,
    pub(crate) clients: Logins,
    pub(crate) leafs: Logins,
    /// Whom a leafnode becomes when nobody needs credentials.
    pub(crate) leaf_default: AccountId,
    /// Whom a client without credentials becomes.
    pub(crate) no_auth_user: Option<Arc<User>>,
    /// Whether it is in `$G` without being anybody.
    global_is_open: bool,
    /// Other rules for those who come by WebSocket.
    websockets: Option<Arc<door::Door>>,
    /// Who vouches for accounts; `None` when the configuration names them all.
    pub(crate) trust: Option<Arc<Trust>>,
    /// Accounts that came by JWT.
    pub(crate) claimed: BTreeMap<AccountId, ClaimedAccount>,
    /// Time zones that were asked for.
    pub(crate) zones: BTreeMap<String, Zone>,
    pub(crate) cert_maps: CertMaps,
    /// Who is asked who peers are.
    pub(crate) callout: Option<Arc<Callout>>,
    /// Public keys of the proxies that are trusted.
    pub(crate) proxies: Vec<String>,
    default_domains: Arc<BTreeMap<String, String>>,
}

/// One account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: Box<str>,
    /// What its users together may use.
    pub limits: AccountLimits,
    /// Whether it has JetStream.
    pub jetstream: bool,
    /// Whether the configuration still names it; an id is never given to another account.
    pub exists: bool,
    /// What it was made from; one without a name when nobody planned it.
    pub plan: Arc<AccountPlan>,
    /// What it takes from others and renames, as it follows from all plans.
    pub sharing: Sharing,
}

/// One user, as sessions hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// How it proves itself.
    pub login: Login,
    /// Its account.
    pub account: AccountId,
    /// What it may do; `None` is everything.
    pub permissions: Option<Arc<Permissions>>,
    /// How it may connect; `None` is any way.
    pub only: Option<Vec<ConnectionType>>,
    /// Whether it may come only through a trusted proxy.
    pub proxy_required: bool,
}

/// What a change of the configuration did to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It logs in as before; its permissions may be others.
    Same(Arc<User>),
    /// Its secret is another.
    Changed,
    /// It doesn't exist, or is in another account.
    Gone,
    /// Its account took its JWT back.
    Revoked,
    /// Its signing key, or what that gives, is another.
    Unsigned,
    /// Its account may not be used any more.
    Expired,
}

/// Users by what they are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Logins {
    pub(crate) names: HashMap<Box<str>, Arc<User>>,
    pub(crate) nkeys: HashMap<Box<str>, Arc<User>>,
    pub(crate) tokens: Vec<Arc<User>>,
}

/// Why a plan makes no directory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DirectoryError {
    /// Two users of the same name or key.
    #[error("duplicate user {0:?} detected")]
    DuplicateUser(String),
    /// A user's nkey is none.
    #[error("not a valid public nkey for a user: {0:?}")]
    BadNkey(String),
    /// An account without a name.
    #[error("account missing")]
    NoName,
    /// Exports and imports that don't fit each other, each in nats-server's words.
    #[error("{}", .0.join("\n"))]
    Sharing(Vec<String>),
    /// As nats-server says it.
    #[error(
        "no_auth_user: {0:?} not present as user or nkey in authorization block or account configuration"
    )]
    NoAuthUser(String),
}

impl Directory {
    /// Everyone may connect and is in `$G`.
    #[must_use]
    pub fn open_to_all() -> Self {
        let mut directory = Self::empty();
        directory.add_account(DEFAULT_ACCOUNT);
        directory.system = directory.add_account(DEFAULT_SYSTEM_ACCOUNT);
        directory
    }

    /// From a plan. With a `former` directory its accounts keep their ids.
    ///
    /// # Errors
    /// When users contradict each other, see [`DirectoryError`].
    pub fn build(plan: &Plan, former: Option<&Self>) -> Result<Self, DirectoryError> {
        let mut directory = Self::empty();
        directory.default_domains = Arc::new(plan.default_domains.clone());
        for account in former.map(Self::accounts).unwrap_or_default() {
            let id = directory.add_account(&account.name);
            directory.forget(id);
        }
        directory.add_account(DEFAULT_ACCOUNT);
        let system = plan.system_account.as_deref();
        directory.system = directory.add_account(system.unwrap_or(DEFAULT_SYSTEM_ACCOUNT));
        for account in &plan.accounts {
            let id = directory.add_account(&account.name);
            directory.plan(id, account);
        }
        let all: Vec<_> = directory.ids().collect();
        directory.share(&all);
        let accounts = directory.accounts.iter();
        let refused: Vec<_> = accounts.flat_map(|a| a.sharing.refused.clone()).collect();
        if !refused.is_empty() {
            return Err(DirectoryError::Sharing(refused));
        }
        directory.take_claims(plan.trust.as_ref(), former);
        directory.proxies.clone_from(&plan.proxies);
        directory.callout = plan.callout.clone().map(|plan| {
            let account = directory.find(&plan.account);
            Arc::new(Callout {
                plan: Arc::new(plan),
                account,
            })
        });
        directory.clients = directory.logins(&plan.users)?;
        directory.leafs = directory.logins(&plan.leaf_users)?;
        directory.leaf_default = directory.account_or_default(plan.leaf_account.as_deref());
        directory.cert_maps = plan.cert_maps;
        directory.global_is_open = plan.global_is_open;
        directory.no_auth_user = match &plan.no_auth_user {
            None => None,
            Some(name) => Some(
                directory
                    .clients
                    .named(name)
                    .ok_or_else(|| DirectoryError::NoAuthUser(name.clone()))?,
            ),
        };
        if let Some(door) = &plan.websockets {
            directory.open_door(door)?;
        }
        Ok(directory)
    }

    /// Adds one account, or gives it another plan; all others stay, and those that import from
    /// it follow. What its plan can't have is left out: see [`Sharing::refused`].
    ///
    /// # Errors
    /// When the plan has no name.
    pub fn put_account(&mut self, plan: &AccountPlan) -> Result<AccountId, DirectoryError> {
        if plan.name.is_empty() {
            return Err(DirectoryError::NoName);
        }
        let id = self.add_account(&plan.name);
        self.plan(id, plan);
        self.share_again(id);
        Ok(id)
    }

    /// Takes one account away; its id stays its own.
    pub fn remove_account(&mut self, id: AccountId) {
        let Some(name) = self.account(id).map(|account| account.name.to_string()) else {
            return;
        };
        let gone = AccountPlan {
            name,
            ..AccountPlan::default()
        };
        self.plan(id, &gone);
        self.forget(id);
        self.share_again(id);
    }

    /// All accounts in the order of their ids, gone ones included.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// One account.
    #[must_use]
    pub fn account(&self, id: AccountId) -> Option<&Account> {
        self.accounts.get(id.0 as usize)
    }

    /// The account called `name`, if the configuration names it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<AccountId> {
        let id = *self.by_name.get(name)?;
        self.account(id)?.exists.then_some(id)
    }

    /// `$G`.
    #[must_use]
    pub const fn default_account(&self) -> AccountId {
        AccountId(0)
    }

    /// The system account.
    #[must_use]
    pub const fn system_account(&self) -> AccountId {
        self.system
    }

    /// Whether anybody here is known by a name and a password.
    #[must_use]
    pub fn has_passwords(&self) -> bool {
        let mut users = self.clients.names.values();
        self.trust.is_none() && users.any(|user| matches!(user.login, Login::Password { .. }))
    }

    /// Whether clients have to say who they are.
    #[must_use]
    pub fn auth_required(&self) -> bool {
        !self.clients.is_empty() || self.trust.is_some()
    }

    /// Whether those are let in who say nothing of themselves, as nobody.
    ///
    /// spec: nats-server v2.15.1 server/server.go `configureAccounts`, `sysAccOnlyNoAuthUser`
    #[must_use]
    pub fn takes_nobody(&self) -> bool {
        self.global_is_open || !self.auth_required()
    }

    /// What the first `INFO` says: with a `no_auth_user` nobody has to.
    #[must_use]
    pub fn auth_announced(&self) -> bool {
        self.auth_required() && self.no_auth_user.is_none()
    }

    /// Whether `INFO` must carry a nonce to sign.
    #[must_use]
    pub fn needs_nonce(&self) -> bool {
        let keys = !self.clients.nkeys.is_empty() || !self.leafs.nkeys.is_empty();
        keys || self.trust.is_some() || !self.proxies.is_empty()
    }

    /// What became of a user that logged in under a former directory.
    #[must_use]
    pub fn standing(&self, former: &User, kind: PeerKind) -> Standing {
        match &former.login {
            Login::Jwt(login) => return self.standing_jwt(former, login),
            Login::Delegated(login) => return self.standing_delegated(former, login),
            Login::Password { .. } | Login::Nkey(_) | Login::Token(_) => {}
        }
        let usual = self.logins_of(kind).same(former);
        let by_door = || self.websockets.as_ref()?.logins.same(former);
        let user = match usual {
            Some(user) if user.login == former.login => usual,
            Some(_) | None => by_door().or(usual),
        };
        match user {
            Some(user) if user.account != former.account => Standing::Gone,
            Some(user) if user.login == former.login => Standing::Same(Arc::clone(user)),
            Some(_) => Standing::Changed,
            None => Standing::Gone,
        }
    }

    pub(crate) fn logins_of(&self, kind: PeerKind) -> &Logins {
        match kind {
            PeerKind::Leafnode if !self.leafs.is_empty() => &self.leafs,
            PeerKind::Client | PeerKind::Leafnode => &self.clients,
        }
    }

    fn empty() -> Self {
        Self {
            accounts: Vec::new(),
            by_name: HashMap::new(),
            system: AccountId(0),
            clients: Logins::default(),
            leafs: Logins::default(),
            leaf_default: AccountId(0),
            no_auth_user: None,
            global_is_open: false,
            websockets: None,
            trust: None,
            claimed: BTreeMap::new(),
            zones: BTreeMap::new(),
            cert_maps: CertMaps::default(),
            callout: None,
            proxies: Vec::new(),
            default_domains: Arc::default(),
        }
    }

    /// The account of this name, now existing.
    fn add_account(&mut self, name: &str) -> AccountId {
        if let Some(id) = self.by_name.get(name) {
            if let Some(account) = self.accounts.get_mut(id.0 as usize) {
                account.exists = true;
            }
            return *id;
        }
        let id = AccountId(u32::try_from(self.accounts.len()).unwrap_or(u32::MAX));
        self.accounts.push(Account {
            name: name.into(),
            limits: AccountLimits::default(),
            jetstream: false,
            exists: true,
            plan: Arc::default(),
            sharing: Sharing::default(),
        });
        self.by_name.insert(name.into(), id);
        id
    }

    fn ids(&self) -> impl Iterator<Item = AccountId> + use<> {
        (0..u32::try_from(self.accounts.len()).unwrap_or(u32::MAX)).map(AccountId)
    }

    fn plan(&mut self, id: AccountId, plan: &AccountPlan) {
        if let Some(account) = self.accounts.get_mut(id.0 as usize) {
            (account.limits, account.jetstream) = (plan.limits, plan.jetstream);
            account.plan = Arc::new(plan.clone());
        }
    }

    fn forget(&mut self, id: AccountId) {
        if let Some(account) = self.accounts.get_mut(id.0 as usize) {
            account.exists = false;
        }
    }

    fn account_or_default(&mut self, name: Option<&str>) -> AccountId {
        name.map_or(AccountId(0), |name| self.add_account(name))
    }

    fn logins(&mut self, plans: &[UserPlan]) -> Result<Logins, DirectoryError> {
        let mut logins = Logins::default();
        for plan in plans {
            let account = self.account_or_default(plan.account.as_deref());
            let permissions = plan.permissions.clone().map(Arc::new);
            let user = Arc::new(User {
                login: plan.login.clone(),
                account,
                permissions: self.limited(account, permissions),
                only: plan.only.clone(),
                proxy_required: plan.proxy_required,
            });
            let former = match &plan.login {
                Login::Password { user: name, .. } => {
                    logins.names.insert(name.as_str().into(), user)
                }
                Login::Nkey(key) if !is_public_key(Role::User, key) => {
                    return Err(DirectoryError::BadNkey(key.clone()));
                }
                Login::Nkey(key) => logins.nkeys.insert(key.as_str().into(), user),
                Login::Token(_) => {
                    logins.tokens.push(user);
                    None
                }
                // Comes with its own credentials, never from a plan.
                Login::Jwt(_) | Login::Delegated(_) => None,
            };
            if former.is_some() {
                return Err(DirectoryError::DuplicateUser(plan.login.name().to_owned()));
            }
        }
        Ok(logins)
    }
}

impl Logins {
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.nkeys.is_empty() && self.tokens.is_empty()
    }

    /// The user who is asked for the same as this one.
    fn same(&self, former: &User) -> Option<&Arc<User>> {
        match &former.login {
            Login::Password { user, .. } => self.names.get(user.as_str()),
            Login::Nkey(key) => self.nkeys.get(key.as_str()),
            Login::Token(_) => self.tokens.first(),
            Login::Jwt(_) | Login::Delegated(_) => None,
        }
    }

    fn named(&self, name: &str) -> Option<Arc<User>> {
        self.names
            .get(name)
            .or_else(|| self.nkeys.get(name))
            .cloned()
    }
}

/// The account of users who are in none.
pub const DEFAULT_ACCOUNT: &str = "$G";

/// The system account when none is configured.
pub const DEFAULT_SYSTEM_ACCOUNT: &str = "$SYS";

#[cfg(test)]
mod tests;

#[cfg(test)]
mod share_tests;
