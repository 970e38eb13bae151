use crate::limits::BUNDLE_BYTES_MAX;
use crate::{Bundle, Digest, Purpose, Role, Sealed, Trust, Who};

/// A bundle that may be tried here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What it says.
    pub bundle: Bundle,
    /// Its name.
    pub digest: Digest,
    /// What is trusted after it.
    pub trust: Trust,
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
}

/// Judges a bundle: signatures first, then everything they vouch for.
///
/// `floor` is the highest version that was ever confirmed here; `now_s` is certainly not later
/// than the real time.
///
/// # Errors
/// Why it is not taken.
pub fn verify(
    bytes: &[u8],
    trust: &Trust,
    who: &Who,
    floor: u64,
    now_s: i64,
) -> Result<Verified, Refusal> {
    if bytes.len() > BUNDLE_BYTES_MAX {
        return Err(Refusal::TooLarge(bytes.len()));
    }
    let sealed = Sealed::decode(bytes).map_err(Refusal::Malformed)?;
    let mut trust = trust.clone();
    for root in &sealed.roots {
        // One that is known already, or leads elsewhere, is no step on.
        trust.follow(root);
    }
    let role = signer(&sealed, &trust)?;
    let bundle =
        Bundle::parse(&sealed.bundle.body).ok_or(Refusal::Malformed("its content is unknown"))?;
    if !bundle.is_for(who) {
        return Err(Refusal::NotForUs(who.device.clone()));
    }
    if now_s >= bundle.expires_s {
        return Err(Refusal::Expired {
            expired_s: bundle.expires_s,
        });
    }
    match bundle.downgrade_from {
        Some(_) if role != Role::Emergency => return Err(Refusal::NoPermit),
        Some(from) if floor <= from => {}
        Some(_) | None if bundle.version <= floor => {
            return Err(Refusal::Old {
                version: bundle.version,
                floor,
            });
        }
        Some(_) | None => {}
    }
    Ok(Verified {
        digest: sealed.digest(),
        bundle,
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
