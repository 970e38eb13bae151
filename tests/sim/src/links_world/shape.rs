use frond_clock::Rng;
use frond_config::{Nothing, load_text};
use frond_route::Plan;

use super::node::{ROUTE_PORT, host};
use super::topics::ACCOUNTS;

/// Which servers there are, and who is to find whom.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// By their numbers: first those of the cluster, then leafnodes.
    pub(super) nodes: Vec<Place>,
    /// How many are of the cluster.
    pub(super) hubs: usize,
}

/// What one server is told of the others.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// One of a cluster.
    Hub {
        /// Servers to dial, perhaps itself.
        routes: Vec<usize>,
        /// As configured: -1 is no pool.
        pool_size: i64,
        /// Whether the first account has a connection of its own.
        pins: bool,
        /// Whether the cluster's name is given.
        is_named: bool,
    },
    /// A leafnode.
    Leaf {
        /// The servers of its remotes.
        parents: Vec<usize>,
        /// The accounts that it has a remote for.
        accounts: Vec<&'static str>,
    },
}

impl Shape {
    pub(super) fn random(rng: &mut Rng) -> Self {
        let count = 2 + pick(rng, 5);
        let hubs = 1 + pick(rng, count);
        let mut nodes = cluster(hubs, rng);
        for number in hubs..count {
            nodes.push(leaf(number, hubs, rng));
        }
        Self { nodes, hubs }
    }

    /// Whether a server is of the cluster.
    pub(super) const fn is_hub(&self, node: usize) -> bool {
        node < self.hubs
    }

    /// How many connections for messages two servers of the cluster have, and how many for one
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

    /// Whether an account's messages of one server are for another.
    pub(super) fn reaches(&self, account: &str, from: usize, to: usize) -> bool {
        self.island(account, from) == self.island(account, to)
    }

    /// The topmost server that an account's messages get to: for all of the cluster the same.
    fn island(&self, account: &str, mut node: usize) -> usize {
        loop {
            match &self.nodes[node] {
                Place::Hub { .. } => return 0,
                Place::Leaf { parents, accounts } if accounts.contains(&account) => {
                    node = parents[0];
                }
                Place::Leaf { .. } => return node,
            }
        }
    }
}

/// How the servers of the cluster know of each other is one of four ways; all become a full mesh.
fn cluster(hubs: usize, rng: &mut Rng) -> Vec<Place> {
    let way = pick(rng, 4);
    let pool_size = random_pool(rng);
    let (pool_differs, names) = (pick(rng, 3) == 0, pick(rng, 4));
    let pins = pick(rng, 3) == 0;
    let hub = |number: usize| {
        let routes = match way {
            0 => (0..hubs).collect(),
            1 => vec![0],
            2 => vec![number.saturating_sub(1)],
            _ => vec![(number + 1) % hubs, number],
        };
        Place::Hub {
            routes,
            pool_size: if pool_differs {
                random_pool(rng)
            } else {
                pool_size
            },
            pins,
            is_named: match names {
                0 => false,
                1 => pick(rng, 2) == 0,
                _ => true,
            },
        }
    };
    (0..hubs).map(hub).collect()
}

fn random_pool(rng: &mut Rng) -> i64 {
    [-1, 1, 2, 3, 3][pick(rng, 5)]
}

/// A leafnode of one or two servers of the cluster, or of another leafnode.
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
    Place::Leaf { parents, accounts }
}

pub(super) fn pick(rng: &mut Rng, of: usize) -> usize {
    rng.below(of as u64) as usize
}

/// What a server of the cluster reads in its configuration.
pub(super) fn plan(number: usize, place: &Place) -> Result<Plan, String> {
    let Place::Hub {
        routes,
        pool_size,
        pins,
        is_named,
    } = place
    else {
        return Err("a leafnode has no routes".to_owned());
    };
    let urls: Vec<String> = routes
        .iter()
        .map(|to| format!("\"nats-route://{}:{ROUTE_PORT}\"", host(*to)))
        .collect();
    let name = if *is_named { "name: \"C\"" } else { "" };
    let accounts = if *pins { ACCOUNTS[0] } else { "" };
    let text = format!(
        "cluster {{ {name}\n listen: \"{}:{ROUTE_PORT}\"\n routes: [{}]\n pool_size: {pool_size}\n \
         accounts: [{accounts}]\n compression: off\n ping_interval: \"5s\" }}",
        host(number),
        urls.join(", "),
    );
    let loaded = load_text(&text, "node.conf", &Nothing).map_err(|errors| errors.to_string())?;
    Ok(Plan::configured(&loaded.config, Some("$SYS"), ROUTE_PORT))
}
