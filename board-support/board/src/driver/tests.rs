use embedded_hal::i2c::{ErrorKind, NoAcknowledgeSource, SevenBitAddress};
use embedded_hal_mock::eh1::delay::NoopDelay;
use embedded_hal_mock::eh1::i2c::{Mock, Transaction};

use super::{AdcInput, AdcKind, AdcRange, Driver};
use crate::measure::{Doubt, Measure, Quality, Quantity, Sampled};

extern crate std;
use std::vec;
use std::vec::Vec;

const EVERY: [Driver; 7] = [
    Driver::Bme280 { address: 0x76 },
    Driver::Sht4x { address: 0x44 },
    Driver::Ads1x1x {
        address: 0x48,
        kind: AdcKind::Bits16,
        input: AdcInput::A0,
        range: AdcRange::V4_096,
    },
    Driver::Ina219 {
        address: 0x40,
        shunt_ohm: 0.1,
    },
    Driver::Mcp9808 { address: 0x18 },
    Driver::Lm75 { address: 0x48 },
    Driver::Ds323x,
];

/// A bus on which every transfer ends in the same fault.
struct Broken(ErrorKind);

impl embedded_hal::i2c::ErrorType for Broken {
    type Error = ErrorKind;
}

impl embedded_hal::i2c::I2c<SevenBitAddress> for Broken {
    fn transaction(
        &mut self,
        _: u8,
        _: &mut [embedded_hal::i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        Err(self.0)
    }
}

#[test]
fn every_driver_turns_every_fault_into_a_reason() {
    let faults = [
        (
            ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address),
            "nobody answers at 0x",
        ),
        (
            ErrorKind::NoAcknowledge(NoAcknowledgeSource::Unknown),
            "nobody answers at 0x",
        ),
        (ErrorKind::Bus, "disturbed or stuck"),
        (ErrorKind::ArbitrationLoss, "another master"),
        (ErrorKind::Overrun, "too fast"),
        (ErrorKind::Other, "no answer from 0x"),
    ];
    for driver in EVERY {
        for (kind, words) in faults {
            let sampled = driver.sample(&mut Broken(kind), &mut NoopDelay);
            let reason = sampled.expect_err("a broken bus gives nothing");
            assert!(reason.as_str().contains(words), "{driver:?}: {reason}");
            assert!(
                reason
                    .as_str()
                    .contains(&std::format!("{:#04x}", driver.address())),
                "{driver:?}: {reason}"
            );
        }
    }
}

/// A bus on which every register reads the same byte, as one that is held high or low.
struct Stuck(u8);

impl embedded_hal::i2c::ErrorType for Stuck {
    type Error = ErrorKind;
}

impl embedded_hal::i2c::I2c<SevenBitAddress> for Stuck {
    fn transaction(
        &mut self,
        _: u8,
        operations: &mut [embedded_hal::i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        for operation in operations {
            if let embedded_hal::i2c::Operation::Read(bytes) = operation {
                bytes.fill(self.0);
            }
        }
        Ok(())
    }
}

#[test]
fn a_stuck_line_ends_in_time_and_is_no_panic() {
    for driver in EVERY {
        for byte in [0x00, 0xFF, 0x55] {
            // Some values may look real; those with a checksum or a name do not.
            let sampled = driver.sample(&mut Stuck(byte), &mut NoopDelay);
            let has_name = matches!(
                driver,
                Driver::Bme280 { .. } | Driver::Sht4x { .. } | Driver::Mcp9808 { .. }
            );
            assert!(!has_name || sampled.is_err(), "{driver:?} of {byte:#x}");
        }
    }
}

fn sample(driver: Driver, transfers: &[Transaction]) -> Sampled {
    let mut bus = Mock::new(transfers);
    let sampled = driver.sample(&mut bus, &mut NoopDelay);
    bus.done();
    sampled
}

fn values(sampled: &Sampled) -> Vec<(Quantity, f64)> {
    let measures = sampled.as_ref().expect("a value");
    let pair = |m: &Measure| (m.quantity, (m.value * 1_000.0).round() / 1_000.0);
    measures.iter().map(pair).collect()
}

#[test]
fn an_sht4x_is_read_as_its_datasheet_says() {
    // 0x6666 is 25 C, 0x8000 is 56.5 %; each with its checksum.
    let sampled = sample(
        Driver::Sht4x { address: 0x44 },
        &[
            Transaction::write(0x44, vec![0xFD]),
            Transaction::read(0x44, vec![0x66, 0x66, 0x93, 0x80, 0x00, 0xA2]),
        ],
    );
    let values = values(&sampled);
    assert!((values[0].1 - 25.0).abs() < 0.01, "{values:?}");
    assert!((values[1].1 - 56.5).abs() < 0.01, "{values:?}");
}

/// spec: TI, SBOS288 (TMP75), table 7-3
#[test]
fn an_lm75_is_read_below_zero_too() {
    let driver = Driver::Lm75 { address: 0x48 };
    let transfer = |raw: [u8; 2]| [Transaction::write_read(0x48, vec![0], raw.to_vec())];
    for (raw, celsius) in [
        ([0x7D, 0x00], 125.0),
        ([0x19, 0x00], 25.0),
        ([0x00, 0x40], 0.25),
        ([0xFF, 0xC0], -0.25),
        ([0xC9, 0x00], -55.0),
    ] {
        let sampled = sample(driver, &transfer(raw));
        assert_eq!(values(&sampled), [(Quantity::Temperature, celsius)]);
    }
    let reason = sample(driver, &transfer([0xFF, 0xFF])).unwrap_err();
    assert_eq!(reason.as_str(), "what answers at 0x48 is no LM75");
}

#[test]
fn an_mcp9808_is_read_below_zero_too() {
    let transfers = |temperature: [u8; 2]| {
        [
            Transaction::write_read(0x18, vec![0x06], vec![0x00, 0x54]),
            Transaction::write_read(0x18, vec![0x05], temperature.to_vec()),
        ]
    };
    let driver = Driver::Mcp9808 { address: 0x18 };
    for (raw, celsius) in [([0xC1, 0x94], 25.25), ([0x1F, 0xF0], -1.0)] {
        let sampled = sample(driver, &transfers(raw));
        assert_eq!(values(&sampled), [(Quantity::Temperature, celsius)]);
    }
    let stranger = [Transaction::write_read(0x18, vec![0x06], vec![0x01, 0x02])];
    let reason = sample(driver, &stranger).unwrap_err();
    assert_eq!(reason.as_str(), "what answers at 0x18 is no MCP9808");
}

#[test]
fn an_ina219_gives_current_by_its_resistor() {
    // 12 V is 3000 steps of 4 mV, shifted by 3; 20 mV is 2000 steps of 10 uV.
    let sampled = sample(
        Driver::Ina219 {
            address: 0x40,
            shunt_ohm: 0.1,
        },
        &[
            Transaction::write_read(0x40, vec![0x02], (3_000_u16 << 3).to_be_bytes().to_vec()),
            Transaction::write_read(0x40, vec![0x01], 2_000_u16.to_be_bytes().to_vec()),
        ],
    );
    let want = [
        (Quantity::Voltage, 12.0),
        (Quantity::Current, 0.2),
        (Quantity::Power, 2.4),
    ];
    assert_eq!(values(&sampled), want);
}

/// What is thought of each value.
fn doubts(sampled: &Sampled) -> Vec<Option<Doubt>> {
    let measures = sampled.as_ref().expect("a value");
    measures.iter().map(|measure| measure.doubt).collect()
}

#[test]
fn a_converter_at_its_end_is_uncertain() {
    for (last, steps) in [(2_047, 2_048.0), (i16::MAX, 32_768.0)] {
        for (raw, doubt) in [
            (last, Some(Doubt::AtEnd)),
            (last - 1, None),
            (0, None),
            (-last, None),
            (-last - 1, Some(Doubt::AtEnd)),
        ] {
            let measured = super::adc::volt(raw, steps, AdcRange::V4_096);
            assert_eq!(measured.doubt, doubt, "{steps} {raw}");
        }
    }
}

#[test]
fn an_ina219_at_its_ends_is_uncertain_and_without_a_resistor_nothing() {
    let sampled = |volt_raw: u16, drop_raw: i16, shunt_ohm| {
        let transfers = [
            Transaction::write_read(0x40, vec![0x02], (volt_raw << 3).to_be_bytes().to_vec()),
            Transaction::write_read(0x40, vec![0x01], drop_raw.to_be_bytes().to_vec()),
        ];
        let address = 0x40;
        sample(Driver::Ina219 { address, shunt_ohm }, &transfers)
    };
    let end = Some(Doubt::AtEnd);
    for (volt, drop, want) in [
        (3_000, 2_000, [None, None, None]),
        (0, 0, [None, None, None]),
        (3_000, 32_000, [None, end, end]),
        (3_000, -32_000, [None, end, end]),
        (6_500, 2_000, [end, None, end]),
    ] {
        assert_eq!(doubts(&sampled(volt, drop, 0.1)), want, "{volt} {drop}");
    }
    for shunt_ohm in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        let address = 0x40;
        let reason = sample(Driver::Ina219 { address, shunt_ohm }, &[]).unwrap_err();
        assert!(reason.as_str().contains("give the resistor"), "{reason}");
    }
}

#[test]
fn an_mcp9808_that_just_got_power_is_uncertain() {
    let sampled = |raw: [u8; 2]| {
        let transfers = [
            Transaction::write_read(0x18, vec![0x06], vec![0x00, 0x54]),
            Transaction::write_read(0x18, vec![0x05], raw.to_vec()),
        ];
        sample(Driver::Mcp9808 { address: 0x18 }, &transfers)
    };
    for (raw, doubt) in [
        ([0x00, 0x00], Some(Doubt::Fresh)),
        ([0x80, 0x00], None),
        ([0xC1, 0x94], None),
        ([0xC7, 0xD0], Some(Doubt::AtEnd)),
    ] {
        let sampled = sampled(raw);
        assert_eq!(doubts(&sampled), [doubt], "{raw:x?}");
        let quality = sampled.unwrap()[0].quality();
        assert_eq!(quality == Quality::Good, doubt.is_none());
    }
}

#[test]
fn an_sht4x_in_fog_is_uncertain() {
    // 0x6666 is 25 C; 0xFFFF is 119 %, which the air cannot be.
    let sampled = sample(
        Driver::Sht4x { address: 0x44 },
        &[
            Transaction::write(0x44, vec![0xFD]),
            Transaction::read(0x44, vec![0x66, 0x66, 0x93, 0xFF, 0xFF, 0xAC]),
        ],
    );
    assert_eq!(doubts(&sampled), [None, Some(Doubt::AtEnd)]);
}

/// A BME280 of registers.
struct Registers([u8; 256]);

impl embedded_hal::i2c::ErrorType for Registers {
    type Error = ErrorKind;
}

impl embedded_hal::i2c::I2c<SevenBitAddress> for Registers {
    fn transaction(
        &mut self,
        _: u8,
        operations: &mut [embedded_hal::i2c::Operation<'_>],
    ) -> Result<(), ErrorKind> {
        let mut at = 0;
        for operation in operations {
            match operation {
                embedded_hal::i2c::Operation::Write(bytes) => at = usize::from(bytes[0]),
                embedded_hal::i2c::Operation::Read(bytes) => {
                    let end = at + bytes.len();
                    bytes.copy_from_slice(&self.0[at..end]);
                }
            }
        }
        Ok(())
    }
}

#[test]
fn a_bme280_that_did_not_measure_gives_nothing() {
    let mut chip = Registers([0; 256]);
    chip.0[0xD0] = 0x60;
    // The example of its datasheet: 25.08 C and 1006.53 hPa.
    let calibration: [i32; 12] = [
        27_504, 26_435, -1_000, 36_477, -10_685, 3_024, 2_855, 140, -7, 15_500, -14_600, 6_000,
    ];
    for (at, value) in calibration.iter().enumerate() {
        let bytes = value.to_le_bytes();
        chip.0[0x88 + 2 * at..0x8A + 2 * at].copy_from_slice(&bytes[..2]);
    }
    let data = |temperature: u32| {
        let [_, p1, p2, p3] = (415_148_u32 << 4).to_be_bytes();
        let [_, t1, t2, t3] = (temperature << 4).to_be_bytes();
        [p1, p2, p3, t1, t2, t3, 0x80, 0]
    };
    let driver = Driver::Bme280 { address: 0x76 };
    for (temperature, celsius, doubt) in [
        (519_888, 25.08, None),
        (1_048_575, 85.0, Some(Doubt::AtEnd)),
        (1, -40.0, Some(Doubt::AtEnd)),
    ] {
        chip.0[0xF7..0xFF].copy_from_slice(&data(temperature));
        let sampled = driver.sample(&mut chip, &mut NoopDelay);
        let (_, measured) = values(&sampled)[0];
        assert!((measured - celsius).abs() < 0.01, "{measured}");
        assert_eq!(doubts(&sampled)[0], doubt, "{celsius}");
    }
    chip.0[0xF7..0xFF].copy_from_slice(&data(0x8_0000));
    let reason = driver.sample(&mut chip, &mut NoopDelay).unwrap_err();
    assert_eq!(
        reason.as_str(),
        "the BME280 at 0x76 lost its power while it measured"
    );
}
