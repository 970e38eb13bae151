//! What clients talk about, and what may cross the line: written down, not computed, so that
//! it is an opinion of its own.

use frond_account::{Permissions, SubjectRules};
use frond_clock::Rng;

/// Which of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum End {
    Leaf,
    Hub,
}

impl End {
    pub(super) const BOTH: [Self; 2] = [Self::Leaf, Self::Hub];

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Leaf => Self::Hub,
            Self::Hub => Self::Leaf,
        }
    }

    pub(super) const fn letter(self) -> char {
        match self {
            Self::Leaf => 'L',
            Self::Hub => 'H',
        }
    }
}

/// A subject, and whether its messages may cross towards the leaf and towards the hub.
const SUBJECTS: [(&str, bool, bool); 9] = [
    ("a.b", true, true),
    ("a.c", true, true),
    ("b.c", true, true),
    ("no.down", false, true),
    ("no.up", true, false),
    ("imp.x", false, true),
    ("exp.x", true, false),
    ("$KV.k", false, false),
    ("$JS.API.INFO", false, false),
];

/// A filter, and whether the leaf tells the hub of it and the hub the leaf.
const FILTERS: [(&str, bool, bool); 14] = [
    ("a.b", true, true),
    ("a.*", true, true),
    ("a.>", true, true),
    ("a.c", true, true),
    ("b.c", true, true),
    ("*.c", true, true),
    (">", true, true),
    ("*.down", true, true),
    ("no.down", false, true),
    ("no.up", true, false),
    ("imp.x", false, true),
    ("exp.x", true, true),
    ("$KV.k", false, false),
    ("$JS.API.>", false, false),
];

/// The permissions of the leaf's user at the hub.
pub(super) fn leaf_permissions() -> Permissions {
    let deny = |filter: &str| SubjectRules {
        allow: Vec::new(),
        deny: vec![filter.into()],
    };
    Permissions {
        publish: deny("no.up"),
        subscribe: deny("no.down"),
        allow_responses: None,
    }
}

/// What the leaf's remote denies by itself.
pub(super) const DENY_IMPORTS: &str = "imp.>";
pub(super) const DENY_EXPORTS: &str = "exp.>";

pub(super) fn random_subject(rng: &mut Rng) -> &'static str {
    pick(rng, &SUBJECTS).0
}

pub(super) fn random_filter(rng: &mut Rng) -> &'static str {
    pick(rng, &FILTERS).0
}

pub(super) fn subjects() -> impl Iterator<Item = &'static str> {
    SUBJECTS.iter().map(|(subject, ..)| *subject)
}

/// Whether a message from `from` may be delivered at the other end.
pub(super) fn may_cross(subject: &str, from: End) -> bool {
    let known = SUBJECTS.iter().find(|(name, ..)| *name == subject);
    known.is_none_or(|(_, to_leaf, to_hub)| match from {
        End::Leaf => *to_hub,
        End::Hub => *to_leaf,
    })
}

/// Whether `end` tells the other of a subscription to `filter`.
pub(super) fn is_told(filter: &str, end: End) -> bool {
    let known = FILTERS.iter().find(|(name, ..)| *name == filter);
    known.is_none_or(|(_, leaf_tells, hub_tells)| match end {
        End::Leaf => *leaf_tells,
        End::Hub => *hub_tells,
    })
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}
