//! Changing the configuration of this box from elsewhere: what `frond_ota` decides, carried to
//! files, to the hub and to people.

#![expect(clippy::disallowed_methods, reason = "the shell is where files are")]

mod ask;
mod asked;
pub(crate) mod commands;
mod guardian;
mod hub;
mod identity;
mod offline;
mod probe;
mod report;
mod store;
mod watch;

use frond_config::{Ota, OtaKeys};
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
    }
}
