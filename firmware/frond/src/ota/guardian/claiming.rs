use std::path::Path;

use frond_clock::Now;
use frond_runtime::steward::{Loud, Wish};

use super::Guardian;
use crate::ota::identity::Identity;

impl Guardian {
    /// The box has a key of its own from its first start on.
    pub(super) fn be_somebody(&mut self, now: Now) {
        let now_s = u64::try_from(now.wall.as_nanos() / 1_000_000_000).unwrap_or(0);
        match Identity::of(Path::new(&self.ota.store)) {
            Ok(mut identity) => {
                identity.starts(now_s);
                let (key, code) = identity.shown();
                let code = code.map_or_else(String::new, |code| format!(", its code {code}"));
                let text = format!("ota: the key of this box is {key}{code}");
                self.out.push_back(Wish::Say(Loud::Info, text));
                self.identity = Some(identity);
            }
            Err(why) => {
                let text = format!("ota: this box has no key of its own: {why}");
                self.out.push_back(Wish::Say(Loud::Warn, text));
            }
        }
    }

    /// Somebody at the hub says that this box is theirs.
    pub(super) fn claimed(&mut self, now: Now, said: &[u8]) {
        let Some(identity) = &mut self.identity else {
            return;
        };
        match identity.claimed(&self.ota.device, said) {
            Ok(false) => {}
            Ok(true) => {
                let text = "ota: this box is claimed by its hub".to_owned();
                self.out.push_back(Wish::Say(Loud::Info, text));
                self.report(now);
            }
            Err(why) => self
                .out
                .push_back(Wish::Say(Loud::Warn, format!("ota: {why}"))),
        }
    }
}
