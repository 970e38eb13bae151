use std::time::Duration;

use frond_clock::{Instant, Now};
use frond_config::OtaWeb;
use frond_ota::limits::BUNDLE_BYTES_MAX;
use frond_ota::{Digest, Origin};
use frond_runtime::Download;
use frond_runtime::steward::{Brought, Loud, Wish};

use super::Guardian;

/// A web server that is asked now and then.
#[derive(Debug)]
pub(super) struct Web {
    download: Download,
    every: Duration,
    /// Boxes that start together do not ask together.
    spread: Duration,
    next: Option<Instant>,
    is_asking: bool,
    /// What came last.
    last: Option<Digest>,
    trouble: Option<String>,
}

/// How long a bundle may take on a slow line.
const TIME_MAX: Duration = Duration::from_secs(120);
/// The longest that a first question waits.
const SPREAD_MAX: Duration = Duration::from_secs(10);

impl Web {
    pub(super) fn new(web: &OtaWeb, device: &str) -> Self {
        let name = Digest::of(device.as_bytes()).to_string();
        let share = u32::from_str_radix(name.get(..2).unwrap_or_default(), 16).unwrap_or(0);
        Self {
            download: Download {
                url: web.url.replace("{device}", device),
                ca_file: web.ca_file.clone(),
                tag: None,
                bytes_max: u64::try_from(BUNDLE_BYTES_MAX).unwrap_or(u64::MAX),
                time_max: TIME_MAX,
            },
            every: web.every,
            spread: SPREAD_MAX.min(web.every) * share / 256,
            next: None,
            is_asking: false,
            last: None,
            trouble: None,
        }
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        if self.is_asking { None } else { self.next }
    }
}

impl Guardian {
    pub(super) fn web_on_time(&mut self, now: Now) {
        let Some(web) = &mut self.web else { return };
        let next = *web.next.get_or_insert(now.mono + web.spread);
        if web.is_asking || now.mono < next {
            return;
        }
        web.is_asking = true;
        self.out
            .push_back(Wish::Bring(0, web.download.clone(), None));
    }

    pub(super) fn brought(&mut self, now: Now, result: Result<Brought, String>) {
        let Some(web) = &mut self.web else { return };
        web.is_asking = false;
        web.next = Some(now.mono + web.every);
        match result {
            Ok(Brought::Bytes { tag, bytes }) => {
                web.trouble = None;
                web.download.tag = tag;
                let digest = Some(Digest::of(&bytes));
                if web.last != digest {
                    web.last = digest;
                    self.arrives(now, Origin::Web, bytes);
                }
            }
            Ok(Brought::Unchanged | Brought::File { .. }) => web.trouble = None,
            Err(why) => {
                if web.trouble.as_ref() != Some(&why) {
                    let text = format!("ota: the web server brings nothing: {why}");
                    self.out.push_back(Wish::Say(Loud::Info, text));
                    web.trouble = Some(why);
                }
            }
        }
    }
}
