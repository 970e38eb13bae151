//! The field side of a box: real processes, with folders standing for `/sys` and `/dev`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::shop::{Listener, Shop};
use interop::{Kind, wait_for};

mod devices;
mod meter;
mod people;
mod shop;

const BOUND: Duration = Duration::from_secs(20);

#[test]
fn a_sensor_is_told_and_so_is_that_it_is_gone() {
    let it = Shop::start(
        "",
        "sensors: [ { driver: w1, id: \"28-01\", subject: cold.fridge, interval: \"50ms\", min: -5, max: 8 } ]",
        |sys| thermometer(sys, "4250"),
    );
    let mut cold = Listener::on(&it, "cold.>");
    let good = cold.until(|json| json["quality"] == "good");
    assert_eq!(
        (good["value"].as_f64(), good["unit"].as_str()),
        (Some(4.25), Some("C"))
    );
    assert!(good["seq"].is_u64() && good["time"].is_string() && good["trusted"].is_boolean());
    thermometer(&it.sys(), "21000");
    let warm = cold.until(|json| json["value"] == 21.0);
    assert_eq!(warm["quality"], "uncertain");
    std::fs::remove_dir_all(it.sys().join("bus")).unwrap();
    let gone = cold.until(|json| json["quality"] == "bad");
    assert!(gone["value"].is_null());
    assert_eq!(
        gone["reason"],
        "no 28-01 on the 1-Wire bus: is it connected?"
    );
    thermometer(&it.sys(), "4000");
    cold.until(|json| json["value"] == 4.0);
}

#[test]
fn the_lamp_shows_the_line_to_the_hub_by_its_rhythm() {
    let hub = shop::hub();
    let leaf = format!(
        "leafnodes {{ remotes: [ {{ url: \"nats-leaf://{}\" }} ] }}",
        hub.leaf()
    );
    let it = Shop::start(
        &leaf,
        "board: raspberrypi4\nlamps: [ { led: status } ]",
        lamp,
    );
    let lamp = it.sys().join("class/leds/ACT/brightness");
    // Steady but for a dip, then two flashes and a pause.
    wait_for("a lamp that is lit for long", BOUND, || {
        lit_for(&lamp, Duration::from_secs(2))
    });
    drop(hub);
    wait_for("two flashes", BOUND, || (flashes(&lamp) == 2).then_some(()));
}

#[test]
fn a_box_without_a_hub_is_online() {
    let it = Shop::start("", "board: raspberrypi4\nlamps: [ { led: status } ]", lamp);
    let lamp = it.sys().join("class/leds/ACT/brightness");
    wait_for("a lamp that is lit for long", BOUND, || {
        lit_for(&lamp, Duration::from_secs(2))
    });
}

#[test]
fn the_watchdog_is_armed_by_the_first_probe_that_comes_back() {
    let users = |deny: &str| {
        format!(
            "authorization {{ users: [ {{ user: u, password: p }}, \
             {{ user: box, password: q, permissions {{ publish {{ deny: [\"{deny}\"] }} }} }} ] }}"
        )
    };
    let block = "user: box\nprefix: box\nwatchdog { device: watchdog, probe: \"1500ms\" }\n\
                 inputs: [ { name: door, line: \"file:door\", subject: door, heartbeat: \"100ms\" } ]";
    let mut it = Shop::start(&users("box.probe.>"), block, |sys| {
        std::fs::write(sys.join("door"), "0\n").unwrap();
        let dir = sys.join("class/watchdog/watchdog0");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("timeout"), "3\n").unwrap();
    });
    // The field side is at work for longer than a probe takes to go and come back.
    let mut door = Listener::on(&it, "door");
    for _ in 0..30 {
        door.until(|json| json["state"] == "inactive");
    }
    assert!(!it.server.log().contains("is armed"), "{}", it.server.log());
    assert_eq!(std::fs::read(it.dev().join("watchdog")).unwrap(), b"");
    it.reload(&users("nothing"), block);
    wait_for("a watchdog that is armed", BOUND, || {
        it.server.log().contains("is armed").then_some(())
    });
    // Half of its patience is not a third of it.
    let log = wait_for("a warning", BOUND, || {
        let log = it.server.log();
        log.contains("write probe: \"1000ms\"").then_some(log)
    });
    assert!(log.contains("waits for 3s"), "{log}");
}

#[test]
fn a_pulse_of_an_input_is_two_messages() {
    let block = "inputs: [ { name: door, line: \"file:door\", subject: door, debounce: \"1ms\" } ]";
    let it = Shop::start("", block, |sys| {
        std::fs::write(sys.join("door"), "0\n").unwrap();
    });
    let mut door = Listener::on(&it, "door");
    let mut last = None;
    for _ in 0..4 {
        for (level, state) in [("1\n", "active"), ("0\n", "inactive")] {
            whole(&it.sys(), "door", level);
            // How it was at the start may come late.
            let told = door.until(|json| json["state"] == state && json["seq"].as_u64() > last);
            let seq = told["seq"].as_u64();
            // Nothing is left out, and nothing told twice.
            assert!(last.is_none_or(|last| seq == Some(last + 1)), "{told}");
            last = seq;
        }
    }
}

#[test]
fn the_watchdog_is_fed_while_messages_go_through_and_only_then() {
    let users = |deny: &str| {
        format!(
            "authorization {{ users: [ {{ user: u, password: p }}, \
             {{ user: box, password: q, permissions {{ publish {{ deny: [\"{deny}\"] }} }} }} ] }}"
        )
    };
    let block = "user: box\nwatchdog { device: watchdog, probe: \"100ms\" }";
    let mut it = Shop::start(&users("nothing"), block, |_| {});
    let dog = it.dev().join("watchdog");
    let fed = || std::fs::metadata(&dog).unwrap().len();
    wait_for("food", BOUND, || (fed() >= 5).then_some(()));
    // Busy is not dead: clients that publish as fast as they can leave it fed.
    let hunger = shop::while_busy(it.addr(), Duration::from_secs(3), fed);
    assert!(hunger < Duration::from_secs(2), "unfed for {hunger:?}");
    // The way of the probe is cut on purpose, all else goes on.
    it.reload(&users("appliance.probe.>"), block);
    let starved = wait_for("no more food", BOUND, || {
        let before = fed();
        shop::stays(Duration::from_secs(2), || fed() == before).then_some(before)
    });
    // And is there again.
    it.reload(&users("nothing"), block);
    wait_for("food again", BOUND, || (fed() > starved).then_some(()));
    it.server.terminate();
    let food = std::fs::read(&dog).unwrap();
    assert_eq!(
        food.last(),
        Some(&b'V'),
        "an end in good order puts it to sleep"
    );
}

#[test]
fn a_process_that_is_killed_leaves_the_watchdog_armed() {
    let block = "watchdog { device: watchdog, probe: \"100ms\" }";
    let mut it = Shop::start("", block, |_| {});
    let dog = it.dev().join("watchdog");
    wait_for("food", BOUND, || {
        (std::fs::metadata(&dog).unwrap().len() >= 2).then_some(())
    });
    it.server.kill();
    assert!(!std::fs::read(&dog).unwrap().contains(&b'V'));
}

#[test]
fn a_block_that_is_wrong_is_refused_with_its_place() {
    for (block, want) in [
        ("board: raspbery", "raspberrypi4"),
        ("sensors: [ { driver: w1, subject: a } ]", "id (as 28-"),
    ] {
        let (status, text) = shop::check(Kind::Leaf, block);
        assert!(
            !status && text.contains("server.conf:") && text.contains(want),
            "{text}"
        );
    }
    let (_, text) = shop::check(Kind::Hub, "board: raspberrypi4");
    assert!(text.contains("frond-hub has no field side"), "{text}");
}

fn thermometer(sys: &Path, milli: &str) {
    let dir = sys.join("bus/w1/devices/28-01");
    std::fs::create_dir_all(&dir).unwrap();
    let pad = "4e 01 4b 46 7f ff 02 10 6d";
    let text = format!("{pad} : crc=6d YES\n{pad} t={milli}\n");
    whole(&dir, "w1_slave", &text);
}

/// Whole or not at all: what is read is never half a file.
fn whole(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join("new"), text).unwrap();
    std::fs::rename(dir.join("new"), dir.join(name)).unwrap();
}

fn lamp(sys: &Path) {
    let dir: PathBuf = sys.join("class/leds/ACT");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("brightness"), "0\n").unwrap();
}

fn is_lit(lamp: &Path) -> bool {
    std::fs::read_to_string(lamp).unwrap().starts_with('1')
}

fn lit_for(lamp: &Path, time: Duration) -> Option<()> {
    shop::stays(time, || is_lit(lamp)).then_some(())
}

/// Flashes between two long darks.
fn flashes(lamp: &Path) -> u32 {
    let dark = |lamp: &Path| shop::stays(Duration::from_millis(900), || !is_lit(lamp));
    wait_for("a pause", BOUND, || dark(lamp).then_some(()));
    let (mut count, mut was) = (0, false);
    let mut last = Instant::now();
    wait_for("the next pause", BOUND, || {
        let lit = is_lit(lamp);
        if lit {
            count += u32::from(!was);
            last = Instant::now();
        }
        was = lit;
        (count > 0 && last.elapsed() > Duration::from_millis(900)).then_some(())
    });
    count
}
