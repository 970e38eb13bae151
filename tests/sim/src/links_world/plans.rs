//! What the servers of clusters read in their configuration.

use core::ops::Range;

use frond_clock::Rng;
use frond_config::{Config, Nothing, load_text};

use super::node::{GATEWAY_PORT, ROUTE_PORT, host};
use super::shape::{Place, pick};
use super::topics::ACCOUNTS;

/// What a server is told of other clusters.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    /// Clusters, and the servers of each that it may dial.
    pub(super) to: Vec<(usize, Vec<usize>)>,
}

/// For each server of a cluster what it is told of others. However little that is, all find each
/// other: who is dialed dials back, and each tells of those it knows.
pub(super) fn gates(clusters: &[Range<usize>], rng: &mut Rng) -> Vec<Option<Gates>> {
    let (way, only_first, one_url) = (pick(rng, 4), pick(rng, 4) == 0, pick(rng, 3) == 0);
    let of = |own: usize, number: usize| {
        let servers = &clusters[own];
        let others = 0..clusters.len();
        let to = match way {
            _ if only_first && number != servers.start => 0..0,
            // Its own is among them: one file may serve all.
            0 | 1 => others,
            2 => 0..own,
            _ => 0..usize::from(own > 0),
        };
        let urls = |cluster: usize| {
            let urls = clusters[cluster].clone();
            urls.take(if one_url { 1 } else { usize::MAX }).collect()
        };
        Gates {
            to: to.map(|cluster| (cluster, urls(cluster))).collect(),
        }
    };
    let several = clusters.len() > 1;
    let numbered = clusters.iter().enumerate();
    numbered
        .flat_map(|(own, servers)| servers.clone().map(move |number| (own, number)))
        .map(|(own, number)| several.then(|| of(own, number)))
        .collect()
}

/// As a server of a cluster is configured, with these rules for its routes.
pub(super) fn config(number: usize, place: &Place, rules: &str) -> Result<Config, String> {
    let Place::Hub {
        cluster,
        routes,
        pool_size,
        pins,
        is_named,
        gates,
    } = place
    else {
        return Err("a leafnode has no routes".to_owned());
    };
    let urls: Vec<String> = routes
        .iter()
        .map(|to| format!("\"nats-route://{}:{ROUTE_PORT}\"", host(*to)))
        .collect();
    let name = match is_named {
        true => format!("name: \"C{cluster}\""),
        false => String::new(),
    };
    let accounts = if *pins { ACCOUNTS[0] } else { "" };
    let gateway = gates.as_ref().map(|gates| block(number, *cluster, gates));
    let text = format!(
        "server_name: \"node{number}\"\n ping_interval: \"5s\"\n\
         cluster {{ {name}\n listen: \"{}:{ROUTE_PORT}\"\n routes: [{}]\n pool_size: {pool_size}\n \
         accounts: [{accounts}]\n compression: off\n ping_interval: \"5s\"\n {rules} }}\n{}",
        host(number),
        urls.join(", "),
        gateway.unwrap_or_default(),
    );
    let loaded = load_text(&text, "node.conf", &Nothing).map_err(|errors| errors.to_string())?;
    Ok(loaded.config)
}

fn block(number: usize, cluster: usize, gates: &Gates) -> String {
    let remotes = gates.to.iter().map(|(to, servers)| {
        let urls = servers
            .iter()
            .map(|to| format!("\"nats://{}:{GATEWAY_PORT}\"", host(*to)));
        let urls: Vec<_> = urls.collect();
        format!("{{ name: \"C{to}\", urls: [{}] }}", urls.join(", "))
    });
    let remotes: Vec<_> = remotes.collect();
    format!(
        "gateway {{ name: \"C{cluster}\"\n listen: \"{}:{GATEWAY_PORT}\"\n \
         connect_retries: 100000\n gateways: [{}] }}\n",
        host(number),
        remotes.join(", ")
    )
}
