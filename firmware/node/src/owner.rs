/// Who inside this server made an internal subscription: the top byte of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The streams and their API.
    JetStream,
    /// The system account's services.
    System,
    /// What keeps the accounts' JWTs.
    Claims,
    /// The auth callout.
    Callout,
    /// Imports and their latency.
    Accounts,
}

/// The byte's place.
const SHIFT: u32 = 56;

impl Owner {
    /// Whose subscription this number names; `None`: nobody's.
    pub(crate) const fn of(id: u64) -> Option<Self> {
        match id >> SHIFT {
            0 => Some(Self::JetStream),
            1 => Some(Self::System),
            2 => Some(Self::Claims),
            3 => Some(Self::Callout),
            4 => Some(Self::Accounts),
            _ => None,
        }
    }

    /// The number to subscribe with; `own` counts from 0 to 2^56 - 1.
    pub(crate) const fn number(self, own: u64) -> u64 {
        let byte = match self {
            Self::JetStream => 0,
            Self::System => 1,
            Self::Claims => 2,
            Self::Callout => 3,
            Self::Accounts => 4,
        };
        (byte << SHIFT) | (own & OWN)
    }

    /// The owner's own part of a number.
    pub(crate) const fn own(id: u64) -> u64 {
        id & OWN
    }
}

const OWN: u64 = (1 << SHIFT) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_its_owner() {
        let all = [
            Owner::JetStream,
            Owner::System,
            Owner::Claims,
            Owner::Callout,
            Owner::Accounts,
        ];
        for owner in all {
            for own in [0, 7, OWN] {
                let id = owner.number(own);
                assert_eq!((Owner::of(id), Owner::own(id)), (Some(owner), own));
            }
        }
        assert_eq!(Owner::of(u64::MAX), None);
    }
}
