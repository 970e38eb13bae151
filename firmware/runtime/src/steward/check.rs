//! Whether a start would succeed, without a start.

use std::net::ToSocketAddrs as _;

use frond_config::Config;
use frond_node::Node;

use super::difference;
use crate::core::Core;
use crate::options::{Options, plain};
use crate::{Product, check};

/// Everything `-t` checks, and what it doesn't: the ports that are not ours yet are free, and
/// certificates can be opened. Gives what would change.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn try_out(
    product: &Product,
    core: &Core,
    old: &Config,
    new: &Options,
) -> Result<Vec<String>, String> {
    if let Some(warning) = new.warnings.first() {
        return Err(warning.to_string());
    }
    let seed = check::seed(product, &new.config)?;
    Node::build(core.clock().now(), &new.config, seed)?;
    core.tls().load(&new.config)?;
    ports_are_free(Some(old), &new.config)?;
    data_stays(old, &new.config)?;
    Ok(difference::lines(old, &new.config))
}

/// What this box keeps is not left behind by a configuration from elsewhere: it would run well, and
/// everything would be gone.
pub(super) fn data_stays(old: &Config, new: &Config) -> Result<(), String> {
    let (old, new) = (&old.jetstream, &new.jetstream);
    if !old.enabled || !new.enabled || old.store_dir == new.store_dir {
        return Ok(());
    }
    let shown = |dir: &Option<String>| dir.clone().unwrap_or_else(|| "the default".to_owned());
    Err(format!(
        "jetstream store_dir would be {} instead of {}, and what this box keeps would stay there: \
         keep it, or move the data and change the box's own file by hand",
        shown(&new.store_dir),
        shown(&old.store_dir)
    ))
}

/// Those that `old` holds are ours.
pub(super) fn ports_are_free(old: Option<&Config>, new: &Config) -> Result<(), String> {
    let ours = old.map(difference::listeners).unwrap_or_default();
    for (name, at) in difference::listeners(new) {
        if ours.values().any(|own| *own == at) {
            continue;
        }
        let wrong = |why: String| format!("{name} cannot listen on {at}: {why}");
        bind(&at).map_err(wrong)?;
    }
    Ok(())
}

/// Binds and lets go. Port 0 is any free one.
fn bind(at: &str) -> Result<(), String> {
    let said = |error: std::io::Error| plain(&error);
    let found = at.to_socket_addrs().map_err(said)?;
    let at = crate::bind::pick(found).ok_or("no such host")?;
    crate::bind::listen(at, 1).map(drop).map_err(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_from_elsewhere_leaves_the_data_where_it_is() {
        let config = |jetstream: &str| {
            let text = format!("server_name: a\n{jetstream}\n");
            frond_config::load_text(&text, "x.conf", &frond_config::Nothing)
                .unwrap()
                .config
        };
        let old = config("jetstream { store_dir: \"/data\" }");
        for (new, stays) in [
            ("jetstream { store_dir: \"/data\", domain: shop }", true),
            ("", true),
            ("jetstream { store_dir: \"/other\" }", false),
            ("jetstream: enabled", false),
        ] {
            assert_eq!(data_stays(&old, &config(new)).is_ok(), stays, "{new}");
        }
        assert!(data_stays(&config(""), &old).is_ok());
    }
}
