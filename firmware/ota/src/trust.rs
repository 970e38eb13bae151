use frond_account::nkey;
use serde::{Deserialize, Serialize};

use crate::limits::{KEYS_MAX, ROOT_BYTES_MAX, ROOTS_MAX};
use crate::{Purpose, Signed};

/// What keys are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Say who may sign.
    Root,
    /// Sign configurations.
    Release,
    /// Sign configurations when it burns, also older ones.
    Emergency,
    /// Sign for the hub that it was reached.
    Hub,
}

/// Keys of one role, and how many of them must sign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// How many, at least 1.
    pub threshold: u8,
    /// Public nkeys of operators, `O…`.
    pub keys: Vec<String>,
}

/// Who may sign what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Rises by one from a root to the next.
    pub version: u32,
    /// Those who sign the next root.
    pub root: Keys,
    /// Those who sign configurations.
    pub release: Keys,
    /// Those who sign configurations when it burns; none: nobody.
    pub emergency: Keys,
    /// Those who sign for the hub that a box on trial reached it; none: as in the root before.
    ///
    /// Roots from before there were any end without it.
    #[serde(skip)]
    pub hub: Keys,
}

/// The roots from the one in the box's own file to the one in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    chain: Vec<Root>,
    signed: Vec<Signed>,
    /// Those that were in force here and are not any more.
    past: Vec<(Root, Signed)>,
}

/// What is wrong with keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// A role without keys, or that can never be satisfied.
    #[error("{role} needs {threshold} of {keys} keys: write a threshold of 1 to {keys}")]
    Threshold {
        /// Which.
        role: &'static str,
        /// How many must sign.
        threshold: u8,
        /// How many there are.
        keys: usize,
    },
    /// Not a public nkey of an operator.
    #[error("{0:?} is no public nkey of an operator (O...)")]
    Key(String),
    /// The same key twice in a role.
    #[error("{0} is named twice")]
    Twice(String),
    /// It would do alone what else takes several.
    #[error("{0} is a release key and an emergency key: take another one")]
    Shared(String),
    /// It lies on a machine in the network.
    #[error("{0} is the hub's key and another role's: take another one")]
    Online(String),
}

impl Role {
    /// As in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Release => "release",
            Self::Emergency => "emergency",
            Self::Hub => "hub",
        }
    }
}

impl Root {
    /// The keys of a role.
    #[must_use]
    pub const fn keys(&self, role: Role) -> &Keys {
        match role {
            Role::Root => &self.root,
            Role::Release => &self.release,
            Role::Emergency => &self.emergency,
            Role::Hub => &self.hub,
        }
    }

    /// Whether it can be worked with: every role but the emergency and the hub has keys enough.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), TrustError> {
        for role in [Role::Root, Role::Release, Role::Emergency, Role::Hub] {
            let Keys { threshold, keys } = self.keys(role);
            let may_be_none = matches!(role, Role::Emergency | Role::Hub);
            let unused = may_be_none && keys.is_empty();
            let enough = usize::from(*threshold) <= keys.len() && *threshold > 0;
            if !unused && (!enough || keys.len() > KEYS_MAX) {
                return Err(TrustError::Threshold {
                    role: role.name(),
                    threshold: *threshold,
                    keys: keys.len(),
                });
            }
            for (at, key) in keys.iter().enumerate() {
                if !nkey::is_public_key(nkey::Role::Operator, key) {
                    return Err(TrustError::Key(key.clone()));
                }
                if keys.iter().take(at).any(|before| before == key) {
                    return Err(TrustError::Twice(key.clone()));
                }
            }
        }
        let mut online = self.hub.keys.iter();
        let others = [&self.root, &self.release, &self.emergency];
        if let Some(key) = online.find(|key| others.iter().any(|it| it.keys.contains(key))) {
            return Err(TrustError::Online(key.clone()));
        }
        let mut shared = self.emergency.keys.iter();
        match shared.find(|key| self.release.keys.contains(key)) {
            Some(key) => Err(TrustError::Shared(key.clone())),
            None => Ok(()),
        }
    }

    /// As a text to sign.
    #[must_use]
    pub fn to_signed(&self) -> Signed {
        let mut body = postcard::to_stdvec(self).unwrap_or_default();
        if !self.hub.keys.is_empty() {
            body.extend(postcard::to_stdvec(&self.hub).unwrap_or_default());
        }
        Signed::new(body)
    }

    fn parse(body: &[u8]) -> Option<Self> {
        let (mut root, mut rest) = postcard::take_from_bytes::<Self>(body).ok()?;
        if !rest.is_empty() {
            (root.hub, rest) = postcard::take_from_bytes(rest).ok()?;
        }
        (rest.is_empty() && root.check().is_ok()).then_some(root)
    }
}

impl Trust {
    /// Led on from the root in the box's own file by those that were kept. The own file counts: of
    /// the kept ones it makes obsolete, or that don't follow it, only what they vouched for
    /// before stays good.
    #[must_use]
    pub fn new(first: Root, kept: &[Signed]) -> Self {
        let mut trust = Self {
            chain: vec![first],
            signed: Vec::new(),
            past: Vec::new(),
        };
        for signed in kept {
            if !trust.follow(signed) {
                trust
                    .past
                    .extend(Root::parse(&signed.body).map(|it| (it, signed.clone())));
            }
        }
        trust
    }

    /// Takes the next root: signed by enough keys of the one in force and by enough of its own.
    /// Whether it did.
    pub fn follow(&mut self, signed: &Signed) -> bool {
        let Some(latest) = self.chain.last() else {
            return false;
        };
        if self.chain.len() > ROOTS_MAX
            || signed.body.len() > ROOT_BYTES_MAX
            || !signed.is_signed_by(Purpose::Root, &latest.root)
        {
            return false;
        }
        let Some(next) = Root::parse(&signed.body) else {
            return false;
        };
        let follows = latest.version.checked_add(1) == Some(next.version);
        if !follows || !signed.is_signed_by(Purpose::Root, &next.root) {
            return false;
        }
        self.chain.push(next);
        self.signed.push(signed.clone());
        true
    }

    /// What is trusted after these roots: one that is known already, or leads elsewhere, is no
    /// step on.
    pub(crate) fn led_on(&self, roots: &[Signed]) -> Self {
        let mut trust = self.clone();
        for root in roots {
            trust.follow(root);
        }
        trust
    }

    /// The root in force.
    #[must_use]
    pub fn latest(&self) -> Option<&Root> {
        self.chain.last()
    }

    /// Those who sign for the hub: as the last root says that names any.
    #[must_use]
    pub fn hub(&self) -> Option<&Keys> {
        let mut named = self.chain.iter().rev().map(|root| &root.hub);
        named.find(|hub| !hub.keys.is_empty())
    }

    /// The root in the box's own file.
    pub(crate) fn first(&self) -> Option<&Root> {
        self.chain.first()
    }

    /// The version of the root in force.
    pub(crate) fn version(&self) -> u32 {
        self.latest().map_or(0, |root| root.version)
    }

    /// The roots to be kept: those that were taken, and those that were in force before them, the
    /// one in the box's own file too, as it may be another one some day.
    #[must_use]
    pub fn kept(&self) -> Vec<Signed> {
        let own = self.chain.first().map(Root::to_signed);
        let mut kept: Vec<Signed> = self.past.iter().map(|(_, signed)| signed.clone()).collect();
        kept.retain(|past| own.as_ref().is_none_or(|own| own.body != past.body));
        kept.extend(own);
        kept.extend(self.signed.iter().cloned());
        let excess = kept.len().saturating_sub(ROOTS_MAX + 1);
        kept.split_off(excess)
    }

    /// Whether any root that was ever in force lets this configuration pass: it was judged by the
    /// root of its time when it came.
    pub(crate) fn ever_allowed(&self, signed: &Signed) -> bool {
        let roles = [Role::Release, Role::Emergency];
        let past = self.past.iter().map(|(root, _)| root);
        self.chain.iter().chain(past).any(|root| {
            let mut keys = roles.iter().map(|role| root.keys(*role));
            keys.any(|keys| signed.is_signed_by(Purpose::Bundle, keys))
        })
    }
}
