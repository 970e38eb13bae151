use std::path::PathBuf;

use frond_board::{Quantity, Reason, Sampled};

use crate::number::{one, plain};
use crate::roots::Roots;

/// A thermometer on the 1-Wire bus, read through the kernel's `w1_therm`.
#[derive(Clone, Debug)]
pub struct OneWire {
    dir: PathBuf,
    id: String,
}

/// What a DS18B20 says that lost its power while it measured.
const POWER_ON_C: f64 = 85.0;

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
        let celsius = parse(&text).ok_or_else(|| {
            Reason::of(format_args!(
                "{} answered garbled: check the wires",
                self.id
            ))
        })?;
        if celsius.total_cmp(&POWER_ON_C).is_eq() {
            let why = format_args!("{} lost its power while it measured", self.id);
            return Err(Reason::of(why));
        }
        Ok(one(Quantity::Temperature, celsius))
    }
}

/// Two lines: nine bytes and whether their checksum fits, then `t=` in thousandths.
fn parse(text: &str) -> Option<f64> {
    let (first, second) = text.split_once('\n')?;
    if !first.trim_end().ends_with("YES") {
        return None;
    }
    let milli: i32 = second.split_once("t=")?.1.trim().parse().ok()?;
    Some(f64::from(milli) / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_board::Measure;

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
            let want = Measure {
                quantity: Quantity::Temperature,
                value: celsius,
            };
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
        std::fs::write(device.join("w1_slave"), "").unwrap();
        assert!(sensor.sample().unwrap_err().as_str().contains("garbled"));
    }
}
