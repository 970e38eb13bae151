use std::time::{Duration, Instant};

use super::course::is_served;
use super::host::Host;
use super::{Hub, say};

/// Serves rollouts and the registry to other programs, for a hub that does not by itself.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    hub: Hub,
}

const TURN: Duration = Duration::from_secs(1);

impl Serve {
    /// Until the hub is gone.
    pub(super) fn run(&self) -> Result<(), String> {
        let mut caller = self.hub.connect()?;
        if is_served(&mut caller) {
            return Err("a fleet service runs at this hub already".to_owned());
        }
        let mut host = Host::begin(caller, &self.hub.places())?;
        host.catch_up()?;
        say(&format!(
            "the fleet is served: {} boxes are known",
            host.fleet().boxes().len()
        ));
        loop {
            host.turn(Instant::now() + TURN)?;
            for step in host.steps() {
                say(&step.text);
            }
        }
    }
}
