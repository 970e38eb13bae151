//! Lamps and outputs: one thread switches them all, for none of it takes long.

use std::sync::mpsc::{Receiver, Sender, channel};

use frond_config::{Appliance as Options, LampPlace, Output};
use frond_linux::{Led, LineSpec, OutputLine};

use crate::desk::{Event, Events, Place, spawn};
use crate::troubles::{Part, Troubles};

/// What is to be switched.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Switch { output: usize, on: bool },
    Light(bool),
}

/// Who does it.
pub(crate) struct Hands {
    place: Place,
    lamps: Vec<Lamp>,
    outputs: Vec<(Output, Option<OutputLine>)>,
    troubles: Troubles,
}

struct Lamp {
    at: LampPlace,
    open: Option<Light>,
    is_told: bool,
}

enum Light {
    Led(Led),
    Line(OutputLine),
}

impl Hands {
    pub(crate) fn start(
        place: &Place,
        options: &Options,
        events: &Events,
        troubles: &Troubles,
    ) -> Sender<Order> {
        let (sender, orders) = channel();
        let lamps = options.lamps.iter().map(|at| Lamp {
            at: at.clone(),
            open: None,
            is_told: false,
        });
        let hands = Self {
            place: place.clone(),
            lamps: lamps.collect(),
            outputs: options
                .outputs
                .iter()
                .map(|it| (it.clone(), None))
                .collect(),
            troubles: troubles.clone(),
        };
        let events = events.clone();
        spawn("field-hands", move || hands.run(&orders, &events));
        sender
    }

    fn run(mut self, orders: &Receiver<Order>, events: &Events) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Light(lit) => self.light(lit),
                Order::Switch { output, on } => {
                    let fault = self.switch(output, on).err();
                    if let Some((options, _)) = self.outputs.get(output) {
                        let name = &options.name;
                        self.troubles.note(Part::Output, name, fault.as_deref());
                    }
                    if events.send(Event::Switched(output, fault)).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// The first switch opens the line with its state: it is never in another one first.
    fn switch(&mut self, output: usize, on: bool) -> Result<(), String> {
        let (options, line) = self.outputs.get_mut(output).ok_or("no such output")?;
        match line {
            Some(line) => line.set(on),
            None => {
                let spec = LineSpec::of(&options.line, &self.place.board);
                let low = options.active_low;
                *line = Some(OutputLine::open(&self.place.roots, &spec, low, on)?);
                Ok(())
            }
        }
    }

    fn light(&mut self, lit: bool) {
        for lamp in &mut self.lamps {
            let done = lamp.light(&self.place, lit);
            let fault = done.as_ref().err().map(String::as_str);
            self.troubles.note(Part::Lamp, lamp.name(), fault);
            if let Err(why) = done {
                // It may come back, with a board that is plugged in.
                lamp.open = None;
                if !lamp.is_told {
                    tracing::warn!("lamp {}: {why}", lamp.name());
                    lamp.is_told = true;
                }
            }
        }
    }
}

impl Lamp {
    fn name(&self) -> &str {
        match &self.at {
            LampPlace::Led(name) | LampPlace::Line { line: name, .. } => name,
        }
    }

    fn light(&mut self, place: &Place, lit: bool) -> Result<(), String> {
        if self.open.is_none() {
            self.open = Some(match &self.at {
                LampPlace::Led(role) => {
                    let led = Led::open(&place.roots, place.board.led(role));
                    Light::Led(led.map_err(|error| error.to_string())?)
                }
                LampPlace::Line { line, active_low } => {
                    let spec = LineSpec::of(line, &place.board);
                    let line = OutputLine::open(&place.roots, &spec, *active_low, lit)?;
                    Light::Line(line)
                }
            });
        }
        match &mut self.open {
            Some(Light::Led(led)) => led.set(lit).map_err(|error| error.to_string()),
            Some(Light::Line(line)) => line.set(lit),
            None => Ok(()),
        }
    }
}
