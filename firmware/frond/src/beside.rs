//! The field side beside the server.

use std::sync::Arc;

use frond_appliance::{Appliance, Around, Part as Piece, Trouble as Unusable};
use frond_field::{Condition, Pattern, Quality as Felt};
use frond_monitor::{Condition as Shown, Quality, Sensor, Trouble};
use frond_runtime::{Attendance, Attendant, Part, Turn};

use crate::ota;

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
            Turn::Ready {
                config,
                door,
                board,
            } => {
                let control = ota::control(config);
                let around = Around {
                    connect: Arc::new(move || door.connect()),
                    tell: Arc::new(move |shown, troubles| {
                        let troubles = troubles.into_iter().map(trouble).collect();
                        board.pin(shown.into_iter().map(sensor).collect(), troubles);
                    }),
                    rescue: Arc::new(move || ota::rescue(control.as_deref())),
                };
                appliance.ready(config, around);
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

/// A part that cannot be used as the status page tells of it.
fn trouble(it: Unusable) -> Trouble {
    let code = match it.part {
        Piece::Output => "output_fault",
        Piece::Input => "input_fault",
        Piece::Port => "port_fault",
        Piece::Button => "button_fault",
        Piece::Lamp => "lamp_fault",
        Piece::Watchdog => "watchdog_fault",
    };
    Trouble {
        code,
        is_fault: it.part == Piece::Output,
        name: it.name,
        why: it.why,
    }
}

/// A sensor as the status page shows it.
fn sensor(shown: frond_field::Shown) -> Sensor {
    let frond_field::Shown {
        name,
        subject,
        value,
        unit,
        quality,
        reason,
        read_at,
        history,
    } = shown;
    Sensor {
        name,
        subject,
        value,
        unit,
        quality: match quality {
            Felt::Good => Quality::Good,
            Felt::Uncertain => Quality::Uncertain,
            Felt::Bad => Quality::Bad,
        },
        reason,
        read_at_ms: read_at.map_or(0, |at| at.as_nanos() / 1_000_000),
        history,
    }
}
