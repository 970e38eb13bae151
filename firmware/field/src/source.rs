use std::time::Duration;

use frond_board::{AdcInput, AdcKind, AdcRange, Doubt, Driver, Quality, Quantity};
use frond_clock::Instant;
use frond_config::{
    AdcOptions, Appliance, Conditioning, I2cPlace, Modbus, Register, Sensor, SensorDriver,
};

use crate::conditioner::{Conditioner, Value};
use crate::shown::{Latest, Shown};

/// Something that is sampled, by what reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A number in a file below `/sys`.
    File(String),
    /// A thermometer on the 1-Wire bus.
    OneWire(String),
    /// A sensor on an I²C bus.
    I2c(String, Driver),
    /// All registers of a Modbus device: one value each, in their order.
    Modbus(Modbus),
}

/// Everything that is sampled, in the order of the numbers of [`crate::Wish::Sample`].
#[derive(Clone, Debug, PartialEq)]
pub struct Plan(pub Vec<Origin>);

impl Plan {
    /// Sensors first, Modbus devices after them.
    #[must_use]
    pub fn of(options: &Appliance) -> Self {
        let sensors = options.sensors.iter().map(|sensor| origin(&sensor.driver));
        let modbus = options.modbus.iter().cloned().map(Origin::Modbus);
        Self(sensors.chain(modbus).collect())
    }
}

fn origin(driver: &SensorDriver) -> Origin {
    let on = |at: &I2cPlace, driver| Origin::I2c(at.bus.clone(), driver);
    match driver {
        SensorDriver::File { path } => Origin::File(path.clone()),
        SensorDriver::OneWire { id } => Origin::OneWire(id.clone()),
        SensorDriver::Bme280(at) => on(
            at,
            Driver::Bme280 {
                address: at.address,
            },
        ),
        SensorDriver::Sht4x(at) => on(
            at,
            Driver::Sht4x {
                address: at.address,
            },
        ),
        SensorDriver::Ads1x1x(at, adc) => on(at, converter(at.address, adc)),
        SensorDriver::Ina219(at, shunt) => {
            let (address, shunt_ohm) = (at.address, shunt.0);
            on(at, Driver::Ina219 { address, shunt_ohm })
        }
        SensorDriver::Mcp9808(at) => on(
            at,
            Driver::Mcp9808 {
                address: at.address,
            },
        ),
        SensorDriver::Lm75(at) => on(
            at,
            Driver::Lm75 {
                address: at.address,
            },
        ),
        SensorDriver::Ds323x(at) => on(at, Driver::Ds323x),
    }
}

fn converter(address: u8, options: &AdcOptions) -> Driver {
    Driver::Ads1x1x {
        address,
        kind: if options.bits == 12 {
            AdcKind::Bits12
        } else {
            AdcKind::Bits16
        },
        input: match options.input {
            "a1" => AdcInput::A1,
            "a2" => AdcInput::A2,
            "a3" => AdcInput::A3,
            "a0a1" => AdcInput::A0A1,
            "a2a3" => AdcInput::A2A3,
            _ => AdcInput::A0,
        },
        range: match options.range_mv {
            6_144 => AdcRange::V6_144,
            2_048 => AdcRange::V2_048,
            1_024 => AdcRange::V1_024,
            512 => AdcRange::V0_512,
            256 => AdcRange::V0_256,
            _ => AdcRange::V4_096,
        },
    }
}

/// One origin: when it is sampled, and where its values go.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    interval: Duration,
    timeout: Duration,
    state: State,
    pub(crate) channels: Vec<Channel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be sampled then.
    Due(Instant),
    /// Asked; told to be late then, to be asked again not before the other.
    Asked { late: Instant, next: Instant },
    /// Told to be late. It is not asked again until it answers.
    Stuck { next: Instant },
}

/// Values of one quantity on their way to one subject.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) subject: String,
    pub(crate) raw: Option<String>,
    pub(crate) latest: Option<String>,
    pub(crate) unit: String,
    /// Which quantity it is; `None`: it is the one at its own place.
    pub(crate) quantity: Option<Quantity>,
    scale: f64,
    offset: f64,
    min: Option<f64>,
    max: Option<f64>,
    pub(crate) conditioner: Conditioner,
    pub(crate) seq: u64,
    pub(crate) raw_seq: u64,
    /// Of the latest reading.
    pub(crate) reason: String,
    pub(crate) last: Latest,
}

/// What becomes of a source as time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Sample,
    /// It does not answer.
    Late,
    Wait,
}

impl Source {
    pub(crate) fn all(now: Instant, options: &Appliance) -> Vec<Self> {
        let sensors = options.sensors.iter().map(|sensor| {
            let channels = sensor_channels(sensor);
            let times = (sensor.interval, sensor.timeout);
            Self::new(now, &sensor.name, times, channels)
        });
        let modbus = options.modbus.iter().map(|device| {
            let channels = device.registers.iter().map(register_channel).collect();
            // A device that does not answer is asked for each of its registers.
            let count = u32::try_from(device.registers.len()).unwrap_or(1);
            let times = (device.interval, device.timeout * (count + 1));
            Self::new(now, &device.name, times, channels)
        });
        sensors.chain(modbus).collect()
    }

    fn new(
        now: Instant,
        name: &str,
        (interval, timeout): (Duration, Duration),
        channels: Vec<Channel>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            interval,
            timeout,
            state: State::Due(now),
            channels,
        }
    }

    pub(crate) fn time(&mut self, now: Instant) -> Turn {
        match self.state {
            State::Due(at) if now >= at => {
                self.state = State::Asked {
                    late: now + self.timeout,
                    next: at.max(now) + self.interval,
                };
                Turn::Sample
            }
            State::Asked { late, next } if now >= late => {
                self.state = State::Stuck { next };
                Turn::Late
            }
            State::Due(_) | State::Asked { .. } | State::Stuck { .. } => Turn::Wait,
        }
    }

    /// It answered; whether in time.
    pub(crate) fn answered(&mut self, now: Instant) {
        match self.state {
            State::Asked { next, .. } | State::Stuck { next } => {
                self.state = State::Due(next.max(now));
            }
            State::Due(_) => {}
        }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let own = match self.state {
            State::Due(at) => Some(at),
            State::Asked { late, .. } => Some(late),
            State::Stuck { .. } => None,
        };
        let channels = self
            .channels
            .iter()
            .filter_map(|c| c.conditioner.deadline());
        own.into_iter().chain(channels).min()
    }
}

impl Channel {
    /// A value as it is told: in its unit, and uncertain where its sensor doubts it or it makes no
    /// sense.
    pub(crate) fn judge(&mut self, measured: f64, doubt: Option<Doubt>) -> Value {
        let number = measured * self.scale + self.offset;
        let is_out =
            self.min.is_some_and(|min| number < min) || self.max.is_some_and(|max| number > max);
        self.reason.clear();
        let quality = if !number.is_finite() {
            self.reason.push_str("the sensor gave no number");
            Quality::Bad
        } else if let Some(doubt) = doubt {
            self.reason.push_str(doubt.words());
            Quality::Uncertain
        } else if is_out {
            self.reason.push_str("outside of what makes sense here");
            Quality::Uncertain
        } else {
            Quality::Good
        };
        Value { number, quality }
    }

    /// As people see it; `has_many`: its sensor measures other things as well.
    pub(crate) fn shown(&self, name: &str, has_many: bool) -> Shown {
        let name = match (has_many, self.quantity) {
            (false, _) => name.to_owned(),
            (true, Some(quantity)) => format!("{name} {}", quantity.name()),
            (true, None) => format!("{name} {}", self.subject),
        };
        self.last
            .shown(&name, &self.subject, &self.unit, &self.reason)
    }

    pub(crate) fn of_conditioning(subject: &str, unit: &str, options: &Conditioning) -> Self {
        Self {
            subject: subject.to_owned(),
            raw: options.raw.clone(),
            latest: options.latest.clone(),
            unit: unit.to_owned(),
            quantity: None,
            scale: 1.0,
            offset: 0.0,
            min: None,
            max: None,
            conditioner: Conditioner::new(options),
            seq: 0,
            raw_seq: 0,
            reason: String::new(),
            last: Latest::default(),
        }
    }
}

fn sensor_channels(sensor: &Sensor) -> Vec<Channel> {
    let quantities: &[Quantity] = match origin(&sensor.driver) {
        Origin::I2c(_, driver) => driver.quantities(),
        Origin::OneWire(_) => &[Quantity::Temperature],
        Origin::File(_) | Origin::Modbus(_) => &[Quantity::Number],
    };
    let has_many = quantities.len() > 1;
    let channel = |quantity: &Quantity| {
        let unit = sensor.unit.as_deref().filter(|_| !has_many);
        let subject = if has_many {
            format!("{}.{}", sensor.subject, quantity.name())
        } else {
            sensor.subject.clone()
        };
        let unit = unit.unwrap_or_else(|| quantity.unit());
        let mut it = Channel::of_conditioning(&subject, unit, &sensor.conditioning);
        if let Some(raw) = it.raw.as_mut().filter(|_| has_many) {
            *raw = format!("{raw}.{}", quantity.name());
        }
        it.quantity = Some(*quantity);
        // What is set for one quantity would be nonsense for the others.
        if !has_many {
            it.scale = sensor.scale.0;
            it.offset = sensor.offset.0;
            it.min = sensor.min.map(|n| n.0);
            it.max = sensor.max.map(|n| n.0);
        }
        it
    };
    quantities.iter().map(channel).collect()
}

fn register_channel(register: &Register) -> Channel {
    let (subject, unit) = (&register.subject, &register.unit);
    let mut it = Channel::of_conditioning(subject, unit, &register.conditioning);
    it.scale = register.scale.0;
    it.offset = register.offset.0;
    it.min = register.min.map(|n| n.0);
    it.max = register.max.map(|n| n.0);
    it
}
