use std::time::Duration;

use frond_field::Setup;
use frond_linux::{Roots, Watchdog};

use crate::desk::Place;
use crate::troubles::{Part, Troubles};

/// The hardware watchdog of the box. It is armed with the first food: a start that is merely slow
/// is not bitten, and a message path that never was sound guards nothing.
#[derive(Debug)]
pub(crate) enum Dog {
    /// None is asked for, or it could not be had, or it rests again.
    Away,
    /// To be armed.
    Wanted(Wanted),
    Armed(Watchdog),
}

/// What is known before it is armed.
#[derive(Debug)]
pub(crate) struct Wanted {
    troubles: Troubles,
    roots: Roots,
    device: String,
    /// How often it is fed.
    every: Duration,
    /// How long the board says that it waits.
    timeout: Option<Duration>,
    /// How long it is to wait.
    asked: Option<Duration>,
}

impl Dog {
    pub(crate) fn new(place: &Place, setup: &Setup, troubles: &Troubles) -> Self {
        let (Some(wanted), Some(every)) = (&setup.options.watchdog, setup.probe_every) else {
            return Self::Away;
        };
        let facts = place.board.watchdog.as_ref();
        let device = wanted.device.as_deref();
        let device = device.or_else(|| facts.map(|facts| facts.device.as_str()));
        Self::Wanted(Wanted {
            troubles: troubles.clone(),
            roots: place.roots.clone(),
            device: device.unwrap_or("watchdog").to_owned(),
            every,
            timeout: facts.map(|facts| Duration::from_secs(facts.timeout_s)),
            asked: wanted.timeout,
        })
    }

    /// A probe came back.
    pub(crate) fn feed(&mut self) {
        if let Self::Wanted(wanted) = self {
            *self = wanted.arm();
        }
        if let Self::Armed(watchdog) = self
            && let Err(error) = watchdog.feed()
        {
            tracing::error!("the watchdog cannot be fed: {error}");
        }
    }

    /// An end in good order.
    pub(crate) fn rest(&mut self) {
        let Self::Armed(watchdog) = std::mem::replace(self, Self::Away) else {
            return;
        };
        match watchdog.disarm() {
            Ok(()) => tracing::info!("the watchdog is put to sleep"),
            Err(error) => tracing::error!("the watchdog stays armed: {error}"),
        }
    }
}

impl Wanted {
    fn arm(&self) -> Dog {
        let device = &self.device;
        let mut watchdog = match Watchdog::open(&self.roots, device) {
            Ok(watchdog) => watchdog,
            Err(error) => {
                tracing::error!("the watchdog {device} is not armed: {error}");
                let why = error.to_string();
                self.troubles.note(Part::Watchdog, device, Some(&why));
                return Dog::Away;
            }
        };
        let set = self.asked.and_then(|asked| self.set(&mut watchdog, asked));
        let timeout = set.or_else(|| watchdog.timeout()).or(self.timeout);
        match timeout {
            Some(timeout) => {
                tracing::info!("the watchdog {device} is armed and waits for {timeout:?}");
                if let Some(text) = hurry(self.every, timeout) {
                    tracing::warn!("the watchdog {device}: {text}");
                }
            }
            None => {
                tracing::info!("the watchdog {device} is armed; it does not tell how long it waits")
            }
        }
        Dog::Armed(watchdog)
    }

    /// What its driver made of the timeout it was asked for.
    fn set(&self, watchdog: &mut Watchdog, asked: Duration) -> Option<Duration> {
        let device = &self.device;
        match watchdog.wait_for(asked) {
            Ok(taken) => {
                if taken != asked {
                    tracing::warn!(
                        "the watchdog {device}: its driver took {taken:?} for {asked:?}"
                    );
                }
                Some(taken)
            }
            Err(error) => {
                tracing::warn!(
                    "the watchdog {device}: its timeout cannot be set to {asked:?}: {error}; \
                     remove timeout from the watchdog block, or load its driver with another one"
                );
                None
            }
        }
    }
}

/// What to do about a watchdog that loses patience before two probes in a row were lost.
fn hurry(every: Duration, timeout: Duration) -> Option<String> {
    let most = timeout / 3;
    (every > most).then(|| {
        format!(
            "it waits for {timeout:?} and is fed every {every:?}, so that one lost probe may restart the \
             box; write probe: \"{}ms\" or less, or a longer timeout, in the watchdog block",
            most.as_millis()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_takes_a_third_of_its_patience_at_most() {
        let secs = Duration::from_secs;
        assert_eq!(hurry(secs(5), secs(15)), None);
        let text = hurry(secs(5), secs(14)).unwrap();
        assert!(text.contains("probe: \"4666ms\""), "{text}");
    }
}
