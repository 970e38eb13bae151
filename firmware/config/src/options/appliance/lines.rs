use std::time::Duration;

use super::{Conditioning, Part, device_name, line_of, literal, needed, span, word};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Map, Value};

/// A lamp: below `/sys/class/leds`, or at a digital line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LampPlace {
    /// By its role on the board, or its own name.
    Led(String),
    /// At a line.
    Line {
        /// Which.
        line: String,
        /// It is lit by a low level.
        active_low: bool,
    },
}

/// What a line is pulled to while nobody drives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pull {
    /// As the board has it.
    #[default]
    AsIs,
    /// To high.
    Up,
    /// To low.
    Down,
    /// To nothing.
    Off,
}

/// `appliance.button`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// Where it is.
    pub line: String,
    /// It is pressed when the level is low. That is the default: a button to ground.
    pub active_low: bool,
    /// What the line is pulled to.
    pub pull: Pull,
    /// For how long the contact has to be the same. 30 ms by default.
    pub debounce: Duration,
    /// For how long it has to be held for the rescue configuration. 10 s by default.
    pub hold: Duration,
}

/// A digital input: one of `appliance.inputs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name in events.
    pub name: String,
    /// Where it is.
    pub line: String,
    /// It is active when the level is low.
    pub active_low: bool,
    /// What the line is pulled to.
    pub pull: Pull,
    /// For how long the contact has to be the same. 50 ms by default.
    pub debounce: Duration,
    /// Where its changes go.
    pub subject: String,
    /// The heartbeat and the bucket for the last state; the rest is not for inputs.
    pub conditioning: Conditioning,
}

/// What an output does when the line to the hub is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkLoss {
    /// It stays as it is.
    #[default]
    Keep,
    /// It goes to its safe state.
    Safe,
}

/// A digital output: one of `appliance.outputs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its name in answers.
    pub name: String,
    /// Where it is.
    pub line: String,
    /// It is active when the level is low.
    pub active_low: bool,
    /// Where commands come in.
    pub subject: String,
    /// Its state at the start, at the end, and when nobody commands. Off by default.
    pub safe: bool,
    /// For how long it may be in the other state; `None`: for as long as it is told.
    pub max_on: Option<Duration>,
    /// What it does when the line to the hub is down.
    pub on_link_loss: LinkLoss,
}

const PULLS: &[(&str, Pull)] = &[
    ("as_is", Pull::AsIs),
    ("up", Pull::Up),
    ("down", Pull::Down),
    ("off", Pull::Off),
];

impl LampPlace {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut led, mut line, mut active_low) = (None, None, false);
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "led" => set(&mut led, device_name(value, report)),
                "line" => set(&mut line, line_of(value, report)),
                "active_low" => set(&mut active_low, report.boolean(value)),
                _ => report.other(Block::Appliance(Part::Lamp), entry),
            }
        }
        match (led, line) {
            (Some(led), None) => Some(Self::Led(led)),
            (None, Some(line)) => Some(Self::Line { line, active_low }),
            (Some(_), Some(_)) | (None, None) => {
                let text = "a lamp is either a led or a line";
                report.error(&at.at, text, "write { led: status } or { line: pin11 }");
                None
            }
        }
    }
}

impl Button {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let at = value;
        let map = report.map(value, "expected button to be a map/struct")?;
        let mut line = None;
        let mut it = Self {
            line: String::new(),
            active_low: true,
            pull: Pull::Up,
            debounce: Duration::from_millis(30),
            hold: Duration::from_secs(10),
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "line" => set(&mut line, line_of(value, report)),
                "active_low" => set(&mut it.active_low, report.boolean(value)),
                "bias" => set(&mut it.pull, word("bias", value, report, PULLS)),
                "debounce" => set(&mut it.debounce, report.strict_duration("debounce", value)),
                "hold" => set(&mut it.hold, span("hold", value, report)),
                _ => report.other(Block::Appliance(Part::Button), entry),
            }
        }
        if it.hold < Duration::from_secs(3) {
            let text = "a hold of less than 3 s happens by accident";
            report.error(&at.at, text, "write hold: \"10s\"");
        }
        it.line = needed(line, "line", at, report)?;
        Some(it)
    }
}

impl Input {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut name, mut line, mut subject) = (None, None, None);
        let mut it = Self {
            name: String::new(),
            line: String::new(),
            active_low: false,
            pull: Pull::AsIs,
            debounce: Duration::from_millis(50),
            subject: String::new(),
            conditioning: Conditioning::default(),
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "name" => set(&mut name, report.text(value)),
                "line" => set(&mut line, line_of(value, report)),
                "active_low" => set(&mut it.active_low, report.boolean(value)),
                "bias" => set(&mut it.pull, word("bias", value, report, PULLS)),
                "debounce" => set(&mut it.debounce, report.strict_duration("debounce", value)),
                "subject" => subject = literal(value, report),
                key @ ("heartbeat" | "latest") => {
                    it.conditioning.read(key, value, report);
                }
                _ => report.other(Block::Appliance(Part::Input), entry),
            }
        }
        it.line = needed(line, "line", at, report)?;
        it.subject = needed(subject, "subject", at, report)?;
        it.name = name.unwrap_or_else(|| it.line.clone());
        Some(it)
    }
}

impl Output {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut name, mut line, mut subject) = (None, None, None);
        let mut it = Self {
            name: String::new(),
            line: String::new(),
            active_low: false,
            subject: String::new(),
            safe: false,
            max_on: None,
            on_link_loss: LinkLoss::Keep,
        };
        let states = &[("off", false), ("on", true)];
        let losses = &[("keep", LinkLoss::Keep), ("safe", LinkLoss::Safe)];
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "name" => set(&mut name, report.text(value)),
                "line" => set(&mut line, line_of(value, report)),
                "active_low" => set(&mut it.active_low, report.boolean(value)),
                "subject" => subject = literal(value, report),
                // The language reads on and off as true and false.
                "safe" => {
                    if let crate::value::Kind::Bool(on) = value.kind {
                        it.safe = on;
                    } else {
                        set(&mut it.safe, word("safe", value, report, states));
                    }
                }
                "max_on" => it.max_on = span("max_on", value, report),
                "on_link_loss" => {
                    set(
                        &mut it.on_link_loss,
                        word("on_link_loss", value, report, losses),
                    );
                }
                _ => report.other(Block::Appliance(Part::Output), entry),
            }
        }
        it.line = needed(line, "line", at, report)?;
        it.subject = needed(subject, "subject", at, report)?;
        it.name = name.unwrap_or_else(|| it.line.clone());
        Some(it)
    }
}
