//! Streams of `forward` blocks that are not in the configuration any more.
//!
//! What is published here goes on to be kept in them, as its publishers are told, and to be
//! forwarded when the block comes back. What other boxes of the account say is not of this box,
//! with the block or without it.

use frond_config::Config;

use crate::Node;

/// That a stream was made by a block, as `frond-forward` writes it.
const SIGN: (&str, &str) = ("frond.forward", "from");

impl Node {
    /// Such streams hear nothing over the remotes of their account.
    pub(crate) fn deny_left_over(&self, config: &mut Config) {
        let Some(streams) = &self.streams else { return };
        let view = streams.machine.view();
        for account in view.accounts() {
            let has_remote = |it: &frond_config::Remote| it.account == account.name;
            if !config.leafnodes.remotes.iter().any(has_remote) {
                continue;
            }
            for stream in view.streams(account.tenant) {
                let sign = stream.config.metadata.get(SIGN.0);
                if sign.is_some_and(|it| it == SIGN.1) {
                    config.deny_kept(account.name, &stream.config.subjects);
                }
            }
        }
    }

    /// What the configuration denies, with that.
    pub(crate) fn deny_left_over_now(&mut self) {
        let mut config = self.config.clone();
        self.deny_left_over(&mut config);
        self.config = config;
    }
}
