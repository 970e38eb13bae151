use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use frond_clock::Trust;
use frond_config::{Config, Tls};

use super::expiry::{Expiry, Notice, Step};
use crate::clock::pause;
use crate::core::Core;
use crate::limits::CERT_CHECK_EVERY;

/// What a file looked like: length and time of change, `None` when it is not there.
type Look = Option<(u64, SystemTime)>;
type Looks = BTreeMap<String, Look>;

/// Tells when files changed and have come to rest: of a certificate and its key, two files, one
/// is always written first.
#[derive(Debug, Default)]
struct Files {
    taken: Looks,
    last: Looks,
}

impl Files {
    /// Whether what is there now is to be read: it was the same at the last look, and is not what
    /// was read before.
    fn settled(&mut self, now: Looks) -> bool {
        let rests = now == self.last;
        self.last = now;
        let is_new = rests && self.last != self.taken;
        if is_new {
            self.taken.clone_from(&self.last);
        }
        is_new
    }
}

/// Reads certificates again when their files change, tells when they end, and notices when time
/// can be believed. Runs until the task is aborted.
pub(crate) async fn keep(core: Rc<Core>) {
    let mut files = Files::default();
    let looks = looks(&core);
    files.settled(looks.clone());
    files.settled(looks);
    let mut expiry = Expiry::default();
    let mut trust = Trust::Trusted;
    loop {
        let now = core.clock().now();
        trust = follow(&core, trust);
        for notice in expiry.look(now.wall, &core.tls().shown()) {
            tell(&notice);
        }
        pause(CERT_CHECK_EVERY).await;
        if files.settled(self::looks(&core)) {
            reread(&core);
        }
    }
}

/// New handshakes take what is in the files now; what is no good changes nothing.
fn reread(core: &Core) {
    let loaded = core.with_node(|node| core.tls().load(node.config()));
    match loaded {
        Ok(loaded) => {
            core.tls().replace(loaded);
            core.tell_cert_ends();
            tracing::info!("TLS certificates were read again");
        }
        Err(why) => tracing::error!("the changed TLS files are not used, the former stay: {why}"),
    }
}

/// Judges certificates by the time that counts, and once more when that becomes the system's.
fn follow(core: &Core, before: Trust) -> Trust {
    let trust = core.clock().trust();
    match (before, trust) {
        (_, Trust::Untrusted) => {
            let known = core.clock().now().wall.as_nanos().div_euclid(1_000_000_000);
            core.tls().season().distrust(known);
            if before == Trust::Trusted {
                tracing::warn!(
                    "the system's time is before a time that is past: it is not believed until it is set"
                );
            }
        }
        (Trust::Untrusted, Trust::Trusted) => {
            core.tls().season().trust();
            tracing::info!("the system's time is believed again");
            core.judge_again();
        }
        (Trust::Trusted, Trust::Trusted) => {}
    }
    trust
}

fn tell(notice: &Notice) {
    match notice.step {
        Step::Month | Step::Week => tracing::warn!("{}", notice.text),
        Step::Day | Step::Ended => tracing::error!("{}", notice.text),
    }
}

fn looks(core: &Core) -> Looks {
    let names = core.with_node(|node| names(node.config()));
    names
        .into_iter()
        .map(|name| (name.clone(), look(&name)))
        .collect()
}

fn look(path: &str) -> Look {
    let meta = std::fs::metadata(Path::new(path)).ok()?;
    Some((meta.len(), meta.modified().ok()?))
}

/// Every file that TLS is made of.
fn names(config: &Config) -> Vec<String> {
    let remotes = config.leafnodes.remotes.iter();
    let blocks = remotes
        .filter_map(|remote| remote.tls.as_ref())
        .chain(&config.tls)
        .chain(&config.leafnodes.tls)
        .chain(&config.websocket.tls);
    let files = |tls: &Tls| {
        let pairs = tls.certs.iter();
        let pairs = pairs.flat_map(|pair| [pair.cert_file.clone(), pair.key_file.clone()]);
        pairs.chain(tls.ca_file.clone()).collect::<Vec<_>>()
    };
    blocks.flat_map(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_once_they_rest_and_once_for_each_change() {
        let look = |n: u64| Looks::from([("c".to_owned(), Some((n, SystemTime::UNIX_EPOCH)))]);
        let mut files = Files::default();
        assert!(!files.settled(look(1)));
        assert!(files.settled(look(1)));
        assert!(!files.settled(look(1)));
        assert!(!files.settled(look(2)));
        assert!(!files.settled(look(3)));
        assert!(files.settled(look(3)));
        assert!(!files.settled(look(3)));
        // Gone for a moment and back as it was: nothing new.
        assert!(!files.settled(Looks::from([("c".to_owned(), None)])));
        assert!(!files.settled(look(3)));
        assert!(!files.settled(look(3)));
    }
}
