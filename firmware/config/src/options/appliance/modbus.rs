use std::time::Duration;

use super::{
    Conditioning, Number, Part, Port, each, in_order, literal, needed, number, span, whole, word,
};
use crate::report::{Report, set, split_host_port};
use crate::unsupported::Block;
use crate::value::{Map, Value};

/// A Modbus device: one of `appliance.modbus`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modbus {
    /// Its name in events and reasons.
    pub name: String,
    /// The way to it.
    pub line: ModbusLine,
    /// Its number on that way, 0 to 247. 1 by default.
    pub unit: u8,
    /// How often it is read. 10 s by default.
    pub interval: Duration,
    /// How long an answer may take. 1 s by default.
    pub timeout: Duration,
    /// What is read.
    pub registers: Vec<Register>,
}

/// The way to a Modbus device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModbusLine {
    /// `host:port`
    Tcp(String),
    /// A serial line.
    Rtu(Port),
}

/// A value of a Modbus device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// In which table it is.
    pub table: RegisterTable,
    /// Its address, counted from 0.
    pub address: u16,
    /// How it is written there.
    pub kind: RegisterKind,
    /// The low word comes first.
    pub swap: bool,
    /// What it is multiplied by.
    pub scale: Number,
    /// What is added after that.
    pub offset: Number,
    /// A value below it is uncertain.
    pub min: Option<Number>,
    /// A value above it is uncertain.
    pub max: Option<Number>,
    /// The unit to tell.
    pub unit: String,
    /// Where it goes.
    pub subject: String,
    /// What is left out before the uplink.
    pub conditioning: Conditioning,
}

/// The four tables of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterTable {
    /// 4xxxx
    Holding,
    /// 3xxxx
    Input,
    /// 0xxxx
    Coil,
    /// 1xxxx
    Discrete,
}

/// How a value is written in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterKind {
    /// 16 bits.
    U16,
    /// 16 bits, signed.
    I16,
    /// 32 bits.
    U32,
    /// 32 bits, signed.
    I32,
    /// 32 bits, floating.
    F32,
}

impl RegisterKind {
    /// How many registers it takes.
    #[must_use]
    pub const fn words(self) -> u16 {
        match self {
            Self::U16 | Self::I16 => 1,
            Self::U32 | Self::I32 | Self::F32 => 2,
        }
    }
}

impl Modbus {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut name, mut tcp, mut registers) = (None, None, None);
        let (mut port, mut is_serial) = (Port::default(), false);
        let mut it = Self {
            name: String::new(),
            line: ModbusLine::Tcp(String::new()),
            unit: 1,
            interval: Duration::from_secs(10),
            timeout: Duration::from_secs(1),
            registers: Vec::new(),
        };
        for entry in map {
            let value = &entry.value;
            let key = entry.key.to_lowercase();
            match key.as_str() {
                "name" => set(&mut name, report.text(value)),
                "tcp" => tcp = address(value, report),
                "unit" => {
                    let unit = whole(&key, value, report, (0, 247));
                    set(&mut it.unit, unit.and_then(|n| u8::try_from(n).ok()));
                }
                "interval" => set(&mut it.interval, span(&key, value, report)),
                "timeout" => set(&mut it.timeout, span(&key, value, report)),
                "registers" => registers = Some(each(value, report, Register::read)),
                key => {
                    is_serial |= key == "port";
                    if !port.read(key, value, report) {
                        report.other(Block::Appliance(Part::Modbus), entry);
                    }
                }
            }
        }
        it.line = match (tcp, is_serial) {
            (Some(host), false) => ModbusLine::Tcp(host),
            (None, true) => ModbusLine::Rtu(port),
            (Some(_), true) | (None, false) => {
                if !report.is_about(&at.at) {
                    let text = "a Modbus device is behind either tcp or a serial port";
                    report.error(&at.at, text, "write tcp: \"host:502\" or port: ttyUSB0");
                }
                return None;
            }
        };
        it.registers = needed(registers, "registers", at, report)?;
        it.name = name.unwrap_or_else(|| match &it.line {
            ModbusLine::Tcp(host) => host.clone(),
            ModbusLine::Rtu(port) => port.name.clone(),
        });
        Some(it)
    }
}

fn address(value: &Value, report: &mut Report) -> Option<String> {
    let text = report.string(value)?;
    let split = split_host_port(&text);
    let is_good = split.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !is_good {
        let wrong = format!("{text:?} is no host:port");
        report.error(&value.at, wrong, "write \"192.168.1.20:502\"");
        return None;
    }
    Some(text)
}

const TABLES: &[(&str, RegisterTable)] = &[
    ("holding", RegisterTable::Holding),
    ("input", RegisterTable::Input),
    ("coil", RegisterTable::Coil),
    ("discrete", RegisterTable::Discrete),
];

const KINDS: &[(&str, RegisterKind)] = &[
    ("u16", RegisterKind::U16),
    ("i16", RegisterKind::I16),
    ("u32", RegisterKind::U32),
    ("i32", RegisterKind::I32),
    ("f32", RegisterKind::F32),
];

impl Register {
    fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut address, mut subject) = (None, None);
        let mut it = Self {
            table: RegisterTable::Holding,
            address: 0,
            kind: RegisterKind::U16,
            swap: false,
            scale: Number(1.0),
            offset: Number(0.0),
            min: None,
            max: None,
            unit: String::new(),
            subject: String::new(),
            conditioning: Conditioning::default(),
        };
        for entry in map {
            let value = &entry.value;
            let key = entry.key.to_lowercase();
            match key.as_str() {
                "table" => set(&mut it.table, word(&key, value, report, TABLES)),
                "address" => address = whole(&key, value, report, (0, 0xFFFF)),
                "kind" => set(&mut it.kind, word(&key, value, report, KINDS)),
                "swap" => set(&mut it.swap, report.boolean(value)),
                "scale" => set(&mut it.scale, number(value, report)),
                "offset" => set(&mut it.offset, number(value, report)),
                "min" => it.min = number(value, report),
                "max" => it.max = number(value, report),
                "unit" => set(&mut it.unit, report.string(value)),
                "subject" => subject = literal(value, report),
                key => {
                    if !it.conditioning.read(key, value, report) {
                        report.other(Block::Appliance(Part::Register), entry);
                    }
                }
            }
        }
        let address = needed(address, "address (counted from 0)", at, report)?;
        it.address = u16::try_from(address).ok()?;
        in_order(it.min, it.max, at, report);
        it.subject = needed(subject, "subject", at, report)?;
        Some(it)
    }
}
