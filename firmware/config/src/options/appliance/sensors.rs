use std::time::Duration;

use super::{
    Conditioning, Number, Part, below_sys, device_name, in_order, literal, needed, number, span,
    whole, word,
};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Entry, Map, Value};

/// What is measured: one of `appliance.sensors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sensor {
    /// Its name in events and reasons.
    pub name: String,
    /// How it is read.
    pub driver: SensorDriver,
    /// Where its values go. A sensor of several quantities adds `.temperature`, `.humidity`...
    pub subject: String,
    /// How often. 10 s by default.
    pub interval: Duration,
    /// How long an answer may take before it is told that there is none. 2 s by default.
    pub timeout: Duration,
    /// The unit to tell, for a driver that knows none; `None`: its own.
    pub unit: Option<String>,
    /// What a value is multiplied by.
    pub scale: Number,
    /// What is added after that.
    pub offset: Number,
    /// A value below it is uncertain.
    pub min: Option<Number>,
    /// A value above it is uncertain.
    pub max: Option<Number>,
    /// What is left out before the uplink.
    pub conditioning: Conditioning,
}

/// How a sensor is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SensorDriver {
    /// A number in a file below `/sys`.
    File {
        /// Its path, from `/sys`.
        path: String,
    },
    /// A thermometer on the 1-Wire bus.
    OneWire {
        /// Its id, as `28-0316a2798bff`.
        id: String,
    },
    /// Temperature, humidity and pressure.
    Bme280(I2cPlace),
    /// Temperature and humidity.
    Sht4x(I2cPlace),
    /// A voltage.
    Ads1x1x(I2cPlace, AdcOptions),
    /// Voltage, current and power.
    Ina219(I2cPlace, Number),
    /// Temperature.
    Mcp9808(I2cPlace),
    /// Temperature.
    Lm75(I2cPlace),
    /// A real-time clock.
    Ds323x(I2cPlace),
}

/// Where a sensor is on an I²C bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct I2cPlace {
    /// The bus: its role on the board, or its name below `/dev`.
    pub bus: String,
    /// The address.
    pub address: u8,
}

/// What a converter looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdcOptions {
    /// 12 or 16.
    pub bits: u32,
    /// `a0` to `a3`, `a0a1` or `a2a3`.
    pub input: &'static str,
    /// The largest voltage, in millivolt: 6144, 4096, 2048, 1024, 512 or 256.
    pub range_mv: u32,
}

const DRIVERS: &[(&str, &str)] = &[
    ("file", "file"),
    ("w1", "w1"),
    ("bme280", "bme280"),
    ("bmp280", "bme280"),
    ("sht4x", "sht4x"),
    ("ads1115", "ads1x1x"),
    ("ads1015", "ads1x1x"),
    ("ads1x1x", "ads1x1x"),
    ("ina219", "ina219"),
    ("mcp9808", "mcp9808"),
    ("lm75", "lm75"),
    ("tmp75", "lm75"),
    ("tmp102", "lm75"),
    ("tmp105", "lm75"),
    ("ds3231", "ds323x"),
    ("ds323x", "ds323x"),
];

const ADC_INPUTS: &[(&str, &str)] = &[
    ("a0", "a0"),
    ("a1", "a1"),
    ("a2", "a2"),
    ("a3", "a3"),
    ("a0a1", "a0a1"),
    ("a2a3", "a2a3"),
];

const ADC_RANGES: &[(&str, u32)] = &[
    ("6.144V", 6_144),
    ("4.096V", 4_096),
    ("2.048V", 2_048),
    ("1.024V", 1_024),
    ("0.512V", 512),
    ("0.256V", 256),
];

/// What says how a sensor is read, before it is known how.
#[derive(Default)]
struct Place {
    driver: Option<(&'static str, bool)>,
    bus: Option<String>,
    address: Option<u32>,
    id: Option<String>,
    path: Option<String>,
    input: Option<&'static str>,
    range_mv: Option<u32>,
    bits: Option<u32>,
    shunt: Option<Number>,
}

impl Sensor {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let mut place = Place::default();
        let (mut name, mut subject) = (None, None);
        let mut it = Self {
            name: String::new(),
            driver: SensorDriver::File {
                path: String::new(),
            },
            subject: String::new(),
            interval: Duration::from_secs(10),
            timeout: Duration::from_secs(2),
            unit: None,
            scale: Number(1.0),
            offset: Number(0.0),
            min: None,
            max: None,
            conditioning: Conditioning::default(),
        };
        for entry in map {
            let value = &entry.value;
            let key = entry.key.to_lowercase();
            match key.as_str() {
                "name" => set(&mut name, report.text(value)),
                "subject" => subject = literal(value, report),
                "interval" => set(&mut it.interval, span(&key, value, report)),
                "timeout" => set(&mut it.timeout, span(&key, value, report)),
                "unit" => set(&mut it.unit, report.text(value)),
                "scale" => set(&mut it.scale, number(value, report)),
                "offset" => set(&mut it.offset, number(value, report)),
                "min" => it.min = number(value, report),
                "max" => it.max = number(value, report),
                key => {
                    if !it.conditioning.read(key, value, report) {
                        place.read(key, entry, report);
                    }
                }
            }
        }
        in_order(it.min, it.max, at, report);
        it.subject = needed(subject, "subject", at, report)?;
        it.name = name.unwrap_or_else(|| it.subject.clone());
        it.driver = place.driver(at, report)?;
        Some(it)
    }
}

impl Place {
    fn read(&mut self, key: &str, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        match key {
            "driver" => {
                let is_15 = value.as_str().is_some_and(|text| text.contains("015"));
                let driver = word("driver", value, report, DRIVERS);
                self.driver = driver.map(|name| (name, is_15));
            }
            "bus" => set(&mut self.bus, report.text(value)),
            "address" => self.address = whole(key, value, report, (0x03, 0x77)),
            "id" => set(&mut self.id, device_name(value, report)),
            "path" => set(&mut self.path, below_sys(value, "", report)),
            "input" => self.input = word(key, value, report, ADC_INPUTS),
            "range" => self.range_mv = word(key, value, report, ADC_RANGES),
            "bits" => self.bits = whole(key, value, report, (12, 16)),
            "shunt" => {
                let shunt = number(value, report);
                if shunt.is_some_and(|ohm| ohm.0 <= 0.0) {
                    report.error(&value.at, "a shunt has more than 0 ohm", "write 0.1");
                }
                self.shunt = shunt;
            }
            _ => report.other(Block::Appliance(Part::Sensor), entry),
        }
    }

    fn driver(self, at: &Value, report: &mut Report) -> Option<SensorDriver> {
        let what = "driver (file, w1, bme280, sht4x, ads1115, ina219, mcp9808, lm75 or ds3231)";
        let (name, is_15) = needed(self.driver, what, at, report)?;
        let first = match name {
            "file" => {
                let path = needed(self.path, "path (from /sys)", at, report)?;
                return Some(SensorDriver::File { path });
            }
            "w1" => {
                let id = needed(self.id, "id (as 28-0316a2798bff)", at, report)?;
                return Some(SensorDriver::OneWire { id });
            }
            "bme280" => 0x76,
            "sht4x" => 0x44,
            "ads1x1x" | "lm75" => 0x48,
            "ina219" => 0x40,
            "mcp9808" => 0x18,
            _ => 0x68,
        };
        let address = self.address.and_then(|n| u8::try_from(n).ok());
        let place = I2cPlace {
            bus: self.bus.unwrap_or_else(|| "i2c".to_owned()),
            address: address.unwrap_or(first),
        };
        let last = match name {
            "bme280" => 0x77,
            "sht4x" => 0x46,
            "ads1x1x" => 0x4B,
            "ina219" | "lm75" => 0x4F,
            "mcp9808" => 0x1F,
            _ => 0x68,
        };
        if !(first..=last).contains(&place.address) {
            let text = format!("no {name} is at {:#04x}", place.address);
            let remedy = format!("its address is from {first:#04x} to {last:#04x}");
            report.error(&at.at, text, &remedy);
            return None;
        }
        Some(match name {
            "bme280" => SensorDriver::Bme280(place),
            "sht4x" => SensorDriver::Sht4x(place),
            "ads1x1x" => {
                let options = AdcOptions {
                    bits: self.bits.unwrap_or(if is_15 { 12 } else { 16 }),
                    input: self.input.unwrap_or("a0"),
                    range_mv: self.range_mv.unwrap_or(4_096),
                };
                SensorDriver::Ads1x1x(place, options)
            }
            "ina219" => SensorDriver::Ina219(place, self.shunt.unwrap_or(Number(0.1))),
            "mcp9808" => SensorDriver::Mcp9808(place),
            "lm75" => SensorDriver::Lm75(place),
            _ => SensorDriver::Ds323x(place),
        })
    }
}
