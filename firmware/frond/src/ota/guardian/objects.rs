use std::collections::VecDeque;

use data_encoding::{BASE64URL, BASE64URL_NOPAD, HEXLOWER};
use frond_clock::{Instant, Now};
use frond_config::Ota;
use frond_ota::limits::BUNDLE_BYTES_MAX;
use frond_ota::{Digest, Origin};
use frond_runtime::steward::{Letter, Loud, Wish};

use super::Guardian;
use crate::ota::hub::Hub;
use crate::ota::object::{About, Reading, Step};

/// Bundles in an object store of the hub, read one after another.
#[derive(Debug)]
pub(super) struct Objects {
    hub: Hub,
    store: String,
    inbox: String,
    count: u64,
    next: VecDeque<About>,
    under_way: Option<(About, Reading, Vec<u8>)>,
}

/// A name, its groups and everybody: more are not worth waiting for.
const WAITING_MAX: usize = 64;

impl Objects {
    pub(super) fn new(ota: &Ota, inbox: &str) -> Self {
        Self {
            hub: Hub::new(&ota.source),
            store: ota.source.objects.clone().unwrap_or_default(),
            inbox: format!("{inbox}.a.o"),
            count: 0,
            next: VecDeque::new(),
            under_way: None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let (_, reading, _) = self.under_way.as_ref()?;
        Some(reading.deadline())
    }

    /// The next one, if none is under way.
    fn begin(&mut self, now: Now) -> Option<Wish> {
        if self.under_way.is_some() {
            return None;
        }
        let about = self.next.pop_front()?;
        self.count += 1;
        let inbox = format!("{}.{}", self.inbox, self.count);
        let of = (self.store.as_str(), &about);
        let (reading, wish) = Reading::begin(now.mono, &self.hub, of, inbox);
        self.under_way = Some((about, reading, Vec::new()));
        Some(wish)
    }
}

impl Guardian {
    pub(super) fn object_told(&mut self, now: Now, said: &[u8]) {
        let Some(about) = About::parse(said) else {
            return;
        };
        let most = u64::try_from(BUNDLE_BYTES_MAX).unwrap_or(u64::MAX);
        if about.size > most || about.size == 0 {
            let size = about.size;
            return self.object_fails(&format!("it has {size} bytes, {most} are the most"));
        }
        self.objects.next.retain(|it| *it != about);
        if self.objects.next.len() < WAITING_MAX {
            self.objects.next.push_back(about);
        }
        self.out.extend(self.objects.begin(now));
    }

    pub(super) fn object_read(&mut self, now: Now, letter: &Letter) {
        let Some((about, reading, bytes)) = &mut self.objects.under_way else {
            return;
        };
        match reading.take(now.mono, letter) {
            Step::None => return,
            Step::Part(part, next) => {
                bytes.extend(part);
                if let Some(next) = next {
                    return self.out.push_back(next);
                }
                let is_whole = is_digest(&about.digest, bytes);
                let bytes = core::mem::take(bytes);
                self.objects.under_way = None;
                if is_whole {
                    self.arrives(now, Origin::Hub, bytes);
                } else {
                    self.object_fails("it is not what its store says");
                }
            }
            Step::Failed(why) => {
                self.objects.under_way = None;
                self.object_fails(&why);
            }
        }
        self.out.extend(self.objects.begin(now));
    }

    pub(super) fn object_on_time(&mut self, now: Now) {
        let Some((_, reading, _)) = &mut self.objects.under_way else {
            return;
        };
        if now.mono < reading.deadline() {
            return;
        }
        match reading.again(now.mono) {
            Ok(wish) => self.out.push_back(wish),
            Err(why) => {
                self.objects.under_way = None;
                self.object_fails(&why);
                self.out.extend(self.objects.begin(now));
            }
        }
    }

    fn object_fails(&mut self, why: &str) {
        let store = &self.objects.store;
        let text = format!("ota: an object of {store} is not read: {why}");
        self.out.push_back(Wish::Say(Loud::Warn, text));
    }
}

/// spec: ADR-20, the digest: URL-safe base64, with padding or without
fn is_digest(told: &str, bytes: &[u8]) -> bool {
    let Some(told) = told.strip_prefix("SHA-256=") else {
        return false;
    };
    let read = BASE64URL.decode(told.as_bytes());
    let read = read.or_else(|_| BASE64URL_NOPAD.decode(told.as_bytes()));
    read.is_ok_and(|told| HEXLOWER.encode(&told) == Digest::of(bytes).to_string())
}
