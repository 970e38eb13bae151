//! What the boot state keeps of releases: the one on trial, the highest that was confirmed, and the
//! last one that was given up. Decides, and does nothing.

use frond_slot::limits::CONFIRMED_TRIES;
use frond_slot::{BootState, Slot};

/// The highest version that was confirmed.
const FLOOR: &str = "FROND_FLOOR";
/// What was well when the trial began.
const NEEDS: &str = "FROND_NEEDS";
/// The version on trial.
const TRIAL: &str = "FROND_TRIAL";
/// The version that was tried last and was not good.
const FAILED: &str = "FROND_FAILED";

/// What was well before the slot that runs, when that one was never confirmed.
pub(crate) fn trial(state: &BootState, running: Slot) -> Option<String> {
    let is_on_trial = state.others.contains_key(TRIAL) && state.first == running;
    is_on_trial.then(|| state.others.get(NEEDS).cloned().unwrap_or_default())
}

/// The highest version that was in force here.
pub(crate) fn floor(state: &BootState) -> Option<u64> {
    number(state, FLOOR)
}

/// The version that was tried and not good: as was found at its start, or because the loader had no
/// start left for it.
pub(crate) fn given_up(state: &BootState, running: Slot) -> Option<u64> {
    let left = number(state, TRIAL)
        .filter(|_| trial(state, running).is_none() && !is_next(state, running.other()));
    left.or_else(|| number(state, FAILED))
}

/// The slot that doesn't run is written anew from now on: it must not be started, and what runs is
/// not on trial for it.
pub(crate) fn spoil(state: &mut BootState, slot: Slot) {
    let failed = given_up(state, slot.other());
    state.spoil(slot);
    end(state, failed);
}

/// The slot was filled: it starts next, on trial.
pub(crate) fn begin(state: &mut BootState, slot: Slot, version: u64, needs: &str) {
    state.try_slot(slot);
    let all = &mut state.others;
    all.insert(TRIAL.to_owned(), version.to_string());
    all.insert(NEEDS.to_owned(), needs.to_owned());
}

/// The slot that runs is the one from now on, and nothing older is taken; whether that is new. One
/// that was filled meanwhile keeps its trial.
pub(crate) fn confirm(state: &mut BootState, slot: Slot, version: u64) -> bool {
    if is_next(state, slot.other()) {
        return false;
    }
    let failed = given_up(state, slot).filter(|failed| *failed > version);
    let floor = number(state, FLOOR);
    let is_new = state.others.contains_key(TRIAL) || floor.is_none_or(|floor| floor < version);
    let is_full = state.tries(slot).0 == CONFIRMED_TRIES;
    if !is_new && state.first == slot && is_full {
        return false;
    }
    state.confirm(slot);
    end(state, failed);
    if is_new {
        let floor = version.max(floor.unwrap_or(0));
        state.others.insert(FLOOR.to_owned(), floor.to_string());
    }
    true
}

/// The slot that runs is not good: the other one starts next.
pub(crate) fn give_up(state: &mut BootState, slot: Slot, version: u64) {
    state.give_up(slot);
    end(state, Some(version));
}

/// Whether that slot was filled and starts next.
pub(crate) fn is_next(state: &BootState, slot: Slot) -> bool {
    state.others.contains_key(TRIAL) && state.first == slot && state.tries(slot).0 > 0
}

fn end(state: &mut BootState, failed: Option<u64>) {
    let all = &mut state.others;
    all.retain(|name, _| ![TRIAL, NEEDS, FAILED].contains(&name.as_str()));
    all.extend(failed.map(|version| (FAILED.to_owned(), version.to_string())));
}

fn number(state: &BootState, name: &str) -> Option<u64> {
    state.others.get(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmed(version: u64) -> BootState {
        let mut state = BootState::default();
        assert!(confirm(&mut state, Slot::A, version));
        state
    }

    #[test]
    fn what_the_box_goes_back_to_is_not_written_over() {
        let mut state = confirmed(1);
        assert_eq!(trial(&state, Slot::A), None);
        begin(&mut state, Slot::B, 2, "health");
        assert_eq!(trial(&state, Slot::B).as_deref(), Some("health"));
        // It was given up by the loader: the old one runs, and takes the next.
        assert_eq!(trial(&state, Slot::A), None);
    }

    #[test]
    fn what_was_given_up_is_remembered_until_something_newer_is_good() {
        let mut state = confirmed(1);
        begin(&mut state, Slot::B, 2, "");
        assert_eq!(given_up(&state, Slot::B), None);
        give_up(&mut state, Slot::B, 2);
        assert_eq!(given_up(&state, Slot::A), Some(2));
        // The old one is found well at its start, as at each.
        state.set_tries(Slot::A, 8);
        assert!(confirm(&mut state, Slot::A, 1));
        assert_eq!(given_up(&state, Slot::A), Some(2));
        assert_eq!(floor(&state), Some(1));
        begin(&mut state, Slot::B, 3, "");
        assert!(confirm(&mut state, Slot::B, 3));
        assert_eq!(given_up(&state, Slot::B), None);
        assert_eq!(floor(&state), Some(3));
    }

    #[test]
    fn what_the_loader_gave_up_is_remembered_too() {
        let mut state = confirmed(1);
        begin(&mut state, Slot::B, 2, "");
        state.set_tries(Slot::B, 0);
        // Before the old one is found well, and after.
        assert_eq!(given_up(&state, Slot::A), Some(2));
        assert!(confirm(&mut state, Slot::A, 1));
        assert_eq!(given_up(&state, Slot::A), Some(2));
        assert_eq!(state.first, Slot::A);
    }

    #[test]
    fn what_runs_is_not_on_trial_while_the_next_is_written() {
        let mut state = confirmed(1);
        begin(&mut state, Slot::B, 2, "");
        state.set_tries(Slot::B, 0);
        // The loader went back, the old one was not found well yet, and the next update comes.
        spoil(&mut state, Slot::B);
        assert_eq!(trial(&state, Slot::A), None);
        assert_eq!(given_up(&state, Slot::A), Some(2));
        assert_eq!(state.first, Slot::A);
    }

    #[test]
    fn who_is_found_well_late_leaves_an_update_its_trial() {
        let mut state = confirmed(1);
        state.set_tries(Slot::A, 8);
        begin(&mut state, Slot::B, 2, "");
        let before = state.clone();
        assert!(!confirm(&mut state, Slot::A, 1));
        assert_eq!(state, before);
        assert_eq!(given_up(&state, Slot::A), None);
    }

    #[test]
    fn what_is_taken_although_it_was_given_up_may_be_good_now() {
        let mut state = confirmed(1);
        begin(&mut state, Slot::B, 2, "");
        give_up(&mut state, Slot::B, 2);
        begin(&mut state, Slot::B, 2, "");
        assert_eq!(given_up(&state, Slot::A), Some(2));
        assert!(confirm(&mut state, Slot::B, 2));
        assert_eq!(given_up(&state, Slot::B), None);
    }
}
