//! One thread for each bus: what hangs on one of them hangs alone.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};

use frond_board::{Reason, Sampled};
use frond_field::{Origin, Plan};
use frond_linux::{I2cBus, NumberFile, OneWire};

use crate::desk::{Event, Events, Place, spawn};
use crate::modbus;

/// Starts the threads; whom to ask for each origin.
pub(crate) fn start(place: &Place, plan: &Plan, events: &Events) -> Vec<Sender<usize>> {
    let mut buses: BTreeMap<String, Sender<usize>> = BTreeMap::new();
    let mut samplers = Vec::new();
    for origin in &plan.0 {
        let bus = bus_of(origin);
        let sampler = buses.entry(bus.clone()).or_insert_with(|| {
            let (sender, asked) = channel();
            let on_bus = plan.0.iter().enumerate();
            let on_bus = on_bus.filter(|(_, it)| bus_of(it) == bus);
            let origins: BTreeMap<usize, Origin> =
                on_bus.map(|(at, it)| (at, it.clone())).collect();
            let (place, events) = (place.clone(), events.clone());
            spawn(&bus, move || {
                let mut line = modbus::Line::default();
                while let Ok(at) = asked.recv() {
                    let Some(origin) = origins.get(&at) else {
                        continue;
                    };
                    let event = match origin {
                        Origin::Modbus(device) => Event::Polled(at, line.poll(&place, device)),
                        Origin::File(_) | Origin::OneWire(_) | Origin::I2c(..) => {
                            Event::Sampled(at, sample(&place, origin))
                        }
                    };
                    if events.send(event).is_err() {
                        return;
                    }
                }
            });
            sender
        });
        samplers.push(sampler.clone());
    }
    samplers
}

/// What shares a thread: also its name.
fn bus_of(origin: &Origin) -> String {
    match origin {
        Origin::File(_) => "sys".to_owned(),
        Origin::OneWire(_) => "w1".to_owned(),
        Origin::I2c(bus, _) => bus.clone(),
        Origin::Modbus(device) => format!("modbus {}", modbus::line_name(device)),
    }
}

fn sample(place: &Place, origin: &Origin) -> Sampled {
    let (roots, board) = (&place.roots, &place.board);
    match origin {
        Origin::File(path) => NumberFile::new(roots, path).sample(),
        Origin::OneWire(id) => OneWire::new(roots, id).sample(),
        Origin::I2c(bus, driver) => I2cBus::new(roots, board.bus(bus)).sample(driver),
        Origin::Modbus(_) => Err(Reason::new("a Modbus device is polled")),
    }
}
