//! That a box on trial reached this hub, signed, so that nobody else can say it.

use frond_fleet::Attempt;
use frond_ota::Confirmation;

use super::{Host, OURSELVES};

/// The box's own file has no digest.
const FACTORY: &str = "factory";

impl Host {
    /// Without a key the box takes the hub's ack for it, or does not confirm.
    pub(super) fn confirm(&mut self, attempt: Attempt) -> Result<(), String> {
        let Some(pair) = &self.confirm_key else {
            return Ok(());
        };
        let confirmation = Confirmation {
            device: attempt.name,
            digest: attempt.digest.unwrap_or_else(|| FACTORY.to_owned()),
            nonce: attempt.nonce,
        };
        if !confirmation.is_fit() {
            return Ok(());
        }
        let signed = confirmation.sign(pair);
        let bucket = self.places.bucket.clone();
        let key = format!("confirm.{}", confirmation.device);
        self.put(OURSELVES, (&bucket, &key), b"", &signed)
    }
}
