//! Changing the configuration of this box from elsewhere: what `frond_ota` decides, carried to
//! files, to the hub and to people.

#![expect(clippy::disallowed_methods, reason = "the shell is where files are")]

mod ask;
mod asked;
pub(crate) mod commands;
mod guardian;
mod hub;
mod identity;
mod object;
mod offline;
mod probe;
mod report;
mod store;
mod watch;

use std::path::{Path, PathBuf};

use frond_config::{Config, Ota, OtaKeys};
use frond_ota::{Keys, Root};
use frond_runtime::steward::Steward;

use guardian::Guardian;

/// Who looks after the configuration, as the block says.
pub(crate) fn steward(ota: &Ota) -> Box<dyn Steward> {
    Box::new(Guardian::new(ota))
}

/// The root in the box's own file.
pub(crate) fn root(ota: &Ota) -> Root {
    let keys = |keys: &OtaKeys| Keys {
        threshold: keys.threshold,
        keys: keys.keys.clone(),
    };
    Root {
        version: ota.trust.version,
        root: keys(&ota.trust.root),
        release: keys(&ota.trust.release),
        emergency: keys(&ota.trust.emergency),
        hub: keys(&ota.trust.hub),
    }
}

/// Where the running frond is asked; `None`: nobody looks after its configuration.
pub(crate) fn control(config: &Config) -> Option<PathBuf> {
    let ota = config.ota.as_ref()?;
    Some(store::Store::new(&ota.store, ota.second.as_deref()).control())
}

/// The same as `frond config rescue`, for somebody who stands at the box.
///
/// # Errors
/// Why not.
pub(crate) fn rescue(control: Option<&Path>) -> Result<String, String> {
    let none = "there is no rescue configuration: write an ota block";
    let control = control.ok_or(none)?;
    let question = serde_json::json!({ "do": "rescue" });
    let answer = ask::ask(control, &question).ok_or("nobody looks after the configuration")?;
    answer.map(|said| said.as_str().unwrap_or_default().to_owned())
}
