use frond_clock::Now;

use super::waiting::digest_of;
use super::{Arrival, Arrived, Heal, Output, Phase, Stand, Then, Updater};
use crate::{
    Candidate, Choice, Digest, Entry, Event, File, Origin, Permit, Refusal, Sealed, Trust,
    Verified, verify,
};

impl Updater {
    pub(super) fn arrive(&mut self, now: Now, arrival: Arrival) {
        if !self.is_idle() {
            return self.arrive_busy(now, arrival);
        }
        if let Ok(sealed) = Sealed::decode(&arrival.bytes)
            && self.doubt.is_none()
        {
            let trust = self.trust.led_on(&sealed.roots);
            if trust.version() > self.trust.version() {
                return self.root(now, &trust, arrival);
            }
            if self.heals(&sealed) {
                return self.heal(now, sealed.digest(), arrival);
            }
        }
        let Arrival { origin, bytes, ask } = arrival;
        match self.judge(now, origin, &bytes) {
            Ok(verified) => self.check(now, origin, verified, bytes, ask),
            // What a bucket or a folder holds comes again with each start.
            Err(Refusal::InForce(_) | Refusal::WasInForce(_)) if origin != Origin::Hand => {}
            Err(refusal) => self.refuse(origin, (None, digest_of(&bytes)), &refusal, ask),
        }
    }

    /// Whether a bundle would be tried here.
    ///
    /// # Errors
    /// Why not.
    pub fn judge(&self, now: Now, origin: Origin, bytes: &[u8]) -> Result<Verified, Refusal> {
        if let Some(doubt) = self.doubt.as_ref().filter(|_| origin != Origin::Hand) {
            return Err(Refusal::InDoubt(doubt.clone()));
        }
        let (record, active) = (&self.record, &self.record.active);
        let judged = verify(bytes, &self.trust, &self.who, &self.bar(now, origin));
        let is_active = match &judged {
            Ok(verified) => active.choice == Choice::Bundle(verified.digest),
            Err(Refusal::Old { .. } | Refusal::Expired { .. }) => {
                let sealed = Sealed::decode(bytes);
                sealed.is_ok_and(|it| active.choice == Choice::Bundle(it.digest()))
            }
            Err(_) => false,
        };
        if is_active {
            return Err(Refusal::InForce(active.version));
        }
        if let Err(Refusal::Old { version, .. }) = judged
            && let Ok(sealed) = Sealed::decode(bytes)
        {
            let choice = Choice::Bundle(sealed.digest());
            if record.history.iter().any(|entry| entry.choice == choice) {
                return Err(Refusal::WasInForce(version));
            }
        }
        let verified = judged?;
        let is_permit = verified.bundle.downgrade_from.is_some();
        if is_permit && record.spent.contains(&verified.digest) {
            return Err(Refusal::Spent(verified.bundle.version));
        }
        match record.failure(Choice::Bundle(verified.digest)) {
            _ if origin == Origin::Hand => Ok(verified),
            Some(failure) => Err(Refusal::FailedBefore(failure.why.clone())),
            None if !is_permit && verified.bundle.version <= record.forgotten => {
                let why = format!("as did version {} since", record.forgotten);
                Err(Refusal::FailedBefore(why))
            }
            None => Ok(verified),
        }
    }

    /// Who signs from now on is kept whatever becomes of the bundle that tells it.
    fn root(&mut self, now: Now, trust: &Trust, arrival: Arrival) {
        let mut record = self.record.clone();
        record.roots = trust.kept();
        self.enter(now, Phase::Rooting(arrival));
        self.save(now, None, record, Then::Root);
    }

    pub(super) fn rooted(&mut self, now: Now, arrival: Arrival, result: Result<(), String>) {
        match result {
            Ok(()) => {
                let version = self.trust.version();
                self.tell(Event::Root { version });
                self.arrive(now, arrival);
            }
            Err(why) => {
                let digest = digest_of(&arrival.bytes);
                self.refuse(
                    arrival.origin,
                    (None, digest),
                    &Refusal::Unfit(why),
                    arrival.ask,
                );
            }
        }
    }

    /// Whether it is what is in force, which the disk has lost.
    fn heals(&self, sealed: &Sealed) -> bool {
        let is_active = self.record.active.choice == Choice::Bundle(sealed.digest());
        is_active && self.stand == Stand::Unread && self.trust.ever_allowed(&sealed.bundle)
    }

    /// It was confirmed before: it needs no trial.
    fn heal(&mut self, now: Now, digest: Digest, arrival: Arrival) {
        let file = (File::Bundle(digest), arrival.bytes);
        self.enter(now, Phase::Healing(Heal::ToWrite, arrival.ask));
        self.save(now, Some(file), self.record.clone(), Then::Heal);
    }

    pub(super) fn healed(&mut self, now: Now, ask: Option<u64>, result: Result<(), String>) {
        if let Err(why) = result {
            self.answer(ask, Err(why.clone()));
            return self.tell(Event::Disk { why });
        }
        let version = self.record.active.version;
        self.answer(ask, Ok(format!("version {version} is on the disk again")));
        self.enter(now, Phase::Healing(Heal::ToApply, None));
        self.out.push_back(Output::Apply(self.record.active.choice));
    }

    fn check(
        &mut self,
        now: Now,
        origin: Origin,
        verified: Verified,
        bytes: Vec<u8>,
        ask: Option<u64>,
    ) {
        let Verified {
            bundle,
            digest,
            trust,
            ..
        } = verified;
        let permit = bundle.downgrade_from.map(|_| Permit {
            new_floor: bundle.new_floor,
        });
        let entry = Entry {
            choice: Choice::Bundle(digest),
            version: bundle.version,
            at_s: bundle.issued_s,
            by: bundle.by.clone(),
            note: bundle.note.clone(),
        };
        let candidate = self.candidate(entry, origin, bundle.window_s, permit);
        let version = bundle.version;
        self.tell(Event::Received { version, origin });
        let wish = Output::Check(candidate.entry.choice, Some(Box::new(bundle)));
        self.out.push_back(wish);
        let arrived = Arrived {
            candidate,
            trust,
            bytes: Some((digest, bytes)),
            ask,
        };
        self.enter(now, Phase::Checking(arrived));
    }

    /// Tries again what is on the disk.
    pub(super) fn check_kept(&mut self, now: Now, entry: Entry, ask: Option<u64>) {
        self.out.push_back(Output::Check(entry.choice, None));
        let arrived = Arrived {
            candidate: self.candidate(entry, Origin::Hand, None, None),
            trust: self.trust.clone(),
            bytes: None,
            ask,
        };
        self.enter(now, Phase::Checking(arrived));
    }

    fn candidate(
        &self,
        entry: Entry,
        origin: Origin,
        window_s: Option<u32>,
        permit: Option<Permit>,
    ) -> Candidate {
        let window = self.settings.window(window_s);
        Candidate {
            entry,
            origin,
            window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
            permit,
        }
    }
}
