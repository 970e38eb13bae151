use crate::limits::{BUNDLE_BYTES_MAX, CLOCK_AHEAD_MAX_S, VERSION_STEP_MAX};
use crate::{Bundle, Digest, Origin, Purpose, Role, Sealed, Trust, Who};

/// A bundle that may be tried here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What it says.
    pub bundle: Bundle,
    /// Its name.
    pub digest: Digest,
    /// Whose keys signed it.
    pub role: Role,
    /// What is trusted after it.
    pub trust: Trust,
}

/// What a bundle is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Nothing older is taken without a permit.
    pub floor: u64,
    /// The latest time that is vouched for, in seconds since 1970.
    pub vouched_s: i64,
    /// What the clock says, in seconds since 1970.
    pub wall_s: i64,
    /// Where it comes from: what somebody at the box brings is never out of date.
    pub origin: Origin,
}

/// Why a bundle is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its size, before anything is looked at.
    #[error("the bundle has {0} bytes, {BUNDLE_BYTES_MAX} are the most")]
    TooLarge(usize),
    /// Its form.
    #[error("the bundle cannot be read: {0}")]
    Malformed(&'static str),
    /// Its signatures.
    #[error(
        "the bundle is not signed by those this box trusts: {signed} of {needed} keys of {role} \
         (root version {root})"
    )]
    Unsigned {
        /// Whose signatures came closest.
        role: &'static str,
        /// Good ones.
        signed: usize,
        /// Needed ones.
        needed: u8,
        /// The root in force.
        root: u32,
    },
    /// Its permit for an older configuration.
    #[error("only the emergency keys may allow an older configuration")]
    NoPermit,
    /// Its permit was used.
    #[error("the permit for the older version {0} was used here already: go back by hand")]
    Spent(u64),
    /// Its targets.
    #[error("the bundle is not for this box: {0} is not among its devices and groups")]
    NotForUs(String),
    /// Its age.
    #[error("the bundle is out of date since {expired_s} s after 1970: sign it anew")]
    Expired {
        /// When it ended.
        expired_s: i64,
    },
    /// Its version.
    #[error("version {version} is not newer than version {floor}, which was in force here")]
    Old {
        /// The bundle's.
        version: u64,
        /// The floor.
        floor: u64,
    },
    /// Its version would leave no room for later ones.
    #[error("version {version} is too far ahead: {most} is the highest that may come next")]
    TooFar {
        /// The bundle's.
        version: u64,
        /// The highest.
        most: u64,
    },
    /// It is in force.
    #[error("version {0} is in force already")]
    InForce(u64),
    /// It was in force before another one.
    #[error("version {0} was in force before: go back to it with a rollback")]
    WasInForce(u64),
    /// It failed here before.
    #[error("it failed here before ({0}); apply it by hand to try again, or sign a newer one")]
    FailedBefore(String),
    /// It did not pass the check.
    #[error("{0}")]
    Unfit(String),
    /// There is something else under way.
    #[error("another configuration is being tried: confirm it or roll it back first")]
    Busy,
    /// Nobody knows what is in force.
    #[error("the update record cannot be read ({0}): start again, or apply a bundle by hand")]
    InDoubt(String),
}

impl Bar {
    /// The time by which a bundle is judged, in seconds since 1970: a clock that is far ahead of
    /// everything that was ever signed is not believed.
    #[must_use]
    pub const fn now_s(&self) -> i64 {
        let is_believed = self.wall_s <= self.vouched_s.saturating_add(CLOCK_AHEAD_MAX_S);
        if is_believed && self.wall_s > self.vouched_s {
            self.wall_s
        } else {
            self.vouched_s
        }
    }

    /// A clock may be wrong; so the emergency keys are held only against what is vouched for.
    fn is_too_late(&self, expires_s: i64, role: Role) -> bool {
        let now_s = match role {
            Role::Emergency => self.vouched_s,
            Role::Root | Role::Release | Role::Hub => self.now_s(),
        };
        self.origin != Origin::Hand && now_s >= expires_s
    }

    fn check_version(&self, bundle: &Bundle) -> Result<(), Refusal> {
        let (version, floor) = (bundle.version, self.floor);
        let most = floor.saturating_add(VERSION_STEP_MAX);
        if version > most {
            return Err(Refusal::TooFar { version, most });
        }
        if bundle.new_floor.is_some_and(|new| new > floor.max(version)) {
            return Err(Refusal::Malformed("its floor is above all versions"));
        }
        let is_allowed = bundle.downgrade_from.is_some_and(|from| floor <= from);
        if is_allowed || version > floor {
            Ok(())
        } else {
            Err(Refusal::Old { version, floor })
        }
    }
}

/// Judges a bundle: signatures first, then everything they vouch for.
///
/// # Errors
/// Why it is not taken.
pub fn verify(bytes: &[u8], trust: &Trust, who: &Who, bar: &Bar) -> Result<Verified, Refusal> {
    if bytes.len() > BUNDLE_BYTES_MAX {
        return Err(Refusal::TooLarge(bytes.len()));
    }
    let sealed = Sealed::decode(bytes).map_err(Refusal::Malformed)?;
    let trust = trust.led_on(&sealed.roots);
    let role = signer(&sealed, &trust)?;
    let bundle = Bundle::parse(&sealed.bundle.body).map_err(Refusal::Malformed)?;
    if !bundle.is_for(who) {
        return Err(Refusal::NotForUs(who.device.clone()));
    }
    let expired_s = bundle.expires_s;
    if bar.is_too_late(expired_s, role) {
        return Err(Refusal::Expired { expired_s });
    }
    if bundle.downgrade_from.is_some() && role != Role::Emergency {
        return Err(Refusal::NoPermit);
    }
    bar.check_version(&bundle)?;
    Ok(Verified {
        digest: sealed.digest(),
        bundle,
        role,
        trust,
    })
}

/// The role whose keys signed: the emergency's if they did.
fn signer(sealed: &Sealed, trust: &Trust) -> Result<Role, Refusal> {
    let unsigned = Refusal::Malformed("nobody is trusted here");
    let root = trust.latest().ok_or(unsigned)?;
    let signed_by = |role| sealed.bundle.is_signed_by(Purpose::Bundle, root.keys(role));
    if signed_by(Role::Emergency) {
        return Ok(Role::Emergency);
    }
    if signed_by(Role::Release) {
        return Ok(Role::Release);
    }
    Err(Refusal::Unsigned {
        role: Role::Release.name(),
        signed: sealed.bundle.signers(Purpose::Bundle, &root.release),
        needed: root.release.threshold,
        root: root.version,
    })
}
