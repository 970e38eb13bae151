//! What clients talk about.

use frond_clock::Rng;

use super::shape::pick;

/// Accounts; also the names of their users in small letters.
pub(super) const ACCOUNTS: [&str; 2] = ["A", "B"];

pub(super) const SUBJECTS: [&str; 5] = ["a.b", "a.c", "b.c", "c.d.e", "x.y"];

/// Limited clients neither publish here nor receive.
pub(super) const CLIENTS_MAY_NOT: &str = "c.";

/// Limited leafnodes neither.
pub(super) const LEAFS_MAY_NOT: &str = "x.";

const FILTERS: [&str; 11] = [
    "a.b", "a.*", "a.>", "a.c", "b.c", "*.c", ">", "c.>", "c.*.e", "x.y", "x.*",
];

const QUEUES: [Option<&str>; 4] = [None, None, Some("q1"), Some("q2")];

pub(super) fn random_subject(rng: &mut Rng) -> &'static str {
    SUBJECTS[pick(rng, SUBJECTS.len())]
}

pub(super) fn random_filter(rng: &mut Rng) -> &'static str {
    FILTERS[pick(rng, FILTERS.len())]
}

pub(super) fn random_queue(rng: &mut Rng) -> Option<&'static str> {
    QUEUES[pick(rng, QUEUES.len())]
}
