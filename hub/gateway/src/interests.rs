use std::collections::HashMap;

use frond_account::AccountId;
use frond_broker::{InterestChange, LinkKind, Source};
use frond_wire::encode;

/// What the other cluster has been told that ours wants: how many subscribers stand behind each
/// filter of each account, wherever in the cluster they are.
///
/// A filter is told when the first comes and when the last goes, of queue groups as well.
/// spec: nats-server v2.15.1 server/gateway.go `gatewayUpdateSubInterest`
#[derive(Debug, Default)]
pub(crate) struct Interests {
    /// By filter and queue group; counts are above zero.
    counts: HashMap<AccountId, HashMap<Box<str>, i64>>,
}

impl Interests {
    /// Counts, and tells when it has to be known; `name` is the account's.
    pub(crate) fn update(&mut self, name: &str, change: &InterestChange<'_>, out: &mut Vec<u8>) {
        if !is_told(change) {
            return;
        }
        let counts = self.counts.entry(change.account).or_default();
        let key = match change.queue {
            Some(queue) => format!("{} {queue}", change.subject),
            None => change.subject.to_owned(),
        };
        let before = counts.get(key.as_str()).copied().unwrap_or(0);
        let after = (before + i64::from(change.delta)).max(0);
        if after == 0 {
            counts.remove(key.as_str());
        } else {
            counts.insert(key.into(), after);
        }
        if before == 0 && after > 0 {
            let queue = change.queue.map(|queue| (queue, 1));
            encode::route_sub(out, Some(name), None, change.subject, queue);
        } else if before > 0 && after == 0 {
            encode::route_unsub(out, Some(name), None, change.subject, change.queue);
        }
    }
}

/// Whether a subscriber belongs to this cluster, and messages from others may be for it.
pub(crate) fn is_told(change: &InterestChange<'_>) -> bool {
    match change.source {
        _ if change.stays_here => false,
        Source::Client(_) | Source::Internal => true,
        Source::Link { is_hub: true, .. }
        | Source::Link {
            kind: LinkKind::Gateway,
            ..
        } => false,
        Source::Link {
            kind: LinkKind::Leaf | LinkKind::Route,
            ..
        } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_broker::LinkId;

    fn link(kind: LinkKind, is_hub: bool) -> Source {
        let link = LinkId(1);
        Source::Link { link, kind, is_hub }
    }

    fn told(interests: &mut Interests, words: &str, source: Source, delta: i32) -> String {
        let mut words = words.split(' ');
        let change = InterestChange {
            account: AccountId(3),
            subject: words.next().unwrap(),
            queue: words.next(),
            source,
            origin_cluster: None,
            stays_here: false,
            delta,
        };
        let mut out = Vec::new();
        interests.update("A", &change, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cluster_tells_each_filter_once_whoever_in_it_wants_it() {
        let mut interests = Interests::default();
        let client = Source::Client(frond_broker::Conn(1));
        let route = link(LinkKind::Route, false);
        let said: Vec<_> = [
            ("f", client, 1),
            ("f", route, 1),
            ("f q", route, 3),
            ("f q", client, 1),
            ("f", client, -1),
            ("f q", route, -3),
            ("f", route, -1),
            ("f q", client, -1),
        ]
        .map(|(words, source, delta)| told(&mut interests, words, source, delta))
        .into();
        let expected = [
            "RS+ A f\r\n",
            "",
            "RS+ A f q 1\r\n",
            "",
            "",
            "",
            "RS- A f\r\n",
            "RS- A f q\r\n",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn what_other_clusters_and_hubs_want_is_not_told() {
        let mut interests = Interests::default();
        for source in [link(LinkKind::Gateway, false), link(LinkKind::Leaf, true)] {
            assert_eq!(told(&mut interests, "f", source, 1), "");
        }
        let leaf = link(LinkKind::Leaf, false);
        assert_eq!(told(&mut interests, "f", leaf, 1), "RS+ A f\r\n");
    }
}
