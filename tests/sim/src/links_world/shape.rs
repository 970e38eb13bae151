use core::ops::Range;
use std::collections::BTreeSet;

use frond_clock::Rng;

use super::plans::Gates;
use super::topics::{ACCOUNTS, LEAFS_MAY_NOT};

/// Which servers there are, and who is to find whom.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// By their numbers: first those of the clusters, then leafnodes.
    pub(super) nodes: Vec<Place>,
    /// How many are of a cluster.
    pub(super) hubs: usize,
    /// The servers of each.
    pub(super) clusters: Vec<Range<usize>>,
}

/// What one server is told of the others.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// One of a cluster.
    Hub {
        /// Which one.
        cluster: usize,
        /// Servers to dial, perhaps itself.
        routes: Vec<usize>,
        /// As configured: -1 is no pool.
        pool_size: i64,
        /// Whether the first account has a connection of its own.
        pins: bool,
        /// Whether the cluster's name is given.
        is_named: bool,
        /// The other clusters, when there are any.
        gates: Option<Gates>,
    },
    /// A leafnode.
    Leaf {
        /// The servers of its remotes.
        parents: Vec<usize>,
        /// The accounts that it has a remote for.
        accounts: Vec<&'static str>,
        /// Whether its users may not speak of everything.
        is_limited: bool,
    },
}

impl Shape {
    pub(super) fn random(rng: &mut Rng) -> Self {
        let count = 2 + pick(rng, 5);
        let hubs = 1 + pick(rng, count);
        let clusters = split(hubs, rng);
        let gates = super::plans::gates(&clusters, rng);
        let mut nodes = Vec::new();
        for (number, servers) in clusters.iter().enumerate() {
            nodes.extend(cluster(number, servers, &gates, rng));
        }
        for number in hubs..count {
            nodes.push(leaf(number, hubs, rng));
        }
        Self {
            nodes,
            hubs,
            clusters,
        }
    }

    /// Which cluster a server is of.
    pub(super) fn cluster_of(&self, node: usize) -> Option<usize> {
        let mut clusters = self.clusters.iter();
        clusters.position(|servers| servers.contains(&node))
    }

    /// How many connections for messages two servers of a cluster have, and how many for one
    /// account alone.
    pub(super) fn routes_between(&self, one: usize, other: usize) -> (usize, usize) {
        let of = |node: usize| match &self.nodes[node] {
            Place::Hub {
                pool_size, pins, ..
            } => (*pool_size, *pins),
            Place::Leaf { .. } => (-1, false),
        };
        let ((size, pins), (others_size, others_pins)) = (of(one), of(other));
        match size.min(others_size) {
            -1 => (1, 0),
            _ => {
                let pinned = 1 + usize::from(pins && others_pins);
                (size.max(others_size) as usize, pinned)
            }
        }
    }

    /// Whether servers of a cluster disagree about which of their connections is whose: then
    /// messages may overtake interest.
    pub(super) fn has_odd_pools(&self) -> bool {
        self.clusters.iter().any(|servers| {
            let sizes = servers.clone().filter_map(|node| match &self.nodes[node] {
                Place::Hub { pool_size, .. } => Some(*pool_size),
                Place::Leaf { .. } => None,
            });
            sizes.collect::<BTreeSet<_>>().len() > 1
        })
    }

    /// Whether an account's messages on `subject` of one server are for another.
    pub(super) fn reaches(&self, account: &str, subject: &str, from: usize, to: usize) -> bool {
        self.island(account, subject, from) == self.island(account, subject, to)
    }

    /// Whether no leafnode keeps `subject` from anybody.
    pub(super) fn is_open(&self, subject: &str) -> bool {
        let limits = |place: &Place| matches!(place, Place::Leaf { is_limited, .. } if *is_limited);
        !subject.starts_with(LEAFS_MAY_NOT) || !self.nodes.iter().any(limits)
    }

    /// The topmost server that an account's messages get to: for all clusters the same.
    fn island(&self, account: &str, subject: &str, mut node: usize) -> usize {
        loop {
            match &self.nodes[node] {
                Place::Hub { .. } => return 0,
                Place::Leaf { is_limited, .. }
                    if *is_limited && subject.starts_with(LEAFS_MAY_NOT) =>
                {
                    return node;
                }
                Place::Leaf {
                    parents, accounts, ..
                } if accounts.contains(&account) => {
                    node = parents[0];
                }
                Place::Leaf { .. } => return node,
            }
        }
    }
}

/// Some clusters, each at least one server.
fn split(hubs: usize, rng: &mut Rng) -> Vec<Range<usize>> {
    let count = 1 + pick(rng, hubs.min(3));
    let mut ends: Vec<usize> = (1..count).map(|_| 1 + pick(rng, hubs)).collect();
    ends.push(hubs);
    ends.sort_unstable();
    ends.dedup();
    let starts = core::iter::once(0).chain(ends.clone());
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// How the servers of a cluster know of each other is one of four ways; all become a full mesh.
fn cluster(
    cluster: usize,
    servers: &Range<usize>,
    gates: &[Option<Gates>],
    rng: &mut Rng,
) -> Vec<Place> {
    let way = pick(rng, 4);
    let pool_size = random_pool(rng);
    let (pool_differs, names) = (pick(rng, 3) == 0, pick(rng, 4));
    let pins = pick(rng, 3) == 0;
    let (first, count) = (servers.start, servers.len());
    let hub = |number: usize| {
        let routes = match way {
            0 => servers.clone().collect(),
            1 => vec![first],
            2 => vec![number.saturating_sub(1).max(first)],
            _ => vec![first + (number - first + 1) % count, number],
        };
        let gates = gates[number].clone();
        Place::Hub {
            cluster,
            routes,
            pool_size: if pool_differs {
                random_pool(rng)
            } else {
                pool_size
            },
            pins,
            is_named: match names {
                _ if gates.is_some() => true,
                0 => false,
                1 => pick(rng, 2) == 0,
                _ => true,
            },
            gates,
        }
    };
    servers.clone().map(hub).collect()
}

fn random_pool(rng: &mut Rng) -> i64 {
    [-1, 1, 2, 3, 3][pick(rng, 5)]
}

/// A leafnode of one or two servers of clusters, or of another leafnode.
fn leaf(number: usize, hubs: usize, rng: &mut Rng) -> Place {
    let parent = pick(rng, number);
    let mut parents = vec![parent];
    let second = pick(rng, hubs);
    if parent < hubs && second != parent && pick(rng, 2) == 0 {
        parents.push(second);
    }
    let accounts = match pick(rng, 4) {
        0 => vec![ACCOUNTS[0]],
        1 => vec![ACCOUNTS[1]],
        _ => ACCOUNTS.to_vec(),
    };
    Place::Leaf {
        parents,
        accounts,
        is_limited: pick(rng, 3) == 0,
    }
}

pub(super) fn pick(rng: &mut Rng, of: usize) -> usize {
    rng.below(of as u64) as usize
}
