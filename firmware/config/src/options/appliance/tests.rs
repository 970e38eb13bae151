use std::time::Duration;

use super::{Appliance, LampPlace, LinkLoss, ModbusLine, Number, SensorDriver};
use crate::{Nothing, changes, load_text};

fn read(block: &str) -> Result<Appliance, String> {
    let text = format!("appliance {{\n{block}\n}}");
    let loaded = load_text(&text, "x.conf", &Nothing).map_err(|errors| errors.to_string())?;
    loaded.config.check().map_err(|errors| errors.to_string())?;
    Ok(loaded.config.appliance.unwrap())
}

const WHOLE: &str = r#"
  board: raspberrypi4
  lamps: [ { led: status }, { line: pin11, active_low: true } ]
  button { line: pin13, hold: "8s" }
  watchdog { probe: "3s" }
  sensors: [
    { driver: w1, id: "28-01", subject: cold.fridge, min: -5, max: 8.5, deadband: 0.2, rate: "1s", heartbeat: "10m", latest: cold }
    { driver: bme280, address: "0x77", subject: climate, interval: "30s", window: "5m" }
    { driver: ads1015, input: a2, range: "2.048V", subject: tank, scale: 50, unit: "%" }
    { driver: file, path: /sys/class/thermal/thermal_zone0/temp, scale: 0.001, unit: C, subject: box.cpu }
  ]
  inputs: [ { line: pin15, bias: up, active_low: true, subject: door.front } ]
  outputs: [ { line: pin16, subject: cmd.relay, safe: off, max_on: "30s", on_link_loss: safe } ]
  serial: [ { port: ttyUSB0, subject: scans.till }, { port: ttyUSB1, kind: scale, unit: kg, subject: scale, parity: even, data_bits: 7 } ]
  modbus: [
    { tcp: "10.0.0.9:502", unit: 3, registers: [ { address: 100, kind: f32, subject: meter.power, unit: W } ] }
    { port: ttyUSB2, baud: 19200, registers: [ { table: coil, address: 0, subject: pump.on } ] }
  ]
  conditions: [ { from: "raw.>", to: "up.>", field: value, deadband: 1 } ]
"#;

#[test]
fn the_whole_block_is_read() {
    let it = read(WHOLE).unwrap();
    assert_eq!(it.board.as_deref(), Some("raspberrypi4"));
    assert_eq!(it.lamps[0], LampPlace::Led("status".to_owned()));
    assert_eq!(it.button.unwrap().hold, Duration::from_secs(8));
    assert_eq!(it.watchdog.unwrap().probe, Duration::from_secs(3));
    let [fridge, climate, tank, cpu] = it.sensors.try_into().unwrap();
    let (min, max) = (fridge.min.unwrap(), fridge.max.unwrap());
    assert_eq!((min, max), (Number(-5.0), Number(8.5)));
    assert_eq!(fridge.conditioning.latest.as_deref(), Some("cold"));
    assert!(matches!(&climate.driver, SensorDriver::Bme280(at) if at.address == 0x77));
    let SensorDriver::Ads1x1x(at, adc) = tank.driver else {
        panic!("{:?}", tank.driver);
    };
    assert_eq!(
        (at.address, adc.bits, adc.input, adc.range_mv),
        (0x48, 12, "a2", 2_048)
    );
    assert_eq!((cpu.scale, cpu.name.as_str()), (Number(0.001), "box.cpu"));
    assert_eq!(it.outputs[0].on_link_loss, LinkLoss::Safe);
    assert_eq!(it.serial[1].port.data_bits, 7);
    assert_eq!(
        it.modbus[0].line,
        ModbusLine::Tcp("10.0.0.9:502".to_owned())
    );
    assert!(matches!(&it.modbus[1].line, ModbusLine::Rtu(port) if port.baud == 19_200));
    assert_eq!(it.conditions[0].to, "up.>");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_wrong_is_refused_with_its_line_and_a_remedy() {
    let cases = [
        ("boards: x", "did you mean \"board\"?"),
        (
            "sensors: [ { driver: w1, id: a } ]",
            "subject is missing here",
        ),
        (
            "sensors: [ { driver: w1, subject: a } ]",
            "id (as 28-0316a2798bff) is missing",
        ),
        (
            "sensors: [ { driver: dht22, subject: a } ]",
            "it is one of: file, w1, bme280",
        ),
        (
            "sensors: [ { driver: w1, id: a, subject: \"a.*\" } ]",
            "no subject to publish to",
        ),
        (
            "sensors: [ { driver: bme280, address: 80, subject: a } ]",
            "its address is from 0x76",
        ),
        (
            "sensors: [ { driver: w1, id: a, subject: a, interval: \"0s\" } ]",
            "is no time",
        ),
        (
            "sensors: [ { driver: w1, id: a, subject: a, deadband: -1 } ]",
            "deadband is negative",
        ),
        (
            "sensors: [ { driver: w1, id: a, subject: a, min: 9, max: 1 } ]",
            "min (9) is more than max (1) (exchange them)",
        ),
        (
            "modbus: [ { tcp: \"a:502\", unit: 1, registers: [ { address: 1, subject: a, \
             min: 2.5, max: -1 } ] } ]",
            "min (2.5) is more than max (-1)",
        ),
        (
            "sensors: [ { driver: w1, id: a, subject: a, latest: \"a.b\" } ]",
            "no name of a bucket",
        ),
        ("lamps: [ { led: a, line: b } ]", "either a led or a line"),
        ("button { line: a, hold: \"1s\" }", "happens by accident"),
        ("inputs: [ { line: a } ]", "subject is missing here"),
        (
            "outputs: [ { line: a, subject: b, safe: maybe } ]",
            "it is one of: off, on",
        ),
        (
            "serial: [ { subject: a, baud: 1 } ]",
            "baud is not a number from 50",
        ),
        (
            "modbus: [ { registers: [] } ]",
            "either tcp or a serial port",
        ),
        ("modbus: [ { tcp: x, registers: [] } ]", "no host:port"),
        ("modbus: [ { tcp: \"x:1\" } ]", "registers is missing here"),
        (
            "conditions: [ { from: \"a.>\", to: \"a.b.>\" } ]",
            "would come back",
        ),
        (
            "conditions: [ { from: \"a.>\", to: \"b.*\" } ]",
            "does not follow from",
        ),
        ("user: ghost", "is not in this file"),
        (
            "lamps: [ { led: \"../../tmp/x\" } ]",
            "is no name of a device",
        ),
        (
            "outputs: [ { line: \"file:/etc/hostname\", subject: a } ]",
            "/etc/hostname is not below /sys",
        ),
        (
            "outputs: [ { line: \"file:/sys/../etc/hostname\", subject: a } ]",
            "is not below /sys",
        ),
        (
            "sensors: [ { driver: file, path: \"../tmp/x\", subject: a } ]",
            "../tmp/x is not below /sys",
        ),
    ];
    for (block, want) in cases {
        let errors = read(block).unwrap_err();
        assert!(errors.contains(want), "{block}: {errors}");
        assert!(errors.contains("x.conf:"), "{block}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{block}: {errors}");
    }
}

#[test]
fn where_everybody_is_somebody_so_is_the_field_side() {
    let users = "authorization { users: [ { user: box, password: x } ] }\n";
    let check = |block: &str| {
        let loaded = load_text(&format!("{users}{block}"), "x.conf", &Nothing).unwrap();
        loaded.config.check().map_err(|errors| errors.to_string())
    };
    let errors = check("appliance { board: raspberrypi4 }").unwrap_err();
    assert!(errors.contains("needs a user"), "{errors}");
    check("appliance { user: box }").unwrap();
    check("appliance { account: \"$G\" }").unwrap();
    let errors = check("appliance { account: A }").unwrap_err();
    assert!(errors.contains("field side's account"), "{errors}");
    let errors = check("appliance { account: \"$G\", user: box }").unwrap_err();
    assert!(errors.contains("not both"), "{errors}");
    check("no_auth_user: box\nappliance { board: raspberrypi4 }").unwrap();
}

#[test]
fn a_reload_takes_another_block() {
    let config = |text: &str| load_text(text, "x.conf", &Nothing).unwrap().config;
    let (old, new) = (
        config("appliance { prefix: a }"),
        config("appliance { prefix: b }"),
    );
    assert!(changes(&old, &old).unwrap().is_empty());
    let options = changes(&old, &new).unwrap().options;
    assert_eq!(options[0].to_string(), "appliance");
}
