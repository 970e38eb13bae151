use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use frond_config::Appliance as Options;
use frond_field::Plan;

use crate::desk::{Events, Place};
use crate::hands::{Hands, Order};
use crate::sampler;
use crate::troubles::Troubles;
use crate::{contacts, serial};

/// Every device that the configuration names, each behind a thread of its own.
#[derive(Debug)]
pub(crate) struct Devices {
    /// Who samples an origin.
    samplers: Vec<Sender<usize>>,
    hands: Sender<Order>,
    open: Open,
}

/// Whether devices are still wanted: their threads look now and then.
#[derive(Clone, Debug)]
pub(crate) struct Open(Arc<AtomicBool>);

impl Open {
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Devices {
    pub(crate) fn open(
        place: &Place,
        options: &Options,
        events: &Events,
        troubles: &Troubles,
    ) -> Self {
        let open = Open(Arc::new(AtomicBool::new(true)));
        contacts::watch(place, options, events, (&open, troubles));
        serial::listen(place, options, events, (&open, troubles));
        Self {
            samplers: sampler::start(place, &Plan::of(options), events),
            hands: Hands::start(place, options, events, troubles),
            open,
        }
    }

    /// Its answer is an event; so is that it hangs, which the machine sees by itself.
    pub(crate) fn sample(&self, origin: usize) {
        if let Some(sampler) = self.samplers.get(origin) {
            let _ = sampler.send(origin);
        }
    }

    pub(crate) fn switch(&self, output: usize, on: bool) {
        let _ = self.hands.send(Order::Switch { output, on });
    }

    pub(crate) fn light(&self, lit: bool) {
        let _ = self.hands.send(Order::Light(lit));
    }

    pub(crate) fn close(&self) {
        self.open.0.store(false, Ordering::Relaxed);
    }
}
