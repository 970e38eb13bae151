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
    /// Such streams hear nothing over the remotes of their account. Anybody may write the sign into
    /// a stream of his own: what a line lives by stays open whatever it says.
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
                    let subjects = stream.config.subjects.iter();
                    let subjects: Vec<String> =
                        subjects.filter(|it| may_close(it)).cloned().collect();
                    config.deny_kept(account.name, &subjects);
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

/// Whether nothing on a line depends on what is published there.
fn may_close(subject: &str) -> bool {
    const LIVED_BY: [&str; 5] = ["_INBOX.>", "_R_.>", "$JS.>", "$SYS.>", "$FROND.>"];
    !LIVED_BY
        .iter()
        .any(|it| frond_subject::overlaps(it, subject))
}

#[cfg(test)]
mod tests {
    use super::may_close;

    #[test]
    fn what_a_line_lives_by_is_closed_by_no_stream() {
        for open in [
            "_INBOX.>",
            "_INBOX.a",
            ">",
            "*.>",
            "$JS.hub.API.>",
            "$FROND.OTA.>",
        ] {
            assert!(!may_close(open), "{open}");
        }
        assert!(may_close("orders.>") && may_close("$KV.shop.>"));
    }
}
