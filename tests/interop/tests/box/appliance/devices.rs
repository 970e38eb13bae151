//! What is wired to a box: meters, scanners, scales, and outputs that not everybody may switch.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interop::wait_for;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use super::meter::{Meter, UNIT};
use super::shop::{Listener, Shop};

const BOUND: Duration = Duration::from_secs(20);

#[test]
fn a_meter_is_read_register_by_register_and_missed_when_it_is_gone() {
    // 1.5 as a float, -12.5 in tenths, 100 000 with its low word first.
    let registers = [
        (100, 0x3FC0),
        (101, 0),
        (7, 0xFF83),
        (200, 0x86A0),
        (201, 1),
    ];
    let meter = Meter::start("127.0.0.1:0", &registers);
    let addr = meter.addr.to_string();
    let block = format!(
        "modbus: [ {{ name: meter, tcp: \"{addr}\", unit: {UNIT}, interval: \"50ms\", timeout: \"1s\"\n\
         registers: [ {{ address: 100, kind: f32, unit: W, subject: m.power }}\n\
         {{ address: 7, kind: i16, scale: 0.1, unit: C, subject: m.warm }}\n\
         {{ address: 200, kind: u32, swap: true, unit: Wh, subject: m.energy }}\n\
         {{ address: 900, subject: m.nothing, heartbeat: \"100ms\" }}\n\
         {{ table: coil, address: 1, subject: m.breaker }} ] }} ]"
    );
    let it = Shop::start("", &block, |_| {});
    for (subject, value, unit) in [
        ("m.power", 1.5, Some("W")),
        ("m.warm", -12.5, Some("C")),
        ("m.energy", 100_000.0, Some("Wh")),
        ("m.breaker", 1.0, None),
    ] {
        let told = Listener::on(&it, subject).until(|json| json["quality"] == "good");
        assert_eq!(told["value"].as_f64(), Some(value), "{subject}: {told}");
        assert!(unit.is_none_or(|unit| told["unit"] == unit), "{told}");
    }
    // What the device refuses is told with its words, and keeps nothing else from being read.
    let mut nothing = Listener::on(&it, "m.nothing");
    let told = nothing.until(|json| json["quality"] == "bad");
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.starts_with("the device says: "), "{reason}");
    let mut power = Listener::on(&it, "m.power");
    meter.set(&[(100, 0x4020)]);
    power.until(|json| json["value"] == 2.5);
    drop(meter);
    let gone = power.until(|json| json["quality"] == "bad");
    assert!(gone["value"].is_null(), "{gone}");
    assert!(
        gone["reason"].as_str().unwrap().starts_with("meter: "),
        "{gone}"
    );
    let _meter = Meter::start(&addr, &registers);
    power.until(|json| json["value"] == 1.5);
}

#[test]
fn scans_and_weights_are_told_whenever_the_device_is_there() {
    let block = "serial: [ { name: till, port: ttyUSB0, subject: scans.till }, \
                 { name: scale, port: ttyUSB1, kind: scale, subject: weight } ]";
    let (mut scanner, mut scale) = (None, None);
    let it = Shop::start("", block, |sys| {
        let dev = sys.parent().unwrap().join("dev");
        scanner = Some(plug(&dev, "ttyUSB0"));
        scale = Some(plug(&dev, "ttyUSB1"));
    });
    let (mut scanner, mut scale) = (scanner.unwrap(), scale.unwrap());
    let mut weights = Listener::on(&it, "weight");
    let told = heard(
        &mut weights,
        |json| json["quality"] == "good",
        || scale.write_all(b"ST,GS,+  12.340 kg\r\n").unwrap(),
    );
    assert_eq!(
        (told["value"].as_f64(), told["unit"].as_str()),
        (Some(12.34), Some("kg"))
    );
    let mut scans = Listener::on(&it, "scans.till");
    is_read(&mut scanner, &mut scans);
    scanner
        .write_all(b"4006381333931\r\n\"5\" \xc3\xa4\rno end")
        .unwrap();
    let mut seq = None;
    for text in ["4006381333931", "\"5\" ä", "no end"] {
        let told = scans.until(|json| json["text"] != "hello");
        assert_eq!(
            (told["text"].as_str(), told["name"].as_str()),
            (Some(text), Some("till"))
        );
        let this = told["seq"].as_u64();
        assert!(seq.is_none_or(|seq: u64| this == Some(seq + 1)), "{told}");
        seq = this;
    }
    // It is pulled out, and another one put in.
    std::fs::remove_file(it.dev().join("ttyUSB0")).unwrap();
    drop(scanner);
    wait_for("a port that is gone", BOUND, || {
        it.server.log().contains("ttyUSB0 is gone").then_some(())
    });
    let mut scanner = plug(&it.dev(), "ttyUSB0");
    is_read(&mut scanner, &mut scans);
    scanner.write_all(b"again\r\n").unwrap();
    scans.until(|json| json["text"] == "again");
}

#[test]
fn an_output_is_switched_by_who_may_and_by_nobody_else() {
    let users = "authorization { users: [ \
                 { user: u, password: p, permissions { publish { deny: [\"cmd.>\"] } } }, \
                 { user: boss, password: p }, { user: box, password: q } ] }";
    let block = "user: box\n\
                 outputs: [ { name: bell, line: \"file:bell\", subject: cmd.bell, max_on: \"30s\" } ]";
    let mut it = Shop::start(users, block, |sys| {
        std::fs::write(sys.join("bell"), "1\n").unwrap();
    });
    let bell = it.sys().join("bell");
    let line = || std::fs::read_to_string(&bell).unwrap();
    let mut boss = Listener::of(it.addr(), "boss", "nothing");
    let mut answers = Listener::of(it.addr(), "boss", "answers");
    let start = heard(
        &mut answers,
        |json| json["state"] == "off",
        || boss.say("cmd.bell", "answers", ""),
    );
    assert_eq!(
        (start["name"].as_str(), line().as_str()),
        (Some("bell"), "0\n"),
        "it begins safe"
    );
    let refused = Listener::on(&it, "any").dare("cmd.bell", "on");
    assert!(
        refused.contains("Permissions Violation for Publish to \"cmd.bell\""),
        "{refused}"
    );
    // Whoever is answered after that would see what it did.
    boss.say("cmd.bell", "answers", "open sesame");
    let told = answers.until(|json| !json["error"].is_null());
    assert_eq!(
        (told["state"].as_str(), line().as_str()),
        (Some("off"), "0\n")
    );
    boss.say("cmd.bell", "answers", "on");
    let told = answers.until(|json| json["state"] == "on");
    assert!(told["seconds_left"].is_string(), "{told}");
    assert_eq!(line(), "1\n");
    it.server.terminate();
    assert_eq!(line(), "0\n", "it ends safe");
}

/// Says it again and again until it is heard: whoever is to hear it may not be there yet.
fn heard(
    listener: &mut Listener,
    wanted: impl Fn(&Value) -> bool,
    mut say: impl FnMut() + Send,
) -> Value {
    let is_heard = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for("somebody to hear it", BOUND, || {
                say();
                is_heard.load(Ordering::Relaxed).then_some(())
            });
        });
        let told = listener.until(wanted);
        is_heard.store(true, Ordering::Relaxed);
        told
    })
}

/// What came before a port is opened is forgotten.
fn is_read(scanner: &mut File, scans: &mut Listener) {
    heard(
        scans,
        |json| json["text"] == "hello",
        || scanner.write_all(b"hello\r\n").unwrap(),
    );
}

/// A port of that name, and its far end.
fn plug(dev: &Path, name: &str) -> File {
    // A server that inherits the far end would keep it from being gone.
    let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&far).unwrap();
    unlockpt(&far).unwrap();
    let path = ptsname(&far, Vec::new()).unwrap().into_string().unwrap();
    symlink(path, dev.join(name)).unwrap();
    File::from(far)
}
