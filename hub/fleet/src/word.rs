use frond_ota::report;
use serde::Deserialize as _;

use crate::limits::STATUS_BYTES_MAX;
use crate::{Status, words};

/// What somebody says of a box.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) status: Status,
    /// Whose key signed it; it was not looked at yet whether that is so.
    signed: Option<Signed>,
}

#[derive(Debug)]
struct Signed {
    object: String,
    signature: String,
}

impl Word {
    /// What is no status is nothing.
    pub(crate) fn read(said: &[u8]) -> Option<Self> {
        if said.len() > STATUS_BYTES_MAX {
            return None;
        }
        let said = str::from_utf8(said).ok()?;
        let signed = report::parts(said).map(|(object, signature)| Signed {
            object,
            signature: signature.to_owned(),
        });
        // Nothing is read but what was signed.
        let object = signed.as_ref().map_or(said, |it| &it.object);
        let mut said = serde_json::from_str(object).ok()?;
        words::clean_all(&mut said);
        let status = Status::deserialize(said).ok()?;
        Some(Self { status, signed })
    }

    /// The key that it says signed it.
    pub(crate) fn key(&self) -> Option<&str> {
        self.signed.as_ref()?;
        self.status.identity.as_deref()
    }

    /// Whether that key did, for the box of this name.
    pub(crate) fn is_genuine(&self, name: &str) -> bool {
        let both = self.signed.as_ref().zip(self.key());
        both.is_some_and(|(signed, key)| {
            report::is_signed(name, &signed.object, &signed.signature, key)
        })
    }

    /// Which start of the box it is from, and which word of that.
    pub(crate) const fn turn(&self) -> (u64, u64) {
        (self.status.start, self.status.round)
    }
}
