use std::sync::Arc;

use super::AUTH_SUBJECT;
use crate::jwt::UserScope;
use crate::{AccountId, Permissions};

/// The service that is asked, when the configuration names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalloutPlan {
    /// The public account key that signs its answers.
    pub issuer: String,
    /// The account it is asked in.
    pub account: String,
    /// Users it is not asked about: itself.
    pub auth_users: Vec<String>,
    /// The public curve key requests are sealed for.
    pub xkey: Option<String>,
    /// The accounts whose users it is asked about; empty is all.
    pub allowed_accounts: Vec<String>,
}

/// The service and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Callout {
    pub(crate) plan: Arc<CalloutPlan>,
    /// `None`: there is no such account, and nobody can be asked.
    pub(crate) account: Option<AccountId>,
}

/// A user the service described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegated {
    /// The name for logs and monitoring.
    pub name: String,
    /// The name in the JWT.
    pub name_tag: String,
    /// Labels.
    pub tags: Vec<String>,
    /// Until when its holder may stay, unix nanoseconds; `None` is for ever.
    pub until_ns: Option<i64>,
    /// Why the service's word counted.
    pub basis: Basis,
}

/// Why a service's word counted; when that is no longer so, its user goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The configuration names it like this.
    Configured(Arc<CalloutPlan>),
    /// Accounts signed, in operator mode.
    Vouched(Vouched),
}

/// What an account's keys had to do with a user the service described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// The key that signed.
    pub issuer: String,
    /// What that key gives to all its users.
    pub scope: Option<Arc<UserScope>>,
    /// Whether its permissions are the account's for those without.
    pub has_default_permissions: bool,
}

impl Callout {
    /// Whether it is asked about users of this account.
    pub(crate) fn covers(&self, account: &str) -> bool {
        let allowed = &self.plan.allowed_accounts;
        allowed.is_empty() || allowed.iter().any(|name| name == account)
    }

    pub(crate) fn is_auth_user(&self, user: &str) -> bool {
        self.plan.auth_users.iter().any(|name| name == user)
    }
}

/// Users in the service's own account may not ask it: they would learn passwords, or see who
/// else does.
pub(crate) fn without_asking(permissions: Option<Arc<Permissions>>) -> Option<Arc<Permissions>> {
    let mut permissions = permissions.map_or_else(Permissions::default, |given| (*given).clone());
    permissions.publish.deny.push(AUTH_SUBJECT.into());
    Some(Arc::new(permissions))
}
