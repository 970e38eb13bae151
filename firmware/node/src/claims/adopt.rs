use std::collections::BTreeSet;

use frond_account::ClaimedAccount;
use frond_clock::Now;

use frond_broker::Level;

use crate::{Node, Output};

impl Node {
    /// Takes an account into the directory, or over what it has of it.
    ///
    /// # Errors
    /// Why it is not to be used, in nats-server's words.
    pub(super) fn adopt(&mut self, now: Now, key: &str, text: &str) -> Result<(), String> {
        let account = self.vouched(now, key, text)?;
        let put = self.broker.update_claims(now, account);
        put.map_err(|error| error.to_string())?;
        self.refresh_importers(now, key);
        self.serve_accounts();
        self.enable_claimed(now, key);
        Ok(())
    }

    /// The account, if somebody trusted says so.
    pub(super) fn vouched(
        &self,
        now: Now,
        key: &str,
        text: &str,
    ) -> Result<ClaimedAccount, String> {
        let trust = self.authority.trust.as_ref();
        let trust = trust.ok_or("account resolver missing")?;
        let account = ClaimedAccount::verify(text, trust, now.wall.as_nanos())?;
        if account.claims.subject == key {
            Ok(account)
        } else {
            Err("account validation failed".to_owned())
        }
    }

    /// The accounts it imports from that are not here.
    pub(super) fn missing_exporters(&self, key: &str) -> BTreeSet<String> {
        let directory = self.broker.directory();
        let account = directory.find(key).and_then(|id| directory.claimed(id));
        let imports = account
            .iter()
            .flat_map(|account| &account.claims.nats.imports);
        imports
            .map(|import| import.account.clone())
            .filter(|exporter| {
                let id = directory.find(exporter);
                id.is_none_or(|id| directory.claimed(id).is_none())
            })
            .collect()
    }

    /// Accounts that import from one that came or changed take over what they can now.
    fn refresh_importers(&mut self, now: Now, key: &str) {
        let importers: Vec<ClaimedAccount> = self
            .broker
            .directory()
            .claimed_accounts()
            .map(|(_, account)| account)
            .filter(|account| account.claims.subject != key && !account.is_deleted)
            .filter(|account| {
                let mut imports = account.claims.nats.imports.iter();
                imports.any(|import| import.account == key)
            })
            .cloned()
            .collect();
        for account in importers {
            if let Err(why) = self.broker.update_claims(now, account) {
                self.warn(format!(
                    "An account that imports from {key} is as before: {why}"
                ));
            }
        }
    }

    pub(super) fn warn(&mut self, text: String) {
        let level = Level::Warn;
        self.outputs.push_back(Output::Log { level, text });
    }
}
