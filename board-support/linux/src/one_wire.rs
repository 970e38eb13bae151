use std::path::PathBuf;

use frond_board::{Measure, Quantity, Reason, Sampled};

use crate::roots::Roots;
use crate::told::plain;

/// A thermometer on the 1-Wire bus, read through the kernel's `w1_therm`.
#[derive(Clone, Debug)]
pub struct OneWire {
    dir: PathBuf,
    id: String,
}

/// What a DS18B20 says that lost its power while it measured.
const POWER_ON_C: f64 = 85.0;

/// What it measures.
const CELSIUS: (f64, f64) = (-55.0, 125.0);

impl OneWire {
    /// The device of that id (`28-0316a2798bff`).
    #[must_use]
    pub fn new(roots: &Roots, id: &str) -> Self {
        Self {
            dir: roots.sys.join("bus/w1/devices").join(id),
            id: id.to_owned(),
        }
    }

    /// Its temperature. The kernel takes 750 ms for it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn sample(&self) -> Sampled {
        let text = std::fs::read_to_string(self.dir.join("w1_slave")).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                Reason::of(format_args!(
                    "no {} on the 1-Wire bus: is it connected?",
                    self.id
                ))
            } else {
                Reason::of(format_args!("{}: {}", self.id, plain(&error)))
            }
        })?;
        let celsius = match self.parse(&text) {
            Ok(celsius) => celsius,
            Err(what) => return Err(Reason::of(format_args!("{} {what}", self.id))),
        };
        if celsius.total_cmp(&POWER_ON_C).is_eq() {
            let why = format_args!("{} lost its power while it measured", self.id);
            return Err(Reason::of(why));
        }
        let measured = Measure::within(Quantity::Temperature, celsius, CELSIUS);
        Ok(core::iter::once(measured).collect())
    }

    /// Two lines: nine bytes and whether their checksum fits, then `t=` in thousandths. The
    /// checksum of nothing but zeros fits too: that is a line held low, not zero degrees.
    ///
    /// spec: Linux drivers/w1/slaves/w1_therm.c (`w1_slave_show`: nothing at all after a fault)
    fn parse(&self, text: &str) -> Result<f64, &'static str> {
        const GARBLED: &str = "answered garbled: check the wires";
        if text.trim().is_empty() {
            return Err("does not answer: is it connected?");
        }
        let (first, second) = text.split_once('\n').ok_or(GARBLED)?;
        let (pad, verdict) = first.split_once(':').ok_or(GARBLED)?;
        let bytes: Result<Vec<u8>, _> = pad
            .split_ascii_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16))
            .collect();
        let bytes = bytes.map_err(|_| GARBLED)?;
        let [_, _, _, _, settings, _, _, _, _] = bytes.as_slice() else {
            return Err(GARBLED);
        };
        if bytes.iter().all(|byte| *byte == 0) {
            return Err("answers zeros only: the data line is shorted");
        }
        if bytes.iter().all(|byte| *byte == 0xFF) {
            return Err("does not answer: is it connected?");
        }
        // The low five bits of a DS18B20's settings are always ones.
        let is_itself = !self.id.starts_with("28-") || settings & 0x1F == 0x1F;
        if !verdict.trim_end().ends_with("YES") || !is_itself {
            return Err(GARBLED);
        }
        let milli = second.split_once("t=").map(|(_, milli)| milli.trim());
        let milli: i32 = milli.and_then(|it| it.parse().ok()).ok_or(GARBLED)?;
        Ok(f64::from(milli) / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_one_value_or_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let sensor = OneWire::new(&roots, "28-01");
        let why = sensor.sample().unwrap_err();
        assert_eq!(why.as_str(), "no 28-01 on the 1-Wire bus: is it connected?");
        let device = dir.path().join("bus/w1/devices/28-01");
        std::fs::create_dir_all(&device).unwrap();
        let show = |crc: &str, t: &str| {
            let text = format!(
                "4e 01 4b 46 7f ff 02 10 6d : crc=6d {crc}\n4e 01 4b 46 7f ff 02 10 6d t={t}\n"
            );
            std::fs::write(device.join("w1_slave"), text).unwrap();
        };
        for (t, celsius) in [("20875", 20.875), ("-1250", -1.25), ("0", 0.0)] {
            show("YES", t);
            let want = Measure::good(Quantity::Temperature, celsius);
            assert_eq!(sensor.sample().unwrap(), [want]);
        }
        show("NO", "20875");
        assert!(sensor.sample().unwrap_err().as_str().contains("garbled"));
        show("YES", "85000");
        assert!(
            sensor
                .sample()
                .unwrap_err()
                .as_str()
                .contains("lost its power")
        );
    }

    #[test]
    fn a_line_that_carries_nothing_is_no_temperature() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: dir.path().to_owned(),
            dev: dir.path().to_owned(),
        };
        let cases = [
            ("", "28-01 does not answer: is it connected?"),
            ("\n", "28-01 does not answer: is it connected?"),
            (
                "00 00 00 00 00 00 00 00 00 : crc=00 YES\n00 00 00 00 00 00 00 00 00 t=0\n",
                "28-01 answers zeros only: the data line is shorted",
            ),
            (
                "ff ff ff ff ff ff ff ff ff : crc=c9 NO\n00 00 00 00 00 00 00 00 00 t=-62\n",
                "28-01 does not answer: is it connected?",
            ),
            // The checksum fits, and what it is of is no DS18B20.
            (
                "00 00 00 00 00 00 00 01 5e : crc=5e YES\n00 00 00 00 00 00 00 01 5e t=0\n",
                "28-01 answered garbled: check the wires",
            ),
            (
                "4e 01 4b : crc=6d YES\nt=20875\n",
                "28-01 answered garbled: check the wires",
            ),
            (
                "4e 01 4b 46 7f ff 02 10 6d : crc=6d YES\nt=\n",
                "28-01 answered garbled: check the wires",
            ),
        ];
        let sensor = OneWire::new(&roots, "28-01");
        let device = dir.path().join("bus/w1/devices/28-01");
        std::fs::create_dir_all(&device).unwrap();
        for (text, why) in cases {
            std::fs::write(device.join("w1_slave"), text).unwrap();
            assert_eq!(sensor.sample().unwrap_err().as_str(), why, "{text}");
        }
    }
}
