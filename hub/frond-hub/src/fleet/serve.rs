use std::path::PathBuf;
use std::time::{Duration, Instant};

use frond_config::OtaLogin;

use super::course::is_served;
use super::host::Host;
use super::{Hub, say, secret, shown};

/// Serves rollouts and the registry to other programs, for a hub that does not by itself.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    hub: Hub,
    /// A user of the hub's system account, to list leafs that say nothing of themselves
    #[arg(long, value_name = "NAME")]
    system_user: Option<String>,
    /// File with that user's password
    #[arg(long, value_name = "FILE")]
    system_password_file: Option<PathBuf>,
    /// File with that user's JWT and seed
    #[arg(long, value_name = "FILE")]
    system_creds: Option<PathBuf>,
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
        if self.system_user.is_some() || self.system_creds.is_some() {
            let system = OtaLogin {
                user: self.system_user.clone(),
                password: secret(self.system_password_file.as_deref())?,
                credentials: self.system_creds.as_deref().map(shown),
                ..OtaLogin::default()
            };
            host.look_at(self.hub.connect_as(&system)?);
        }
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
