//! What the field side needs of the rest: somebody to be.

use super::Checker;

impl Checker<'_> {
    /// The user it names is there, and one is named where nobody comes in without.
    pub(super) fn appliance(&mut self) {
        let config = self.config;
        let Some(appliance) = &config.appliance else {
            return;
        };
        let keys = &["appliance"];
        if !config.operator_mode.operators.is_empty() {
            let text = "the field side cannot be a user of an operator's account yet";
            return self.error(keys, text, "use accounts of this file, or remove the block");
        }
        let account_users = config.accounts.iter().flat_map(|account| &account.users);
        let users = config.authorization.users.iter().chain(account_users);
        let names: Vec<&str> = users.map(|user| user.identity.name()).collect();
        let single = config.authorization.user.as_deref();
        let has_token = config.authorization.token.is_some();
        match &appliance.user {
            Some(user) if !names.iter().chain(&single).any(|name| name == user) => {
                let text = format!("the field side's user {user:?} is not in this file");
                self.error(keys, text, "add it to a list of users");
            }
            None if config.no_auth_user.is_none()
                && (!names.is_empty() || single.is_some() || has_token) =>
            {
                let text = "the field side needs a user where everybody needs one";
                self.error(keys, text, "write user: NAME in the appliance block");
            }
            Some(_) | None => {}
        }
    }
}
