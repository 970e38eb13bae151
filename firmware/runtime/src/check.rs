use std::collections::BTreeMap;

use frond_config::{Abilities, Config, Source};
use frond_node::NodeSeed;

use crate::Product;
use crate::attend::Part;
use crate::claims_dir::ClaimsDir;
use crate::limits::STRANGERS_MAX;
use crate::options::System;
use crate::space::{memory_bytes, raise_open_files};
use crate::tls::Contexts;

/// Whether this binary has the kinds of peers that the configuration asks for: at a start, a check
/// and a reload.
///
/// # Errors
/// What it has not, with the place in the file.
pub(crate) fn abilities(product: &Product, config: &Config) -> Result<(), String> {
    let links = (product.links)();
    let may = Abilities {
        cluster: links.cluster.is_some(),
        gateway: links.gateway.is_some(),
        appliance: product.attends(Part::Field),
        fleet: product.attends(Part::Fleet),
    };
    let able = config.check_abilities(product.name, may);
    able.map_err(|errors| errors.to_string())?;
    match &product.attend {
        Some(attendance) => (attendance.check)(config),
        None => Ok(()),
    }
}

/// What a start needs besides the configuration, and the checks that need it: the files it
/// names, and what this binary can do. `-t` makes the same.
///
/// # Errors
/// What is wrong, and what to do.
pub(crate) fn seed(product: &Product, config: &Config) -> Result<NodeSeed, String> {
    let links = (product.links)();
    if config.leafnodes.listen.is_some() && links.accept.is_none() {
        let text = format!(
            "leafnodes: {} dials a hub and accepts no leafnodes; run frond-hub, or take `listen` and `port` out of the block",
            product.name
        );
        return Err(config.wrong(&["leafnodes", "leaf"], text).to_string());
    }
    Contexts::default().load(config)?;
    for remote in &config.leafnodes.remotes {
        (links.solicit)(remote, &config.leafnodes)?;
    }
    let jwts = read_jwts(config)?;
    Ok(NodeSeed {
        random: random()?,
        links,
        outboxes_bytes_max: usize::try_from(memory_bytes() / 4).unwrap_or(usize::MAX),
        memory_bytes_max: usize::try_from(memory_bytes() / 2).unwrap_or(usize::MAX),
        strangers_max: STRANGERS_MAX.min(raise_open_files() / 2),
        jwts,
    })
}

/// The credentials files of remotes that cannot be read: their links try again with each dial.
///
/// spec: nats-server v2.15.1 server/leafnode.go `solicitLeafNodeRemotes`
pub(crate) fn missing_credentials(config: &Config) -> Vec<String> {
    let remotes = config.leafnodes.remotes.iter();
    let paths = remotes.filter_map(|remote| remote.credentials.as_ref());
    let wrong = paths.filter_map(|path| {
        let why = System.read(path).err()?;
        Some(format!(
            "Error reading LeafNode Remote Credentials file {path:?}: {why}"
        ))
    });
    wrong.collect()
}

/// As an error of each.
pub(crate) fn tell_missing_credentials(config: &Config) {
    for text in missing_credentials(config) {
        tracing::error!("{text}");
    }
}

/// The account JWTs in the resolver's directory.
///
/// # Errors
/// When the directory cannot be used, or the operators' own JWTs are no good.
pub(crate) fn read_jwts(config: &Config) -> Result<BTreeMap<String, String>, String> {
    let Some(dir) = claims_dir(config)? else {
        return Ok(BTreeMap::new());
    };
    dir.read()
        .map_err(|error| format!("cannot read the resolver's directory: {error}"))
}

/// Where account JWTs are kept.
pub(crate) fn claims_dir(config: &Config) -> Result<Option<ClaimsDir>, String> {
    let authority = frond_node::authority(config).map_err(|errors| errors.to_string())?;
    ClaimsDir::of(config, &authority).map_err(|errors| errors.to_string())
}

fn random() -> Result<[u8; 32], String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|error| format!("the system gives no randomness: {error}"))?;
    Ok(random)
}
