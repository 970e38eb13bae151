use frond_clock::Now;

use super::{Arrival, Phase, Updater};
use crate::{Choice, Digest, Event, Origin, Refusal, Role, Sealed, Verified};

/// A good bundle that waits until something else is over.
#[derive(Debug)]
pub(super) struct Waiting {
    version: u64,
    bytes: Vec<u8>,
}

impl Updater {
    /// Something else is under way: what is good waits, one bundle of each origin.
    pub(super) fn arrive_busy(&mut self, now: Now, arrival: Arrival) {
        let Arrival { origin, bytes, ask } = arrival;
        if ask.is_some() {
            return self.answer(ask, Err(Refusal::Busy.to_string()));
        }
        let verified = match self.judge(now, origin, &bytes) {
            Ok(verified) => verified,
            Err(Refusal::InForce(_) | Refusal::WasInForce(_)) => return,
            Err(refusal) => {
                return self.refuse(origin, (None, digest_of(&bytes)), &refusal, None);
            }
        };
        if self.under_way() == Some(Choice::Bundle(verified.digest)) {
            return;
        }
        self.make_way(now, &verified);
        let version = verified.bundle.version;
        let before = self.waiting.get(&origin);
        if before.is_none_or(|before| before.version <= version) {
            self.waiting.insert(origin, Waiting { version, bytes });
        }
    }

    /// When it burns, nobody waits for a window to end.
    fn make_way(&mut self, now: Now, verified: &Verified) {
        if let Phase::Trying(trying) = &self.phase
            && verified.role == Role::Emergency
            && verified.bundle.version > trying.trial.candidate.entry.version
            && self.may_give_up()
        {
            self.give_up_trial(now, "a newer one by the emergency keys came");
        }
    }

    /// Nothing is under way: what waited is next.
    pub(super) fn go_on(&mut self, now: Now) {
        if let Some(ask) = self.rescue.take() {
            return self.try_rescue(now, ask);
        }
        let next = self
            .waiting
            .iter()
            .max_by_key(|(_, waiting)| waiting.version);
        if let Some(origin) = next.map(|(origin, _)| *origin)
            && let Some(Waiting { bytes, .. }) = self.waiting.remove(&origin)
        {
            let ask = None;
            self.arrive(now, Arrival { origin, bytes, ask });
        }
    }

    pub(super) fn refuse(
        &mut self,
        origin: Origin,
        (version, digest): (Option<u64>, Option<Digest>),
        refusal: &Refusal,
        ask: Option<u64>,
    ) {
        let why = refusal.to_string();
        self.answer(ask, Err(why.clone()));
        self.tell(Event::Refused {
            version,
            digest,
            origin,
            why,
        });
    }
}

/// Of a bundle that nobody vouches for.
pub(super) fn digest_of(bytes: &[u8]) -> Option<Digest> {
    Sealed::decode(bytes).ok().map(|sealed| sealed.digest())
}
