//! Where each side keeps its JetStream to itself, and what an operator reads of it.

use frond_account::AccountId;
use frond_broker::{LinkPeer, ServerFacts, Upcalls};

use crate::gate::{Gate, JETSTREAM_CLUSTER_DENIED, JETSTREAM_DENIED};

/// What never crosses a link because each side has its own JetStream.
/// An account with an empty default domain reaches whoever answers, the system account then nobody.
/// spec: nats-server v2.15.1 `addLeafNodeConnection` in server/leafnode.go
pub(crate) fn deny_jetstream(
    gate: &mut Gate,
    up: &dyn Upcalls,
    account: AccountId,
    peer_domain: &str,
) {
    let (own, system) = (up.server(), up.is_system(account));
    let empty = up.has_empty_domain(account);
    if empty && !system {
        return;
    }
    let own_domain = own.domain.as_deref().unwrap_or_default();
    let apart = empty || are_apart(own, peer_domain);
    if !system || apart {
        gate.deny_sending(JETSTREAM_DENIED);
        gate.deny_receiving(JETSTREAM_DENIED);
    }
    if system && apart {
        gate.deny_sending(JETSTREAM_CLUSTER_DENIED);
        gate.deny_receiving(JETSTREAM_CLUSTER_DENIED);
    }
    if apart && own.jetstream && !own_domain.is_empty() {
        gate.deny_sending([format!("$JS.{own_domain}.API.>")]);
    }
}

/// What [`deny_jetstream`] means for who uses streams, in words; `None` when there are none on
/// either side, or nothing is denied.
pub(crate) fn border(up: &dyn Upcalls, account: AccountId, peer_domain: &str) -> Option<String> {
    let (own, name) = (up.server(), up.account_name(account));
    let own_domain = own.domain.as_deref().unwrap_or_default();
    let has_streams = up.has_jetstream(account) || !peer_domain.is_empty();
    if up.is_system(account) || up.has_empty_domain(account) || !has_streams {
        return None;
    }
    let denied = JETSTREAM_DENIED.join(", ");
    let mut text = format!("leafnode: account {name:?}: {denied} stay on their own side");
    if peer_domain.is_empty() {
        text.push_str("; the other side has no JetStream domain, so its streams can't be reached from here: give it one");
    } else if peer_domain == own_domain {
        text.push_str(&format!(
            "; both sides have the JetStream domain {own_domain:?}, so neither can reach the other's streams: give each its own"
        ));
    } else {
        text.push_str(&format!(
            "; the other side's streams are reached as $JS.{peer_domain}.API.> (nats --js-domain {peer_domain})"
        ));
    }
    if own.jetstream && !own_domain.is_empty() && own_domain != peer_domain {
        text.push_str(&format!(
            ", and $JS.{own_domain}.API.> from there is $JS.API.> here"
        ));
    }
    Some(text)
}

/// Whether the sides' JetStreams are two: their domains differ, or there is no telling.
fn are_apart(own: &ServerFacts, peer_domain: &str) -> bool {
    let own_domain = own.domain.as_deref().unwrap_or_default();
    own_domain != peer_domain || (!own.jetstream && own_domain.is_empty())
}

/// The lines of nats-server about that.
///
/// spec: nats-server v2.15.1 server/leafnode.go `addLeafNodeConnection`
pub(crate) fn domain_lines(
    up: &dyn Upcalls,
    account: AccountId,
    peer: &LinkPeer,
    peer_domain: &str,
) -> Vec<String> {
    let (own, system) = (up.server(), up.is_system(account));
    let empty = up.has_empty_domain(account);
    if empty && !system {
        return Vec::new();
    }
    let own_domain = own.domain.as_deref().unwrap_or_default();
    let apart = empty || are_apart(own, peer_domain);
    let server = match peer.cluster.as_str() {
        "" => peer.name.clone(),
        cluster => format!("{}/{cluster}", peer.name),
    };
    let mut lines = Vec::new();
    if empty {
        lines.push(format!(
            "Not extending remote JetStream domain {peer_domain:?} due to presence of empty default domain"
        ));
    }
    match (system, apart) {
        (true, true) => lines.extend([
            format!("System account connected from {server}"),
            "JetStream not extended, domains differ".to_owned(),
        ]),
        (true, false) => lines.push(format!(
            "Extending JetStream domain {peer_domain:?} as System Account connected from server {server}"
        )),
        (false, true) => lines.push(format!(
            "JetStream using domains: local {own_domain:?}, remote {peer_domain:?}"
        )),
        (false, false) => {}
    }
    lines
}
