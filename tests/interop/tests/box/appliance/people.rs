//! What people do with a box: look at its sensors, and hold its button.

use std::time::Duration;

use interop::{Browser, free_port, http_get, wait_for};
use serde_json::Value;

use super::shop::{Listener, Shop};
use super::{thermometer, whole};
use crate::fleet::Fleet;

const BOUND: Duration = Duration::from_secs(20);
const DESK: (u32, u32) = (1100, 1500);

fn status(http: &str) -> Value {
    let (_, body) = http_get(http, "/status.json");
    serde_json::from_str(&body).unwrap()
}

/// What is told of the sensor of that name, when it is so.
fn sensor(http: &str, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    wait_for(name, BOUND, || {
        let status = status(http);
        let mut all = status["sensors"].as_array()?.iter();
        all.find(|it| it["name"] == name && is_so(it)).cloned()
    })
}

/// Whatever of the box cannot be used is told, with what to do, until it can.
#[test]
fn what_cannot_be_used_is_on_the_status_page() {
    let http = format!("127.0.0.1:{}", free_port());
    let block = "lamps: [ { line: \"file:no-lamp\" } ]\nbutton { line: \"file:no-button\" }\n\
        watchdog { device: no-dog, probe: \"500ms\" }\n\
        inputs: [ { name: door, line: \"file:no-door\", subject: door } ]\n\
        outputs: [ { name: bell, line: \"file:no-bell\", subject: cmd.bell } ]\n\
        serial: [ { name: till-scanner, port: no-port, subject: scans } ]";
    let it = Shop::start(&format!("http: \"{http}\""), block, |_| {});
    let codes = |all: &[&str]| {
        wait_for("all of them", BOUND, || {
            let status = status(&http);
            let found = status["findings"].as_array()?.clone();
            let told = |code: &&str| found.iter().any(|it| it["code"] == *code);
            all.iter().all(told).then_some(status)
        })
    };
    let told = codes(&[
        "output_fault",
        "input_fault",
        "port_fault",
        "button_fault",
        "lamp_fault",
        "watchdog_fault",
    ]);
    assert_eq!(told["condition"], "fault", "{told}");
    assert_eq!(told["findings"][0]["what"], "bell", "{told}");
    let page = Browser::default().document(&format!("http://{http}/status"));
    for words in [
        "cannot be switched",
        "Nobody watches over this box",
        "till-scanner",
    ] {
        assert!(page.contains(words), "no {words:?} in {page}");
    }
    whole(&it.sys(), "no-door", "0\n");
    wait_for("the door", BOUND, || {
        let status = status(&http);
        let mut all = status["findings"].as_array()?.iter();
        all.all(|it| it["code"] != "input_fault").then_some(())
    });
}

#[test]
fn sensors_are_on_the_status_page_with_what_they_said_before() {
    let http = format!("127.0.0.1:{}", free_port());
    let block = "sensors: [ \
        { name: fridge, driver: w1, id: \"28-01\", subject: cold.fridge, interval: \"50ms\", min: -5, max: 8 }\n\
        { name: oven, driver: file, path: \"oven\", subject: hot.oven, unit: C, interval: \"50ms\" } ]";
    let it = Shop::start(&format!("http: \"{http}\""), block, |sys| {
        thermometer(sys, "4250");
        whole(sys, "oven", "180\n");
    });
    let fridge = sensor(&http, "fridge", |it| it["quality"] == "good");
    assert_eq!(
        (fridge["value"].as_f64(), &fridge["unit"]),
        (Some(4.25), &"C".into())
    );
    assert_eq!(fridge["subject"], "cold.fridge");
    for warmer in [190, 205, 199, 210] {
        whole(&it.sys(), "oven", &format!("{warmer}\n"));
        sensor(&http, "oven", |it| it["value"] == warmer);
    }
    thermometer(&it.sys(), "21000");
    let fridge = sensor(&http, "fridge", |it| it["quality"] == "uncertain");
    assert_eq!(fridge["reason"], "outside of what makes sense here");
    let oven = sensor(&http, "oven", |it| {
        it["history"].as_array().unwrap().len() > 4
    });
    assert!(oven["read_at_ms"].as_i64().unwrap() > 0, "{oven}");
    let browser = Browser::default();
    let url = format!("http://{http}/status");
    browser.picture(&url, DESK, "status-sensors-desk");
    let page = browser.document(&url);
    for words in [
        "fridge",
        "21 C",
        "oven",
        "210 C",
        "over time, between",
        "may be wrong",
    ] {
        assert!(page.contains(words), "no {words:?} in {page}");
    }
    std::fs::remove_dir_all(it.sys().join("bus")).unwrap();
    let gone = sensor(&http, "fridge", |it| it["quality"] == "bad");
    assert!(gone["value"].is_null() && gone["reason"] != "", "{gone}");
    let findings = status(&http)["findings"].to_string();
    assert!(findings.contains("sensor_silent"), "{findings}");
}

const BUTTON: &str =
    "button { line: \"file:button\", active_low: false, debounce: \"1ms\", hold: \"3s\" }";

/// A box whose button is released, and known to be: one that is pressed at the first look counts as
/// stuck.
fn with_button(more: &str) -> Shop {
    let http = format!("127.0.0.1:{}", free_port());
    let it = Shop::start(&format!("http: \"{http}\"\n{more}"), BUTTON, |_| {});
    let is_missed = || {
        let findings = status(&http)["findings"].clone();
        let mut all = findings.as_array().into_iter().flatten();
        all.any(|it| it["code"] == "button_fault")
    };
    wait_for("the button to be missed", BOUND, || {
        is_missed().then_some(())
    });
    let_go(&it);
    wait_for("the button to be looked at", BOUND, || {
        (!is_missed()).then_some(())
    });
    it
}

fn press(it: &Shop) {
    whole(&it.sys(), "button", "1\n");
}

fn let_go(it: &Shop) {
    whole(&it.sys(), "button", "0\n");
}

fn logged(it: &Shop, words: &str) {
    wait_for(words, BOUND, || {
        it.server.log().contains(words).then_some(())
    });
}

#[test]
fn a_button_that_is_held_asks_for_the_rescue_configuration() {
    let fleet = Fleet::new();
    let ota = fleet.block("").replace("$DIR/ota", "$DIR/keeper");
    let it = with_button(&ota);
    let mut events = Listener::on(&it, "appliance.button");
    // One that is let go in time changes nothing.
    press(&it);
    events.until(|json| json["press"] == "holding");
    let_go(&it);
    events.until(|json| json["press"] == "let go");
    assert!(!it.server.log().contains("the button was held"));
    press(&it);
    events.until(|json| json["press"] == "holding");
    events.until(|json| json["press"] == "held");
    let_go(&it);
    // As `frond config rescue` answers on a box whose own file is the rescue configuration.
    logged(&it, "version 0 is in force already");
}

#[test]
fn a_button_without_a_rescue_configuration_changes_nothing() {
    let it = with_button("");
    let mut events = Listener::on(&it, "appliance.button");
    press(&it);
    events.until(|json| json["press"] == "held");
    logged(&it, "nothing is changed: there is no rescue configuration");
}
