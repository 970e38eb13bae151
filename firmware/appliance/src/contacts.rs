//! Inputs and the button: a thread waits for the edges of each.

use frond_config::{Appliance as Options, Pull};
use frond_linux::{Bias, InputLine, LineSpec};

use crate::desk::{Event, Events, Place, spawn};
use crate::devices::Open;
use crate::limits::{LOOK_WAIT, RETRY_WAIT};

/// A contact and how to tell of it.
struct Contact {
    name: String,
    line: String,
    bias: Bias,
    active_low: bool,
    tell: Box<dyn Fn(Result<bool, String>) -> Option<Event> + Send>,
}

pub(crate) fn watch(place: &Place, options: &Options, events: &Events, open: &Open) {
    let inputs = options
        .inputs
        .iter()
        .enumerate()
        .map(|(at, input)| Contact {
            name: input.name.clone(),
            line: input.line.clone(),
            bias: bias(input.pull),
            active_low: input.active_low,
            tell: Box::new(move |active| Some(Event::Contact(at, active))),
        });
    let button = options.button.iter().map(|button| Contact {
        name: "button".to_owned(),
        line: button.line.clone(),
        bias: bias(button.pull),
        active_low: button.active_low,
        // A button that is not there is not pressed.
        tell: Box::new(|pressed| match pressed {
            Ok(pressed) => Some(Event::Button(pressed)),
            Err(why) => {
                tracing::warn!("the button: {why}");
                None
            }
        }),
    });
    for contact in inputs.chain(button) {
        let (place, events, open) = (place.clone(), events.clone(), open.clone());
        spawn(&contact.name.clone(), move || {
            contact.run(&place, &events, &open)
        });
    }
}

impl Contact {
    fn run(&self, place: &Place, events: &Events, open: &Open) {
        let mut told = None;
        while open.is_wanted() {
            let why = match self.watch(place, events, open, &mut told) {
                Ok(()) => return,
                Err(why) => why,
            };
            if told.replace(Err(why.clone())) != Some(Err(why.clone()))
                && let Some(event) = (self.tell)(Err(why))
                && events.send(event).is_err()
            {
                return;
            }
            std::thread::park_timeout(RETRY_WAIT);
        }
    }

    /// Until nobody wants to know any more.
    fn watch(
        &self,
        place: &Place,
        events: &Events,
        open: &Open,
        told: &mut Option<Result<bool, String>>,
    ) -> Result<(), String> {
        let spec = LineSpec::of(&self.line, &place.board);
        let line = InputLine::open(&place.roots, &spec, self.bias, self.active_low)?;
        while open.is_wanted() {
            let active = line.is_active()?;
            if *told != Some(Ok(active)) {
                *told = Some(Ok(active));
                let event = (self.tell)(Ok(active));
                if event.is_some_and(|event| events.send(event).is_err()) {
                    return Ok(());
                }
            }
            line.wait(LOOK_WAIT)?;
        }
        Ok(())
    }
}

const fn bias(pull: Pull) -> Bias {
    match pull {
        Pull::AsIs => Bias::AsIs,
        Pull::Up => Bias::Up,
        Pull::Down => Bias::Down,
        Pull::Off => Bias::None,
    }
}
