//! The field side beside the server.

use std::sync::Arc;

use frond_appliance::Appliance;
use frond_field::{Condition, Pattern};
use frond_monitor::Condition as Shown;
use frond_runtime::{Attendance, Attendant, Part, Turn};

/// What stands beside the server.
pub(crate) const ATTENDANCE: Attendance = Attendance {
    part: Part::Field,
    pages: &[],
    check: frond_appliance::check,
    begin,
};

fn begin() -> Attendant {
    let mut appliance = None;
    Box::new(move |turn| {
        if let Turn::Opening = turn {
            appliance = Some(Appliance::begin());
        }
        let Some(appliance) = &mut appliance else {
            return;
        };
        match turn {
            Turn::Opening | Turn::Page { .. } => {}
            Turn::Ready { config, door } => {
                appliance.ready(config, Arc::new(move || door.connect()));
            }
            Turn::Options(config) => appliance.options(config),
            Turn::Condition(it) => appliance.condition(Condition {
                lines: it.lines,
                lines_up: it.lines_up,
                shown: pattern(it.shown),
                is_time_trusted: it.is_time_trusted,
            }),
            Turn::Stopping => appliance.stopping(),
        }
    })
}

const fn pattern(shown: Shown) -> Pattern {
    match shown {
        Shown::Online => Pattern::Online,
        Shown::Degraded => Pattern::Degraded,
        Shown::LocalOnly => Pattern::LocalOnly,
        Shown::Updating => Pattern::Updating,
        Shown::Fault => Pattern::Fault,
    }
}
