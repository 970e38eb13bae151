//! Streams of `forward` blocks that are not in the configuration any more.
//!
//! What is published here goes on to be kept in them, as its publishers are told, and to be
//! forwarded when the block comes back. What other boxes of the account say is not of this box,
//! with the block or without it.

use frond_config::Config;
use frond_jetstream::StreamView;

use crate::Node;

/// That a stream was made by a block, as `frond-forward` writes it.
const SIGN: (&str, &str) = ("frond.forward", "from");

/// An account, a stream of it, and its subjects.
type Block = (String, String, Vec<String>);

impl Node {
    /// Remembers which streams the configuration makes.
    pub(crate) fn note_forwards(&mut self) {
        let blocks: Vec<Block> = self
            .config
            .forwards
            .iter()
            .filter_map(|it| {
                let account = self.config.remote_of(it)?.account.clone();
                Some((account, it.name.clone(), it.subjects.clone()))
            })
            .collect();
        let signed = self.signed_streams();
        if let Some(streams) = &mut self.streams {
            streams.machine.note_forwarded(&blocks, &signed);
        }
    }

    /// Streams that say that a block made them, as versions before this one knew them.
    fn signed_streams(&self) -> Vec<Block> {
        let mut all = Vec::new();
        let Some(streams) = &self.streams else {
            return all;
        };
        let view = streams.machine.view();
        for account in view.accounts() {
            let signed = view.streams(account.tenant).filter(|it| is_signed(it));
            all.extend(signed.map(|it| {
                let subjects = it.config.subjects.iter().filter(|it| may_close(it));
                (
                    account.name.to_owned(),
                    it.config.name.clone(),
                    subjects.cloned().collect(),
                )
            }));
        }
        all
    }

    /// Such streams hear nothing over the remotes of their account: those of blocks that were in the
    /// configuration once, for anybody may write the sign into a stream of his own.
    pub(crate) fn deny_left_over(&self, config: &mut Config) {
        let Some(streams) = &self.streams else { return };
        let view = streams.machine.view();
        for account in view.accounts() {
            let has_remote = |it: &frond_config::Remote| it.account == account.name;
            if !config.leafnodes.remotes.iter().any(has_remote) {
                continue;
            }
            for stream in view.streams(account.tenant) {
                let made_for = streams.machine.forwarded(account.name, &stream.config.name);
                if let Some(subjects) = made_for.filter(|_| is_signed(&stream)) {
                    config.deny_kept(account.name, subjects);
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

fn is_signed(stream: &StreamView<'_>) -> bool {
    let sign = stream.config.metadata.get(SIGN.0);
    sign.is_some_and(|it| it == SIGN.1)
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
