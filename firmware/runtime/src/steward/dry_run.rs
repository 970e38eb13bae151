use std::path::Path;

use frond_node::Node;

use super::{Text, check, difference};
use crate::Product;
use crate::cli::Cli;
use crate::clock::Clock;
use crate::options::Options;

/// Everything a start with `new` would check, without a server that runs: `old` is what is in
/// force, and `path` the box's own file. Gives what would change.
///
/// # Errors
/// The first thing that is wrong.
pub fn dry_run(
    product: &Product,
    path: &Path,
    old: &Text,
    new: &Text,
) -> Result<Vec<String>, String> {
    let cli = Cli {
        config: Some(path.to_owned()),
        ..Cli::default()
    };
    let read = |text| {
        let options = Options::read(&cli, false, text).map_err(|error| error.to_string())?;
        crate::check::abilities(product, &options.config)?;
        Ok::<_, String>(options)
    };
    let (old, new) = (read(old)?, read(new)?);
    if let Some(warning) = new.warnings.first() {
        return Err(warning.to_string());
    }
    let seed = crate::check::seed(product, &new.config)?;
    Node::build(Clock::start(None, Vec::new()).now(), &new.config, seed)?;
    check::ports_are_free(None, &new.config)?;
    check::data_stays(&old.config, &new.config)?;
    Ok(difference::lines(&old.config, &new.config))
}
