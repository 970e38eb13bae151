use std::collections::BTreeMap;

use frond_broker::Level;
use frond_clock::Now;
use frond_config::{Config, Remote};

use crate::{Node, Output};

impl Node {
    /// Applies another configuration to the running server, whole or not at all. Clients that it
    /// does not concern stay connected.
    ///
    /// # Errors
    /// Why it is refused; then nothing changed.
    pub fn reload(
        &mut self,
        now: Now,
        new: &Config,
        credentials: BTreeMap<String, String>,
    ) -> Result<(), String> {
        let changes =
            frond_config::changes(&self.config, new).map_err(|refused| refused.to_string())?;
        frond_account::Directory::build(&crate::setup::plan(new), Some(self.broker.directory()))
            .map_err(|error| error.to_string())?;
        self.seed.credentials = credentials;
        let former = std::mem::replace(&mut self.config, new.clone());
        self.publish_facts(now);
        self.enable_accounts(now);
        self.reload_remotes(now, &former.leafnodes.remotes)?;
        for change in &changes.options {
            let text = format!("Reloaded: {change}");
            self.outputs.push_back(Output::Log {
                level: Level::Info,
                text,
            });
        }
        self.settle(now);
        Ok(())
    }

    /// Remotes that are gone or changed are cut, new ones are dialed, equal ones stay up.
    fn reload_remotes(&mut self, now: Now, former: &[Remote]) -> Result<(), String> {
        let wanted = self.config.leafnodes.remotes.clone();
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut self.remotes)
            .into_iter()
            .partition(|(remote, _)| wanted.contains(remote) && former.contains(remote));
        self.remotes = stay;
        for (_, link) in go {
            self.broker.detach(now, link);
        }
        for remote in wanted {
            if !self.remotes.iter().any(|(up, _)| *up == remote) {
                self.add_remote(now, remote)?;
            }
        }
        Ok(())
    }
}
