use frond_clock::Now;
use frond_ota::{Check, Input, Origin};
use frond_runtime::steward::{Letter, Loud, Wish};

use super::Guardian;
use crate::ota::probe::Step;
use crate::ota::watch::Told;

impl Guardian {
    pub(super) fn begin_watch(&mut self, now: Now) {
        for watch in &mut self.watches {
            self.out.extend(watch.begin(now.mono));
        }
    }

    pub(super) fn read(&mut self, now: Now, letter: &Letter) {
        for at in 0..self.watches.len() {
            let taken = self.watches.get_mut(at).map(|it| it.take(now.mono, letter));
            let (told, said) = taken.unwrap_or_default();
            let said = said.map(|said| Wish::Say(Loud::Info, format!("ota: {said}")));
            self.out.extend(said);
            match told {
                Some(Told::Bundle(bytes)) => return self.arrives(now, Origin::Hub, bytes),
                Some(Told::Claim(said)) => return self.claimed(now, &said),
                Some(Told::Confirmation(said)) => return self.promised(now, &said),
                Some(Told::Object(said)) => return self.object_told(now, &said),
                None => {}
            }
        }
        if let Some((of, result)) = self.reporter.take(letter) {
            let result = result.and_then(|()| self.is_promised(of));
            return self.health(now, of, Check::Hub, result);
        }
        self.object_read(now, letter);
        match self.probe.take(letter) {
            Step::None => {}
            Step::Say(wish) => self.out.push_back(wish),
            Step::Over(result) => self.health(now, self.probed, Check::Probe, result),
        }
    }

    pub(super) fn arrives(&mut self, now: Now, origin: Origin, bytes: Vec<u8>) {
        let ask = None;
        self.updater_takes(now, Input::Bundle { origin, bytes, ask });
    }
}
