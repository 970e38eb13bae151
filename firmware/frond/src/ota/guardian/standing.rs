use frond_clock::Now;
use frond_ota::{Entry, Record, State, Updater};
use frond_runtime::steward::{Configuration, Outcome, Step, Version};

/// Where the configuration stands, for the status page.
pub(super) fn standing(now: Now, updater: &Updater) -> Configuration {
    let record = updater.record();
    let on_trial = record.trial().map(|it| it.candidate.entry.version);
    let failed = latest_failure(record);
    let left = updater.trial().map(|(_, _, until)| until.since(now.mono));
    Configuration {
        version: record.active.version,
        step: step(record),
        pending: on_trial.or(failed).unwrap_or_default(),
        left_s: left.map(|it| it.as_secs()),
        history: history(record),
        ..Configuration::default()
    }
}

fn step(record: &Record) -> Step {
    match &record.state {
        State::Staged(_) => Step::Staging,
        State::Trying(_) => Step::Trying,
        State::Idle if is_rescue(record) => Step::Rescue,
        State::Idle if latest_failure(record).is_some() => Step::RolledBack,
        State::Idle => Step::Settled,
    }
}

/// Something newer was in force, and what always works has taken its place.
pub(crate) fn is_rescue(record: &Record) -> bool {
    let active = &record.active;
    active.choice == record.rescue.choice && active.version < record.floor.version
}

/// What failed since the one in force was confirmed.
fn latest_failure(record: &Record) -> Option<u64> {
    let latest = record.failures.first().map(|it| it.version);
    latest.filter(|it| *it > record.active.version)
}

fn history(record: &Record) -> Vec<Version> {
    let failed = record
        .failures
        .first()
        .filter(|it| it.version > record.active.version);
    let failed = failed.map(|it| Version {
        version: it.version,
        outcome: Outcome::TakenBack,
        note: it.why.clone(),
        at_ms: 0,
    });
    let active = version(&record.active, Outcome::InForce);
    let before = record
        .history
        .iter()
        .map(|it| version(it, Outcome::Replaced));
    failed.into_iter().chain([active]).chain(before).collect()
}

fn version(entry: &Entry, outcome: Outcome) -> Version {
    let note = match (&*entry.by, &*entry.note) {
        ("", note) => note.to_owned(),
        (by, "") => by.to_owned(),
        (by, note) => format!("{by}: {note}"),
    };
    Version {
        version: entry.version,
        outcome,
        note,
        at_ms: entry.at_s.saturating_mul(1000),
    }
}

#[cfg(test)]
mod tests {
    use frond_ota::{Choice, Digest, Failure, Floor};

    use super::*;

    fn entry(version: u64) -> Entry {
        Entry {
            choice: match version {
                0 => Choice::Factory,
                other => Choice::Bundle(Digest::of(&other.to_be_bytes())),
            },
            version,
            at_s: 7,
            by: "ann".into(),
            note: String::new(),
        }
    }

    #[test]
    fn what_is_in_force_leads_and_failures_count_until_something_newer_holds() {
        let mut record = Record {
            active: entry(7),
            history: vec![entry(6)],
            floor: Floor { set: 0, version: 7 },
            ..Record::default()
        };
        assert_eq!(step(&record), Step::Settled);
        record.failures.push(Failure {
            choice: entry(8).choice,
            version: 8,
            why: "the hub was not reached".into(),
        });
        assert_eq!(step(&record), Step::RolledBack);
        let told: Vec<_> = history(&record)
            .iter()
            .map(|it| (it.version, it.outcome))
            .collect();
        let expected = [
            (8, Outcome::TakenBack),
            (7, Outcome::InForce),
            (6, Outcome::Replaced),
        ];
        assert_eq!(told, expected);
        record.active = entry(9);
        assert_eq!(step(&record), Step::Settled);
    }

    #[test]
    fn the_own_file_is_a_rescue_only_where_something_newer_was() {
        let fresh = Record::default();
        assert_eq!(step(&fresh), Step::Settled);
        let rescued = Record {
            floor: Floor { set: 0, version: 7 },
            ..Record::default()
        };
        assert_eq!(step(&rescued), Step::Rescue);
    }
}
