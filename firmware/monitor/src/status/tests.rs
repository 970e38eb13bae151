use std::collections::BTreeMap;

use frond_clock::{Timestamp, Trust};

use super::findings::findings;
use super::*;
use crate::CertEnds;
use crate::tests::samples::{at, jetstream};
use crate::tests::world::lively;

/// Nothing is wrong with it.
fn well() -> (BTreeMap<String, u64>, Process<'static>) {
    let process = Process {
        resident_bytes: 1,
        cpu_percent: 0.0,
        cores: 1,
        http_req_stats: Box::leak(Box::default()),
        disk: None,
        config_loaded: at(0),
        config_digest: "",
        certs: CertEnds::default(),
        trust: Trust::Trusted,
        sensors: &[],
        configuration: None,
    };
    (BTreeMap::new(), process)
}

fn days(days: i64) -> Timestamp {
    Timestamp::from_nanos(at(0).as_nanos() + days * 86_400_000_000_000)
}

fn remote(state: &'static str) -> Remote {
    Remote {
        urls: vec!["nats://hub:7422".into()],
        state,
        last_error: "connection refused".into(),
        ..Remote::default()
    }
}

/// Codes and the condition they make.
fn told(
    lines: &[Remote],
    jetstream: Option<&JetStream>,
    process: &Process<'_>,
) -> (Vec<&'static str>, Condition) {
    let found = findings(at(0), lines, jetstream, true, process);
    let codes = found.iter().map(|it| it.code).collect();
    (codes, worst(&found))
}

#[test]
fn what_is_as_it_should_be_is_not_told() {
    let mut on = jetstream(&["A"]);
    on.config.max_storage = 10_000;
    let (_, process) = well();
    let lines = [remote("up"), remote("disabled")];
    assert_eq!(
        told(&lines, Some(&on), &process),
        (vec![], Condition::Online)
    );
    let unwanted = findings(at(0), &[], None, false, &process);
    assert_eq!(unwanted, []);
}

#[test]
fn the_worst_is_told_first_and_is_what_the_box_is() {
    let mut on = jetstream(&["A"]);
    on.config.max_storage = 160;
    let (_, mut process) = well();
    let sensor = Sensor {
        name: "fridge".into(),
        quality: Quality::Bad,
        reason: "no answer on the bus".into(),
        ..Sensor::default()
    };
    process.sensors = std::slice::from_ref(&sensor);
    let scarce = told(&[], Some(&on), &process);
    let expected = vec!["storage_scarce", "sensor"];
    assert_eq!(scarce, (expected, Condition::Degraded));
    let down = told(&[remote("waiting")], Some(&on), &process);
    let expected = vec!["line_down", "storage_scarce", "sensor"];
    assert_eq!(down, (expected, Condition::LocalOnly));
    let trying = Configuration {
        step: Step::Trying,
        ..Configuration::default()
    };
    process.configuration = Some(&trying);
    let (codes, condition) = told(&[remote("waiting")], Some(&on), &process);
    assert_eq!(
        (codes[0], condition),
        ("configuration_trying", Condition::Updating)
    );
    on.accounts[0].streams[0].fault = Some("no space left on the disk".into());
    let (codes, condition) = told(&[], Some(&on), &process);
    assert_eq!((codes[0], condition), ("storage_full", Condition::Fault));
    on.accounts[0].streams[0].fault = Some("input/output error".into());
    let (codes, condition) = told(&[remote("waiting")], Some(&on), &process);
    assert_eq!((codes[0], condition), ("stream_fault", Condition::Fault));
    assert_eq!(told(&[], None, &process).0[0], "storage_off");
}

#[test]
fn certificates_are_told_of_before_they_end() {
    let (_, mut process) = well();
    for (ends, expected) in [
        (days(-1), Some(("certificate_ended", Condition::Fault))),
        (days(0), Some(("certificate_ended", Condition::Fault))),
        (days(29), Some(("certificate_ends", Condition::Degraded))),
        (days(31), None),
    ] {
        process.certs.leaf = Some(ends);
        let found = findings(at(0), &[], None, false, &process);
        let told = found.first().map(|it| (it.code, it.condition));
        assert_eq!(told, expected, "{ends}");
        assert!(found.iter().all(|it| it.what == "leafnode"));
    }
}

#[test]
fn a_clock_that_is_not_believed_is_told() {
    let (_, mut process) = well();
    process.trust = Trust::Untrusted;
    let found = findings(at(0), &[], None, false, &process);
    assert_eq!(found[0].code, "clock_untrusted");
}

#[test]
fn the_document_tells_of_devices_and_streams() {
    let world = lively();
    let status = world.document("/status.json");
    assert_eq!(status["condition"], "online");
    assert_eq!(status["server_name"], "edge");
    assert_eq!(status["devices"]["count"], 1);
    assert_eq!(status["devices"]["list"][0]["user"], "a");
    assert_eq!(status["storage"]["messages"], 2);
    let stream = &status["storage"]["streams"][0];
    assert_eq!(
        (&stream["name"], &stream["account"]),
        (&"ORDERS".into(), &"A".into())
    );
    assert_eq!(status["uptime_s"], 63);
}

/// Every word for people is in the page, and nothing that it would have to fetch elsewhere.
#[test]
fn the_page_stands_alone_and_has_words_for_all() {
    let source = include_str!("findings.rs");
    let codes: Vec<_> = source
        .split('"')
        .filter(|it| {
            let is_code = |it: &str| it.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            it.contains('_') && is_code(it)
        })
        .filter(|it| *it != "snake_case")
        .collect();
    assert!(codes.len() >= 13, "{codes:?}");
    for code in codes {
        assert!(PAGE.contains(&format!("{code}: (")), "no words for {code}");
    }
    for condition in [
        Condition::Online,
        Condition::Degraded,
        Condition::LocalOnly,
        Condition::Updating,
        Condition::Fault,
    ] {
        let name = serde_json::to_string(&condition).unwrap();
        let name = name.trim_matches('"');
        assert!(PAGE.contains(&format!("{name}: [")), "no words for {name}");
        assert!(PAGE.contains(&format!("{name}: '<")), "no sign for {name}");
    }
    assert!(PAGE.len() < 100_000);
    let outside = PAGE.matches("http").count() - PAGE.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(outside, 0);
}
