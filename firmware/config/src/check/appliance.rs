//! What the field side and the fleet need of the rest: somebody to be.

use super::Checker;
use crate::nkey;

impl Checker<'_> {
    pub(super) fn appliance(&mut self) {
        let Some(it) = &self.config.appliance else {
            return;
        };
        let (user, account) = (it.user.as_deref(), it.account.as_deref());
        self.is_at_home("appliance", "the field side", user, account);
    }

    /// It is a client like any other, and everything it knows is kept in streams.
    pub(super) fn fleet(&mut self) {
        let Some(fleet) = &self.config.fleet else {
            return;
        };
        let (user, account) = (fleet.user.as_deref(), fleet.account.as_deref());
        self.is_at_home("fleet", "the fleet", user, account);
        if !self.config.jetstream.enabled {
            let text = "the fleet is kept in streams, and jetstream is not enabled";
            self.error(&["fleet"], text, "write jetstream { store_dir: ... }");
        }
    }

    /// The box logs in at itself. A configuration from elsewhere has no such block: it is tried,
    /// and what keeps the box out of itself goes back.
    pub(super) fn ota(&mut self) {
        let config = self.config;
        if config.places.of(&["ota"]).is_none() {
            return;
        }
        let Some(user) = config.ota.as_ref().and_then(|ota| ota.login.user.as_ref()) else {
            return;
        };
        let auth = &config.authorization;
        let is_elsewhere = !config.operator_mode.operators.is_empty() || auth.callout.is_some();
        let names = self.user_names();
        if !is_elsewhere && !names.is_empty() && !names.contains(&user.as_str()) {
            let text = format!("the box's own user {user:?}, named by ota, is not in this file");
            self.error(&["ota"], text, "add it to a list of users");
        }
    }

    /// Users that have a name, the single one among them.
    fn user_names(&self) -> Vec<&str> {
        let config = self.config;
        let account_users = config.accounts.iter().flat_map(|account| &account.users);
        let users = config.authorization.users.iter().chain(account_users);
        let names = users.map(|user| user.identity.name());
        names.chain(config.authorization.user.as_deref()).collect()
    }

    /// Within the process nobody has to prove who it is: a user of this file, or an account.
    fn is_at_home(&mut self, block: &str, who: &str, user: Option<&str>, account: Option<&str>) {
        let keys = &[block];
        let has_operator = !self.config.operator_mode.operators.is_empty();
        match (user, account) {
            (Some(_), Some(_)) => {
                let text = format!("{who} is a user or at home in an account, not both");
                self.error(keys, text, "remove user or account");
            }
            (Some(_), None) if has_operator => {
                let text = format!("{who} cannot be a user: an operator's are not in this file");
                let remedy = format!("write account: A... in the {block} block");
                self.error(keys, text, &remedy);
            }
            (None, None) if has_operator => {
                let text = format!("{who} needs to know its account among the operator's");
                let remedy = format!("write account: A... in the {block} block");
                self.error(keys, text, &remedy);
            }
            (None, Some(account)) if has_operator => {
                if !nkey::is_public_account(account) {
                    let text = format!("{who}'s account {account:?} is no account of an operator");
                    self.error(keys, text, "write its public nkey (A...)");
                }
            }
            (None, Some(account)) => {
                if !self.has_account(account) {
                    let text = format!("cannot find {who}'s account {account:?}");
                    self.error(keys, text, "add it to accounts");
                }
            }
            (user, None) => self.is_somebody(block, who, user),
        }
    }

    /// The user it names is there, and one is named where nobody comes in without.
    fn is_somebody(&mut self, block: &str, who: &str, user: Option<&str>) {
        let config = self.config;
        let keys = &[block];
        let names = self.user_names();
        let has_token = config.authorization.token.is_some();
        match user {
            Some(user) if !names.contains(&user) => {
                let text = format!("{who}'s user {user:?} is not in this file");
                self.error(keys, text, "add it to a list of users");
            }
            None if config.no_auth_user.is_none() && (!names.is_empty() || has_token) => {
                let text = format!("{who} needs a user where everybody needs one");
                let remedy = format!("write user: NAME in the {block} block");
                self.error(keys, text, &remedy);
            }
            Some(_) | None => {}
        }
    }
}
