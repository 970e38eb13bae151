use super::{Conditioning, Part, literal, needed, whole, word};
use crate::limits::SERIAL_LINE_BYTES_MAX;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Map, Value};

/// A scanner or a scale: one of `appliance.serial`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerialDevice {
    /// Its name in events.
    pub name: String,
    /// Where it is, and how that is set.
    pub port: Port,
    /// What its lines are.
    pub kind: SerialKind,
    /// Where they go.
    pub subject: String,
    /// Bytes of a line; what is longer is cut. 256 by default.
    pub line_bytes_max: usize,
    /// The unit of a scale that tells none.
    pub unit: Option<String>,
    /// What is left out before the uplink, of a scale.
    pub conditioning: Conditioning,
}

/// A serial port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its role on the board, or its name below `/dev`.
    pub name: String,
    /// Bits per second. 9600 by default.
    pub baud: u32,
    /// 7 or 8.
    pub data_bits: u8,
    /// 1 or 2.
    pub stop_bits: u8,
    /// The ninth bit.
    pub parity: ParityBit,
}

/// What the ninth bit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParityBit {
    /// There is none.
    #[default]
    None,
    /// The count of ones is even.
    Even,
    /// The count of ones is odd.
    Odd,
}

/// What the lines of a device are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialKind {
    /// Text: barcodes.
    Scanner,
    /// A number and perhaps a unit: weights.
    Scale,
}

impl Default for Port {
    fn default() -> Self {
        Self {
            name: "serial".to_owned(),
            baud: 9_600,
            data_bits: 8,
            stop_bits: 1,
            parity: ParityBit::None,
        }
    }
}

impl Port {
    /// Whether it read that option.
    pub(super) fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        let small = |n: Option<u32>| n.and_then(|n| u8::try_from(n).ok());
        let parities = &[
            ("none", ParityBit::None),
            ("even", ParityBit::Even),
            ("odd", ParityBit::Odd),
        ];
        match key {
            "port" => set(&mut self.name, report.string(value)),
            "baud" => set(&mut self.baud, whole(key, value, report, (50, 4_000_000))),
            "data_bits" => set(
                &mut self.data_bits,
                small(whole(key, value, report, (7, 8))),
            ),
            "stop_bits" => set(
                &mut self.stop_bits,
                small(whole(key, value, report, (1, 2))),
            ),
            "parity" => set(&mut self.parity, word(key, value, report, parities)),
            _ => return false,
        }
        true
    }
}

impl SerialDevice {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut name, mut subject) = (None, None);
        let mut it = Self {
            name: String::new(),
            port: Port::default(),
            kind: SerialKind::Scanner,
            subject: String::new(),
            line_bytes_max: 256,
            unit: None,
            conditioning: Conditioning::default(),
        };
        let kinds = &[
            ("scanner", SerialKind::Scanner),
            ("scale", SerialKind::Scale),
        ];
        for entry in map {
            let value = &entry.value;
            let key = entry.key.to_lowercase();
            match key.as_str() {
                "name" => set(&mut name, report.text(value)),
                "subject" => subject = literal(value, report),
                "kind" => set(&mut it.kind, word(&key, value, report, kinds)),
                "unit" => set(&mut it.unit, report.text(value)),
                "line_bytes_max" => {
                    let n = whole(&key, value, report, (1, SERIAL_LINE_BYTES_MAX));
                    let n = n.and_then(|n| usize::try_from(n).ok());
                    set(&mut it.line_bytes_max, n);
                }
                key => {
                    let read = it.port.read(key, value, report)
                        || it.conditioning.read(key, value, report);
                    if !read {
                        report.other(Block::Appliance(Part::Serial), entry);
                    }
                }
            }
        }
        it.subject = needed(subject, "subject", at, report)?;
        it.name = name.unwrap_or_else(|| it.port.name.clone());
        Some(it)
    }
}
