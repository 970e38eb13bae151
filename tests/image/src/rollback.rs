use std::path::Path;
use std::time::Duration;

use imager::Profile;
use interop::{Kind, Server, Setup, free_port};

use crate::{Release, Update};

/// This machine as the guest sees it.
const HOST: &str = "10.0.2.2";

/// Brings a box that has a line to a hub a release that is no good, without a human; how long after
/// the start the old one runs again. The release is not tried a second time.
///
/// # Panics
/// When it does not, or for another reason than the release's own.
#[must_use]
pub fn roll_back(profile: &Profile, image: &Path, bundle: &Path, kind: Release) -> Duration {
    let port = free_port();
    let hub = format!(
        "listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n\
         jetstream {{ store_dir: \"$DIR/js\" }}\n"
    );
    let _hub = Server::start(Kind::Real, &Setup::config(&hub));
    let config = format!(
        "listen: \"0.0.0.0:4222\"\nhttp: \"127.0.0.1:8222\"\n\
         jetstream {{ store_dir: /data/frond, domain: box }}\n\
         leafnodes {{ remotes: [ {{ url: \"nats://{HOST}:{port}\" }} ] }}\n"
    );
    let update = Update::new(profile, image, bundle, Some(&config));
    let mut guest = update.start();
    let (seen, why) = match kind {
        Release::Good => panic!("a good release is not taken back"),
        Release::Crashing => ("slot B, version 2", "the slot is given up: frond ended"),
        Release::Lineless => ("slot B, version 2", "the slot is given up: uplink: "),
        // Three starts, then none is left; nothing of it says a word.
        Release::Dead => ("frond: slot B, A has", "frond: slot B, A has"),
    };
    guest.wait_to_say(seen, 1);
    guest.wait_to_say(why, 1);
    let console = guest.wait_to_say("slot A, version 1", 2);
    assert!(console.contains("version 2 starts next"), "{console}");
    if kind == Release::Dead {
        assert_eq!(console.matches(seen).count(), 3, "{console}");
    }
    let age = guest.age();
    guest.wait_to_say("frond serves", 2);
    // The stick is still in it: once is enough.
    guest.wait_to_say("version 2 was given up here", 1);
    age
}
