use data_encoding::HEXLOWER;
use frond_clock::Now;
use frond_ota::{Choice, Confirmation, Keys};

use super::Guardian;

/// What the hub is to sign for the configuration on trial: that it was reached by this box, with
/// that configuration, at this attempt.
#[derive(Debug)]
pub(super) struct Vow {
    of: Choice,
    wanted: Confirmation,
    is_signed: bool,
}

impl Vow {
    pub(super) fn nonce(&self) -> &str {
        &self.wanted.nonce
    }
}

impl Guardian {
    /// Another one for each attempt.
    pub(super) fn take_vow(&mut self) {
        let of = self.on_trial();
        if self.vow.as_ref().map(|it| it.of) == of {
            return;
        }
        // Without randomness nothing is wanted, and where a signature is needed nothing is confirmed.
        let mut random = [0; 20];
        let is_random = getrandom::fill(&mut random).is_ok();
        self.vow = of.filter(|_| is_random).map(|of| Vow {
            of,
            wanted: Confirmation {
                device: self.ota.device.clone(),
                digest: Confirmation::name_of(of),
                nonce: HEXLOWER.encode(&random),
            },
            is_signed: false,
        });
    }

    /// The keys that must sign; nothing: the hub's word is enough.
    fn hub_keys(&self) -> Option<&Keys> {
        self.updater.as_ref()?.trust().hub()
    }

    /// The hub confirms something; what is of another attempt is old.
    pub(super) fn promised(&mut self, now: Now, said: &[u8]) {
        let keys = self.hub_keys().cloned().unwrap_or_default();
        let Some(vow) = &mut self.vow else { return };
        if vow.wanted.is_signed(said, &keys) {
            vow.is_signed = true;
            self.report(now);
        }
    }

    /// Whether the hub's keys signed what must be signed.
    pub(super) fn is_promised(&self, of: Option<Choice>) -> Result<(), String> {
        if of.is_none() || self.hub_keys().is_none() {
            return Ok(());
        }
        let vow = self.vow.as_ref();
        if vow.is_some_and(|vow| Some(vow.of) == of && vow.is_signed) {
            return Ok(());
        }
        Err(UNSIGNED.to_owned())
    }
}

const UNSIGNED: &str = "the hub has not signed that this box reached it; the hub's fleet block \
                        needs the confirm_key that this box's trust names";
