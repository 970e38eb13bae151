//! What becomes of leafnodes that are dialled.
//! spec: nats-server v2.15.1 server/reload.go `leafNodeOption.Apply`

use super::applied::compression;
use super::{Changes, RemoteChange};
use crate::options::remote::Remote;
use crate::options::tls::HandshakeFirst;

pub(super) fn collect(old: &[Remote], new: &[Remote], changes: &mut Changes) {
    for gone in old.iter().filter(|a| !new.iter().any(|b| a.is_same(b))) {
        changes.remotes.push(RemoteChange::Removed(gone.clone()));
        changes.tell(gone, "removed");
    }
    for remote in new {
        let Some(before) = old.iter().find(|a| a.is_same(remote)) else {
            changes.remotes.push(RemoteChange::Added(remote.clone()));
            continue;
        };
        let toggled = Remote {
            disabled: remote.disabled,
            ..before.clone()
        };
        if before == remote {
            continue;
        }
        changes.remotes.push(if toggled == *remote {
            RemoteChange::Disabled(remote.clone())
        } else {
            RemoteChange::Redialled(remote.clone())
        });
        changes.compare(before, remote);
    }
}

impl Changes {
    fn compare(&mut self, before: &Remote, remote: &Remote) {
        let (was_first, is_first) = (tls_first(before), tls_first(remote));
        if was_first != is_first {
            let text = format!("TLS HandshakeFirst value is: {is_first}");
            self.tell(remote, &text);
        }
        if before.compression != remote.compression {
            let mode = compression(&remote.compression);
            self.tell(remote, &format!("Compression value is: {mode}"));
        }
        if before.disabled != remote.disabled {
            let text = format!("Disabled value is: {}", remote.disabled);
            self.tell(remote, &text);
        }
    }

    fn tell(&mut self, remote: &Remote, what: &str) {
        let text = format!("LeafNode Remote {} {what}", remote.name());
        self.remote_lines.push(text);
    }
}

fn tls_first(remote: &Remote) -> bool {
    let tls = remote.tls.as_ref();
    tls.is_some_and(|tls| tls.handshake_first != HandshakeFirst::No)
}
