use std::collections::{BTreeMap, BTreeSet};

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::{BOXES_MAX, LEAF_LOST_SECONDS, LEAF_SAVE_SECONDS, STATUS_BYTES_MAX};
use crate::{Boxes, words};

/// A server that has a line to this hub and says nothing of itself: a nats-server, or a box without
/// an `ota` block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leaf {
    /// As it calls itself.
    pub name: String,
    /// The account its line is in.
    pub account: String,
    /// Where it was seen to come from.
    pub address: String,
    /// The server of the hub that it has its line to.
    pub hub: String,
    /// How long a sign of life takes there and back, in the hub's words.
    pub rtt: String,
    /// When its line was last seen to be up, in seconds since 1970.
    pub seen_s: i64,
}

/// All such lines that ever were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaves {
    known: BTreeMap<String, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    leaf: Leaf,
    /// When that was last written down.
    saved_s: i64,
}

/// In front of their keys, which boxes' names cannot have.
const PREFIX: &str = "leaf.";

impl Leaves {
    /// Whether a key of the registry is of one.
    pub(crate) fn is_key(key: &str) -> bool {
        key.starts_with(PREFIX)
    }

    /// What was kept of one; empty: it was taken off the list.
    pub(crate) fn take(&mut self, key: &str, said: &[u8]) {
        if said.is_empty() {
            self.known.remove(key);
            return;
        }
        let Ok(leaf) = serde_json::from_slice::<Leaf>(said) else {
            return;
        };
        let leaf = leaf.cleaned();
        if said.len() > STATUS_BYTES_MAX || key_of(&leaf) != key || self.is_full(key) {
            return;
        }
        let saved_s = leaf.seen_s;
        let known = self.known.entry(key.to_owned()).or_default();
        known.saved_s = saved_s;
        if leaf.seen_s >= known.leaf.seen_s {
            known.leaf = leaf;
        }
    }

    /// Lines that a server of the hub has now; what is to be written down of them.
    pub(crate) fn see(&mut self, lines: Vec<Leaf>) -> Vec<(String, Vec<u8>)> {
        let mut news = Vec::new();
        for leaf in lines {
            let key = key_of(&leaf);
            if leaf.name.is_empty() || self.is_full(&key) {
                continue;
            }
            let known = self.known.entry(key.clone()).or_default();
            known.leaf = leaf;
            if known.leaf.seen_s - known.saved_s >= LEAF_SAVE_SECONDS {
                known.saved_s = known.leaf.seen_s;
                let said = serde_json::to_vec(&known.leaf).unwrap_or_default();
                news.push((key, said));
            }
        }
        news
    }

    fn is_full(&self, key: &str) -> bool {
        self.known.len() >= BOXES_MAX && !self.known.contains_key(key)
    }

    /// Those of them that are no boxes, by their names.
    pub(crate) fn plain<'a>(&'a self, boxes: &'a Boxes) -> impl Iterator<Item = &'a Leaf> {
        let servers = boxes.iter().flat_map(|(name, known)| {
            let server = known.status.server.as_deref();
            [Some(name), server].into_iter().flatten()
        });
        let servers: BTreeSet<&str> = servers.collect();
        let leaves = self.known.values().map(|known| &known.leaf);
        leaves.filter(move |leaf| !servers.contains(leaf.name.as_str()))
    }
}

impl Leaf {
    /// Whether its line is up.
    #[must_use]
    pub const fn is_up(&self, now_s: i64) -> bool {
        now_s - self.seen_s <= LEAF_LOST_SECONDS
    }

    /// What a server of the hub says of its lines when it is asked for `LEAFZ`. Lines on which it
    /// is itself the leaf are none.
    #[must_use]
    pub fn read(now_s: i64, said: &[u8]) -> Vec<Self> {
        let said: Value = serde_json::from_slice(said).unwrap_or_default();
        let hub = said.pointer("/server/name").and_then(Value::as_str);
        let leafs = said.pointer("/data/leafs").and_then(Value::as_array);
        let read = |it: &Value| {
            let word = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default();
            let is_ours = it.get("is_spoke").and_then(Value::as_bool) == Some(true);
            (!is_ours).then(|| Self {
                name: word("name").to_owned(),
                account: word("account").to_owned(),
                address: word("ip").to_owned(),
                hub: hub.unwrap_or_default().to_owned(),
                rtt: word("rtt").to_owned(),
                seen_s: now_s,
            })
        };
        let leafs = leafs.into_iter().flatten().filter_map(read);
        leafs.map(Self::cleaned).collect()
    }

    /// Servers call themselves what they like.
    fn cleaned(self) -> Self {
        Self {
            name: words::clean(&self.name),
            account: words::clean(&self.account),
            address: words::clean(&self.address),
            hub: words::clean(&self.hub),
            rtt: words::clean(&self.rtt),
            seen_s: self.seen_s,
        }
    }
}

/// Of a name and an account: one server may have a line for each of several accounts.
fn key_of(leaf: &Leaf) -> String {
    let both = format!("{}\n{}", leaf.name, leaf.account);
    format!("{PREFIX}{}", BASE64URL_NOPAD.encode(both.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &[u8] = br#"{"server":{"name":"hub-1"},"data":{"leafs":[
        {"name":"shop 1","account":"$G","ip":"10.0.0.7","rtt":"1ms","is_spoke":false},
        {"name":"till-7","account":"$G","is_spoke":false},
        {"name":"head","account":"$G","is_spoke":true}]}}"#;

    fn names(leaves: &Leaves, boxes: &Boxes) -> Vec<String> {
        leaves.plain(boxes).map(|it| it.name.clone()).collect()
    }

    #[test]
    fn lines_are_known_for_good_and_boxes_are_not_listed_twice() {
        let mut leaves = Leaves::default();
        let lines = Leaf::read(1000, SAID);
        assert_eq!((lines.len(), &*lines[0].hub), (2, "hub-1"));
        let first = leaves.see(lines);
        assert_eq!(first.len(), 2);
        assert!(
            leaves
                .see(Leaf::read(1000 + LEAF_SAVE_SECONDS - 1, SAID))
                .is_empty()
        );
        assert_eq!(
            leaves.see(Leaf::read(1000 + LEAF_SAVE_SECONDS, SAID)).len(),
            2
        );
        // Who comes after another one reads what that one kept.
        let mut later = Leaves::default();
        for (key, said) in &first {
            assert!(Leaves::is_key(key), "{key}");
            later.take(key, said);
        }
        let mut boxes = Boxes::new(300);
        assert_eq!(names(&later, &boxes), ["shop 1", "till-7"]);
        boxes.take("box-9", 1, br#"{"server":"shop 1"}"#);
        boxes.take("till-7", 1, b"{}");
        assert_eq!(names(&later, &boxes), [""; 0]);
        boxes.forget("till-7");
        assert_eq!(names(&later, &boxes), ["till-7"]);
        later.take(&first[1].0, b"");
        assert_eq!(names(&later, &boxes), [""; 0]);
    }

    #[test]
    fn a_line_is_up_until_it_is_not_seen_for_a_while() {
        let lines = Leaf::read(1000, SAID);
        assert!(lines[0].is_up(1000 + LEAF_LOST_SECONDS));
        assert!(!lines[0].is_up(1001 + LEAF_LOST_SECONDS));
        let mut leaves = Leaves::default();
        leaves.take("leaf.x", b"{\"name\":\"junk\"}");
        leaves.take("leaf.y", b"junk");
        assert_eq!(names(&leaves, &Boxes::new(1)), [""; 0]);
        assert_eq!(Leaf::read(1, b"junk"), []);
    }
}
