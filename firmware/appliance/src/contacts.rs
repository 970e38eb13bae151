//! Inputs and the button: a thread waits for the edges of each.

use std::time::Instant;

use frond_config::{Appliance as Options, Pull};
use frond_linux::{Bias, InputLine, LineEvent, LineSpec};

use crate::desk::{Event, Events, Place, spawn};
use crate::devices::Open;
use crate::limits::{LOOK_WAIT, RETRY_WAIT};
use crate::troubles::{Part, Troubles};

/// A contact and how to tell of it.
struct Contact {
    part: Part,
    troubles: Troubles,
    name: String,
    line: String,
    bias: Bias,
    active_low: bool,
    tell: Box<dyn Fn(Changes) -> Option<Event> + Send>,
}

/// Every change of a contact, the first of all says how it is; or why nobody knows.
pub(crate) type Changes = Result<Vec<LineEvent>, String>;

pub(crate) fn watch(
    place: &Place,
    options: &Options,
    events: &Events,
    (open, troubles): (&Open, &Troubles),
) {
    let inputs = options
        .inputs
        .iter()
        .enumerate()
        .map(|(at, input)| Contact {
            part: Part::Input,
            troubles: troubles.clone(),
            name: input.name.clone(),
            line: input.line.clone(),
            bias: bias(input.pull),
            active_low: input.active_low,
            tell: Box::new(move |changes| Some(Event::Contact(at, changes))),
        });
    let button = options.button.iter().map(|button| Contact {
        part: Part::Button,
        troubles: troubles.clone(),
        name: "button".to_owned(),
        line: button.line.clone(),
        bias: bias(button.pull),
        active_low: button.active_low,
        // A button that is not there is not pressed.
        tell: Box::new(|changes| match changes {
            Ok(changes) => Some(Event::Button(changes)),
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
        // What does not open is told once, until it was open.
        let mut told = None;
        while open.is_wanted() {
            let Err(why) = self.watch(place, events, open, &mut told) else {
                return;
            };
            if told.as_ref() != Some(&why) {
                told = Some(why.clone());
                if !self.say(events, Err(why)) {
                    return;
                }
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
        told: &mut Option<String>,
    ) -> Result<(), String> {
        let spec = LineSpec::of(&self.line, &place.board);
        let line = InputLine::open(&place.roots, &spec, self.bias, self.active_low)?;
        let mut changes = vec![LineEvent {
            active: line.is_active()?,
            at: Instant::now(),
        }];
        *told = None;
        while open.is_wanted() {
            if !changes.is_empty() && !self.say(events, Ok(changes)) {
                return Ok(());
            }
            changes = line.wait(LOOK_WAIT)?;
        }
        Ok(())
    }

    /// Whether anybody hears it.
    fn say(&self, events: &Events, changes: Changes) -> bool {
        let fault = changes.as_ref().err().map(String::as_str);
        self.troubles.note(self.part, &self.name, fault);
        let event = (self.tell)(changes);
        event.is_none_or(|event| events.send(event).is_ok())
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
