//! Leafs of one name.

use frond_account::AccountId;
use frond_broker::{Level, LinkId, LinkPeer, Upcalls};
use frond_wire::encode;

/// Who else has attached the account from a server of this name, in a cluster of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Namesake {
    /// Nobody.
    None,
    /// The same server: it is back before its old connection was found dead.
    Former(LinkId),
    /// Another one, with its id: two that were made from one image, or the same one started anew.
    Other(LinkId, String),
}

/// Looks for one.
///
/// nats-server takes both for one server and closes the older connection, so that two servers of
/// one name close each other's for ever.
/// spec: nats-server v2.15.1 `addLeafNodeConnection` in server/leafnode.go
pub(super) fn namesake(account: AccountId, peer: &LinkPeer, up: &dyn Upcalls) -> Namesake {
    let own = up.link();
    let mut found = None;
    up.each_peer(&mut |link, bound, other| {
        let is_same = link != own
            && bound == account
            && !peer.name.is_empty()
            && !peer.remote_account.is_empty()
            && other.name == peer.name
            && other.cluster == peer.cluster
            && other.remote_account == peer.remote_account
            && !other.is_hub;
        if is_same && found.is_none() {
            found = Some((link, other.server_id.clone()));
        }
    });
    match found {
        None => Namesake::None,
        Some((old, id)) if id == peer.server_id => Namesake::Former(old),
        Some((old, id)) => Namesake::Other(old, id),
    }
}

/// The old connection goes.
pub(super) fn replace(old: LinkId, peer: &LinkPeer, up: &mut dyn Upcalls) {
    let name = &peer.name;
    up.log(
        Level::Warn,
        format!("leafnode: replacing the older connection of {name:?}"),
    );
    up.evict(old, DUPLICATE, DUPLICATE);
}

/// The first one stays; what to say of the second. The first is asked for a sign of life: if its
/// machine was started anew, its connection ends at once, and the second will be let in.
pub(super) fn stand_off(
    first: LinkId,
    first_id: &str,
    second: &LinkPeer,
    up: &mut dyn Upcalls,
) -> String {
    let mut ping = Vec::new();
    encode::ping(&mut ping);
    up.write_to(first, &ping);
    let place = |link| match up.address_of(link) {
        Some(peer) => peer.to_string(),
        None => "nowhere".to_owned(),
    };
    format!(
        "leafnode: two servers are called {:?}: {} at {}, which stays, and {} at {}, which is \
         refused; give each its own server_name",
        second.name,
        first_id,
        place(first),
        second.server_id,
        place(up.link()),
    )
}

pub(super) const DUPLICATE: &str = "Duplicate Remote LeafNode Connection";
