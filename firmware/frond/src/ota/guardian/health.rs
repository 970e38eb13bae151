use std::collections::BTreeSet;

use frond_clock::Now;
use frond_ota::{Check, Input, Origin};
use frond_runtime::steward::{Loud, Sight, Wish};

use super::Guardian;
use crate::ota::probe::STREAM;
use crate::ota::watch::Watch;

impl Guardian {
    /// Looks at everything that may be well or not.
    pub(super) fn look_around(&mut self, now: Now, on_trial: bool) {
        self.out.push_back(Wish::Look);
        self.looked.push_back(self.on_trial());
        self.report(now);
        if let Some(folder) = &self.folder {
            self.out.push_back(folder.look());
        }
        if !on_trial {
            return;
        }
        match &self.own_client {
            Ok(()) => self.begin_probe(now),
            Err(why) => {
                let why = format!("the box cannot log in at itself: {why}");
                for check in [Check::Probe, Check::Hub] {
                    self.health(now, self.on_trial(), check, Err(why.clone()));
                }
            }
        }
    }

    fn begin_probe(&mut self, now: Now) {
        let on_trial = self.on_trial();
        if self.probed == on_trial && self.probe.is_under_way(now.mono) {
            return;
        }
        let jetstream = self.sight.as_ref().is_some_and(|it| it.jetstream);
        let (before, wish) = self.probe.begin(now.mono, jetstream);
        self.out.push_back(wish);
        let of = core::mem::replace(&mut self.probed, on_trial);
        if before.is_err() {
            self.health(now, of, Check::Probe, before);
        }
    }

    pub(super) fn seen(&mut self, now: Now, sight: Sight) {
        // Looks are answered in order, and the line to what runs is one and the same.
        let of = self
            .looked
            .pop_front()
            .flatten()
            .filter(|of| self.on_trial() == Some(*of));
        let was_up = self.sight.as_ref().map_or(0, |it| it.uplinks_up);
        if sight.uplinks_up > was_up && self.own_client.is_ok() {
            self.begin_watch(now);
        }
        let uplink = if sight.uplinks_up > 0 {
            Ok(())
        } else {
            Err(format!("none of {} lines to a hub is up", sight.uplinks))
        };
        if sight.uplinks_up == 0 {
            let why = Err("the line to the hub is down".to_owned());
            self.health(now, of, Check::Hub, why);
        }
        let clients = self.clients(&sight);
        self.health(now, of, Check::Uplink, uplink);
        self.health(now, of, Check::Clients, clients);
        self.health(now, of, Check::Streams, stored(&sight));
        self.health(now, of, Check::Kept, self.kept(&sight));
        let listeners = sight.listeners.clone();
        self.health(now, of, Check::Listeners, listeners);
        self.sight = Some(sight);
        if let Some(choice) = self.to_start.take() {
            let needs = self.needs();
            self.updater_takes(now, Input::Checked(choice, Ok(needs)));
        }
    }

    /// At least half of the users that were there before are there again; after a start, when
    /// nobody knows who was there, anybody.
    fn clients(&self, sight: &Sight) -> Result<(), String> {
        let Some(before) = &self.before else {
            return if sight.clients.is_empty() {
                Err("no client is connected".to_owned())
            } else {
                Ok(())
            };
        };
        let again = before.intersection(&sight.clients).count();
        if again * 2 >= before.len() {
            return Ok(());
        }
        let missing: Vec<_> = before.difference(&sight.clients).take(5).cloned().collect();
        Err(format!(
            "{again} of {} users are there again, missing are {}",
            before.len(),
            missing.join(", ")
        ))
    }

    /// What must be well with a configuration: all that is well without it.
    pub(super) fn needs(&mut self) -> Vec<Check> {
        let mut needs = vec![Check::Listeners, Check::Probe];
        if self.sight.as_ref().is_some_and(|it| it.jetstream) {
            needs.push(Check::Streams);
        }
        let is_up = self.sight.as_ref().is_some_and(|it| it.uplinks_up > 0);
        if is_up || self.origin == Origin::Hub {
            needs.push(Check::Uplink);
            if !self.watches.is_empty() {
                needs.push(Check::Hub);
            }
        }
        let kept = self.sight.as_ref().map(streams_of).unwrap_or_default();
        if !kept.is_empty() {
            needs.push(Check::Kept);
        }
        self.kept_before = Some(kept);
        let clients = self.sight.as_ref().map(|it| it.clients.clone());
        let clients = clients.unwrap_or_default();
        if !clients.is_empty() {
            needs.push(Check::Clients);
        }
        self.before = Some(clients);
        needs
    }

    /// What of the streams that were there before is missing: users make and delete some at any
    /// time, but not all that an account has. After a start nobody knows which there were.
    fn kept(&self, sight: &Sight) -> Result<(), String> {
        let is = streams_of(sight);
        let Some(before) = &self.kept_before else {
            return if is.is_empty() {
                Err("none of the streams that were here is there".to_owned())
            } else {
                Ok(())
            };
        };
        still_there(before, &is)
    }

    pub(super) fn lost(&mut self, now: Now, why: String) {
        self.watches.iter_mut().for_each(Watch::end);
        if self.own_client.as_ref() != Err(&why) {
            let text = format!("ota: the box's own client is not connected: {why}");
            self.out.push_back(Wish::Say(Loud::Warn, text));
        }
        self.own_client = Err(why);
        // What it had asked for is not answered any more.
        self.probed = None;
        self.look_at = now.mono;
    }
}

type Streams = BTreeSet<(String, String)>;

fn stored(sight: &Sight) -> Result<(), String> {
    if sight.jetstream {
        return Ok(());
    }
    Err("JetStream is off, and was on before: nothing that is published is kept".to_owned())
}

/// The probe makes its own where it is not.
fn streams_of(sight: &Sight) -> Streams {
    let all = sight.streams.iter().filter(|(_, name)| name != STREAM);
    all.cloned().collect()
}

fn still_there(before: &Streams, is: &Streams) -> Result<(), String> {
    let accounts: BTreeSet<&str> = before.iter().map(|(account, _)| &**account).collect();
    for account in accounts {
        let mut all = before.iter().filter(|(of, _)| of == account);
        if !all.any(|it| is.contains(it)) {
            return Err(format!(
                "none of the streams that account {account} had is there"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(all: &[(&str, &str)]) -> Streams {
        let owned = |(account, name): &(&str, &str)| ((*account).to_owned(), (*name).to_owned());
        all.iter().map(owned).collect()
    }

    #[test]
    fn streams_come_and_go_but_not_all_of_an_account() {
        let before = streams(&[("A", "ORDERS"), ("A", "OTHER"), ("B", "ORDERS")]);
        let fewer = streams(&[("A", "OTHER"), ("B", "ORDERS"), ("C", "NEW")]);
        assert_eq!(still_there(&before, &fewer), Ok(()));
        assert_eq!(still_there(&streams(&[]), &fewer), Ok(()));
        // Another folder, or another account: streams of these names may even be made anew.
        for lost in [
            streams(&[]),
            streams(&[("A", "ORDERS"), ("A", "OTHER")]),
            streams(&[("A", "NEW"), ("B", "ORDERS")]),
        ] {
            assert!(still_there(&before, &lost).is_err(), "{lost:?}");
        }
    }
}
