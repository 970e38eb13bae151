//! Operator mode and what it excludes. spec: nats-server v2.15.1 server/jwt.go
//! `validateTrustedOperators`, server/leafnode.go `validateLeafNode`

use super::Checker;
use crate::nkey;

impl Checker<'_> {
    pub(super) fn operator(&mut self) {
        let config = self.config;
        let mode = &config.operator_mode;
        if mode.operators.is_empty() {
            if mode.default_sentinel.is_some() {
                let text = "default sentinel requires operators and accounts";
                self.error(&["default_sentinel"], text, "");
            }
            return;
        }
        if !config.accounts.is_empty() {
            let text = "operators do not allow Accounts to be configured directly";
            self.error(&["accounts"], text, "");
        }
        if !config.authorization.users.is_empty() {
            let text = "operators do not allow users to be configured directly";
            self.error(&["authorization"], text, "");
        }
        if config.authorization.callout.is_some() {
            let text = "operators do not allow authorization callouts to be configured directly";
            self.error(&["authorization"], text, "set it in the account's JWT");
        }
        if !mode.trusted_keys.is_empty() {
            let text = "conflicting options for 'TrustedKeys' and 'TrustedOperators'";
            self.error(&["trusted", "trusted_keys"], text, "");
        }
        for key in &mode.pinned_accounts {
            if !nkey::is_public_account(key) {
                let text = format!("pinned account key {key:?} is not a valid public account nkey");
                self.error(&["resolver_pinned_accounts"], text, "");
            }
        }
        self.leafnodes_of_operator();
    }

    fn leafnodes_of_operator(&mut self) {
        let config = self.config;
        let leaf = &config.leafnodes;
        let key = &["leafnodes", "leaf"];
        if !leaf.authorization.users.is_empty() {
            let text = "operator mode does not allow specifying users in leafnode config";
            self.error(key, text, "");
        }
        for (index, remote) in leaf.remotes.iter().enumerate() {
            if !nkey::is_public_account(&remote.account) {
                let text = "operator mode requires account nkeys in remotes. Please add an \
                            `account` key to each remote in your `leafnodes` section, to assign \
                            it to an account. Each account value should be a 56 character public \
                            key, starting with the letter 'A'";
                let at = config.places.of_remote(index);
                self.error_at(at, text.to_owned(), "");
            }
        }
        if let Some(account) = &leaf.authorization.account
            && leaf.listen.is_some()
            && !nkey::is_public_account(account)
        {
            let text = "operator mode and non account nkeys are incompatible";
            self.error(key, text, "");
        }
    }
}
