//! What the field side and the fleet need of the rest: somebody to be.

use super::Checker;

impl Checker<'_> {
    pub(super) fn appliance(&mut self) {
        let Some(appliance) = &self.config.appliance else {
            return;
        };
        let Some(account) = &appliance.account else {
            return self.is_somebody("appliance", "the field side", appliance.user.as_deref());
        };
        let keys = &["appliance"];
        if !self.config.operator_mode.operators.is_empty() {
            let text = "the field side cannot be at home in an operator's account yet";
            return self.error(keys, text, "use accounts of this file, or remove the block");
        }
        if appliance.user.is_some() {
            let text = "the field side is a user or at home in an account, not both";
            return self.error(keys, text, "remove user or account");
        }
        if !self.has_account(account) {
            let text = format!("cannot find the field side's account {account:?}");
            self.error(keys, text, "add it to accounts");
        }
    }

    /// It is a client like any other, and everything it knows is kept in streams.
    pub(super) fn fleet(&mut self) {
        let Some(fleet) = &self.config.fleet else {
            return;
        };
        self.is_somebody("fleet", "the fleet", fleet.user.as_deref());
        if !self.config.jetstream.enabled {
            let text = "the fleet is kept in streams, and jetstream is not enabled";
            self.error(&["fleet"], text, "write jetstream { store_dir: ... }");
        }
    }

    /// The user it names is there, and one is named where nobody comes in without.
    fn is_somebody(&mut self, block: &str, who: &str, user: Option<&str>) {
        let config = self.config;
        let keys = &[block];
        if !config.operator_mode.operators.is_empty() {
            let text = format!("{who} cannot be a user of an operator's account yet");
            return self.error(keys, text, "use accounts of this file, or remove the block");
        }
        let account_users = config.accounts.iter().flat_map(|account| &account.users);
        let users = config.authorization.users.iter().chain(account_users);
        let names: Vec<&str> = users.map(|user| user.identity.name()).collect();
        let single = config.authorization.user.as_deref();
        let has_token = config.authorization.token.is_some();
        match user {
            Some(user) if !names.iter().chain(&single).any(|name| *name == user) => {
                let text = format!("{who}'s user {user:?} is not in this file");
                self.error(keys, text, "add it to a list of users");
            }
            None if config.no_auth_user.is_none()
                && (!names.is_empty() || single.is_some() || has_token) =>
            {
                let text = format!("{who} needs a user where everybody needs one");
                let remedy = format!("write user: NAME in the {block} block");
                self.error(keys, text, &remedy);
            }
            Some(_) | None => {}
        }
    }
}
