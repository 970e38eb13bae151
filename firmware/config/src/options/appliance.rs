//! What a box has besides a network: a block of Frond's own, which nats-server does not know.

use std::path::{Component, Path};
use std::time::Duration;

use crate::limits::{WATCHDOG_SECONDS_MAX, WATCHDOG_SECONDS_MIN};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};

mod conditioning;
mod lines;
mod modbus;
mod parts;
mod sensors;
mod serial;

pub use conditioning::{Condition, Conditioning, Number};
pub use lines::{Button, Input, LampPlace, LinkLoss, Output, Pull};
pub use modbus::{Modbus, ModbusLine, Register, RegisterKind, RegisterTable};
pub(crate) use parts::Part;
pub use sensors::{AdcOptions, I2cPlace, Sensor, SensorDriver};
pub use serial::{ParityBit, Port, SerialDevice, SerialKind};

/// The `appliance` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appliance {
    /// The name of a board that is built in, or the path of its manifest; `None`: no manifest.
    pub board: Option<String>,
    /// The user of this configuration that the field side is; `None`: who a client without
    /// credentials is.
    pub user: Option<String>,
    /// The account that the field side is at home in, without being a user of it. `None`: that of
    /// its user.
    pub account: Option<String>,
    /// In front of the subjects of the box's own events. `appliance` by default.
    pub prefix: String,
    /// `/sys`, or what stands for it in a test.
    pub sys: String,
    /// `/dev`, or what stands for it in a test.
    pub dev: String,
    /// Lamps that show the state.
    pub lamps: Vec<LampPlace>,
    /// The button.
    pub button: Option<Button>,
    /// The hardware watchdog; `None`: nobody feeds one.
    pub watchdog: Option<Watchdog>,
    /// What is measured.
    pub sensors: Vec<Sensor>,
    /// Digital inputs.
    pub inputs: Vec<Input>,
    /// Digital outputs.
    pub outputs: Vec<Output>,
    /// Scanners and scales.
    pub serial: Vec<SerialDevice>,
    /// Modbus devices.
    pub modbus: Vec<Modbus>,
    /// Messages of others that are thinned out before the uplink.
    pub conditions: Vec<Condition>,
}

/// `appliance.watchdog`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watchdog {
    /// Its name below `/dev`; `None`: the board's.
    pub device: Option<String>,
    /// How often the message path is probed, which is how often it is fed. 5 s by default.
    pub probe: Duration,
    /// How long it is to wait, in whole seconds; `None`: as its driver has it.
    pub timeout: Option<Duration>,
}

impl Default for Appliance {
    fn default() -> Self {
        Self {
            board: None,
            user: None,
            account: None,
            prefix: "appliance".to_owned(),
            sys: "/sys".to_owned(),
            dev: "/dev".to_owned(),
            lamps: Vec::new(),
            button: None,
            watchdog: None,
            sensors: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            serial: Vec::new(),
            modbus: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

impl Appliance {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "expected appliance to be a map/struct")?;
        let mut it = Self::default();
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "board" => set(&mut it.board, report.text(value)),
                "user" => set(&mut it.user, report.text(value)),
                "account" => set(&mut it.account, report.text(value)),
                "prefix" => set(&mut it.prefix, literal(value, report)),
                "sys" => set(&mut it.sys, report.string(value)),
                "dev" => set(&mut it.dev, report.string(value)),
                "lamps" => it.lamps = each(value, report, LampPlace::read),
                "button" => it.button = Button::read(value, report),
                "watchdog" => it.watchdog = Watchdog::read(value, report),
                "sensors" => it.sensors = each(value, report, Sensor::read),
                "inputs" => it.inputs = each(value, report, Input::read),
                "outputs" => it.outputs = each(value, report, Output::read),
                "serial" => it.serial = each(value, report, SerialDevice::read),
                "modbus" => it.modbus = each(value, report, Modbus::read),
                "conditions" => it.conditions = each(value, report, Condition::read),
                _ => report.other(Block::Appliance(Part::Whole), entry),
            }
        }
        Some(it)
    }
}

impl Watchdog {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "expected watchdog to be a map/struct")?;
        let mut it = Self {
            device: None,
            probe: Duration::from_secs(5),
            timeout: None,
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "device" => set(&mut it.device, report.text(value)),
                "probe" => set(&mut it.probe, span("probe", value, report)),
                "timeout" => it.timeout = timeout(value, report),
                _ => report.other(Block::Appliance(Part::Watchdog), entry),
            }
        }
        if it.timeout.is_some_and(|timeout| it.probe > timeout / 3) {
            let text = "a watchdog is fed at least three times within its timeout";
            report.error(&value.at, text, "write a shorter probe or a longer timeout");
        }
        Some(it)
    }
}

/// Watchdogs count whole seconds.
fn timeout(value: &Value, report: &mut Report) -> Option<Duration> {
    let timeout = span("timeout", value, report)?;
    let whole = Duration::from_secs(timeout.as_secs());
    if timeout != whole || !(WATCHDOG_SECONDS_MIN..=WATCHDOG_SECONDS_MAX).contains(&whole.as_secs())
    {
        let text = format!("a watchdog's timeout of {timeout:?}");
        let remedy = format!(
            "write whole seconds from \"{WATCHDOG_SECONDS_MIN}s\" to \"{WATCHDOG_SECONDS_MAX}s\""
        );
        report.error(&value.at, text, &remedy);
        return None;
    }
    Some(timeout)
}

/// A list of blocks; what is wrong in one of them is told and leaves it out.
fn each<T>(
    value: &Value,
    report: &mut Report,
    read: impl Fn(&Value, &Map, &mut Report) -> Option<T>,
) -> Vec<T> {
    let values = report.array(value, "expected a list of maps/structs");
    let mut all = Vec::new();
    for value in values.unwrap_or_default() {
        let map = report.map(value, "expected a map/struct");
        all.extend(map.and_then(|map| read(value, map, report)));
    }
    all
}

/// A subject that messages can be published to.
fn literal(value: &Value, report: &mut Report) -> Option<String> {
    let text = report.string(value)?;
    if frond_subject::is_literal(&text) {
        return Some(text);
    }
    let wrong = format!("{text:?} is no subject to publish to");
    report.error(
        &value.at,
        wrong,
        "write words with dots between, no wildcards",
    );
    None
}

/// The place of a line: one that is a file lies below `/sys`.
fn line_of(value: &Value, report: &mut Report) -> Option<Option<String>> {
    match value.as_str() {
        Some(text) if text.starts_with("file:") => below_sys(value, "file:", report),
        Some(_) | None => report.text(value),
    }
}

/// The kernel's name of one device.
fn device_name(value: &Value, report: &mut Report) -> Option<Option<String>> {
    let text = report.text(value)?;
    let name = text.as_deref().unwrap_or_default();
    if name.contains('/') || name == ".." {
        let wrong = format!("{name:?} is no name of a device");
        report.error(
            &value.at,
            wrong,
            "write its name below /sys, without a path",
        );
    }
    Some(text)
}

/// A path below `/sys`, behind a word: what is read there, or even written, is a device's.
fn below_sys(value: &Value, word: &str, report: &mut Report) -> Option<Option<String>> {
    let text = report.text(value)?;
    let path = text.as_deref().and_then(|text| text.strip_prefix(word));
    let path = Path::new(path.unwrap_or_default());
    let inner = path.strip_prefix("/sys").unwrap_or(path);
    let inner = inner.strip_prefix("/").unwrap_or(inner);
    let stays = path.is_relative() || path.starts_with("/sys");
    if stays
        && inner
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
    {
        return Some(text);
    }
    let wrong = format!("{} is not below /sys", path.display());
    let remedy = "name it from there: class/thermal/thermal_zone0/temp";
    report.error(&value.at, wrong, remedy);
    None
}

/// A time that is not zero.
fn span(field: &str, value: &Value, report: &mut Report) -> Option<Duration> {
    let time = report.strict_duration(field, value)?;
    if time.is_zero() {
        let text = format!("{field} of 0 is no time");
        report.error(&value.at, text, "write \"100ms\", \"5s\" or \"1m\"");
        return None;
    }
    Some(time)
}

/// Any number.
fn number(value: &Value, report: &mut Report) -> Option<Number> {
    #[expect(clippy::cast_precision_loss, reason = "what people write fits")]
    match value.kind {
        Kind::Float(n) => Some(Number(n)),
        Kind::Integer(n) => Some(Number(n as f64)),
        Kind::String(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!("expected a number, got {}", value.kind.go_name());
            report.error(&value.at, text, "write 0.5, without quotes");
            None
        }
    }
}

/// Nothing is between bounds the wrong way round: every reading would be uncertain.
fn in_order(min: Option<Number>, max: Option<Number>, at: &Value, report: &mut Report) {
    if let (Some(Number(min)), Some(Number(max))) = (min, max)
        && min > max
    {
        let text = format!("min ({min}) is more than max ({max})");
        report.error(&at.at, text, "exchange them");
    }
}

/// A whole number within bounds, decimal, or hexadecimal in quotes.
fn whole(
    field: &str,
    value: &Value,
    report: &mut Report,
    (least, most): (u32, u32),
) -> Option<u32> {
    let hex = |text: &str| {
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let number = match &value.kind {
        Kind::Integer(n) => u32::try_from(*n).ok(),
        Kind::String(text) => hex(text),
        Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => None,
    };
    let number = number.filter(|n| (least..=most).contains(n));
    if number.is_none() {
        let text = format!("{field} is not a number from {least} to {most}");
        let remedy = format!("write a number such as {least} or \"{least:#x}\"");
        report.error(&value.at, text, &remedy);
    }
    number
}

/// One of a few words.
fn word<T: Copy>(
    field: &str,
    value: &Value,
    report: &mut Report,
    words: &[(&str, T)],
) -> Option<T> {
    let text = report.string(value)?;
    let found = words
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(&text));
    if found.is_none() {
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let remedy = format!("it is one of: {}", known.join(", "));
        report.error(&value.at, format!("unknown {field} {text:?}"), &remedy);
    }
    found.map(|(_, it)| *it)
}

/// What a block cannot do without.
fn needed<T>(found: Option<T>, what: &str, at: &Value, report: &mut Report) -> Option<T> {
    if found.is_none() && !report.is_about(&at.at) {
        report.error(&at.at, format!("{what} is missing here"), "add it");
    }
    found
}

#[cfg(test)]
mod tests;
