use std::collections::BTreeMap;

use frond_broker::Conn;
use frond_clock::{Timestamp, Trust};
use frond_jetstream::{StreamFault, StreamSummary};

use super::*;
use crate::CertEnds;
use crate::tests::samples::at;
use crate::tests::world::{Paper, lively, request};

/// Nothing is wrong with it.
fn well() -> Process<'static> {
    static NO_REQUESTS: BTreeMap<String, u64> = BTreeMap::new();
    Process {
        resident_bytes: 1,
        cpu_percent: 0.0,
        cores: 1,
        http_req_stats: &NO_REQUESTS,
        disk: None,
        config_loaded: at(0),
        config_digest: "",
        certs: CertEnds::default(),
        ocsp_cache: None,
        trust: Trust::Trusted,
        threads: Vec::new,
        sensors: &[],
        troubles: &[],
        forwards: &[],
        configuration: None,
    }
}

fn days(days: i64) -> Timestamp {
    Timestamp::from_nanos(at(0).as_nanos() + days * 86_400_000_000_000)
}

fn remote(state: &'static str) -> Remote {
    Remote {
        urls: vec!["nats://hub:7422".into()],
        state,
        last_error: "i/o timeout".into(),
        ..Remote::default()
    }
}

/// What is kept, with one stream that may have a fault.
fn stored(max_bytes: u64, fault: Option<StreamFault<'_>>) -> Stored<'_> {
    let stream = StreamSummary {
        name: "ORDERS",
        is_on_disk: true,
        messages: 3,
        bytes: 150,
        first_time: None,
        last_time: None,
        lost: 0,
        fault,
    };
    Stored {
        used_bytes: 150,
        max_bytes,
        index_bytes: (0, None),
        reports: &[],
        streams: vec![("A", stream)],
    }
}

/// Codes and the condition they make.
fn told(
    lines: &[Remote],
    stored: Option<&Stored<'_>>,
    process: &Process<'_>,
) -> (Vec<&'static str>, Condition) {
    let found = findings(&Facts {
        now: at(0),
        lines,
        stored,
        wants_storage: true,
        is_leaving: false,
        absent: &[],
        process,
    });
    let codes = found.iter().map(|it| it.code).collect();
    (codes, worst(&found))
}

#[test]
fn what_is_as_it_should_be_is_not_told() {
    let lines = [remote("up"), remote("disabled")];
    let told = told(&lines, Some(&stored(10_000, None)), &well());
    assert_eq!(told, (vec![], Condition::Online));
}

#[test]
fn the_worst_is_told_first_and_is_what_the_box_is() {
    let scarce = stored(160, None);
    let mut process = well();
    let sensor = Sensor {
        name: "fridge".into(),
        reason: "no answer on the bus".into(),
        ..Sensor::default()
    };
    process.sensors = std::slice::from_ref(&sensor);
    let lamp = Trouble {
        code: "lamp_fault",
        is_fault: false,
        name: "status".into(),
        why: "no such lamp".into(),
    };
    process.troubles = std::slice::from_ref(&lamp);
    let expected = vec!["storage_scarce", "lamp_fault", "sensor_silent"];
    let alone = told(&[], Some(&scarce), &process);
    assert_eq!(alone, (expected, Condition::Degraded));
    let down = [remote("waiting")];
    let expected = vec!["line_down", "storage_scarce", "lamp_fault", "sensor_silent"];
    let all = told(&down, Some(&scarce), &process);
    assert_eq!(all, (expected, Condition::LocalOnly));
    let trying = Configuration {
        step: Step::Trying,
        ..Configuration::default()
    };
    process.configuration = Some(&trying);
    for (fault, code, condition) in [
        (None, "configuration_trying", Condition::Updating),
        (Some(StreamFault::Full), "storage_full", Condition::Fault),
        (
            Some(StreamFault::Failed("EIO")),
            "stream_fault",
            Condition::Fault,
        ),
    ] {
        let (codes, is) = told(&down, Some(&stored(10_000, fault)), &process);
        assert_eq!((codes[0], is), (code, condition));
    }
    assert_eq!(told(&[], None, &process).0[0], "storage_off");
    let bell = Trouble {
        code: "output_fault",
        is_fault: true,
        ..lamp.clone()
    };
    process.troubles = std::slice::from_ref(&bell);
    let (codes, is) = told(&down, Some(&stored(10_000, None)), &process);
    assert_eq!((codes[0], is), ("output_fault", Condition::Fault));
}

#[test]
fn a_hub_that_refuses_is_not_one_out_of_reach() {
    let whole = stored(10_000, None);
    for (words, code) in [
        ("Authorization Violation", "line_refused"),
        ("hub:7422: connection refused", "line_unanswered"),
        ("i/o timeout", "line_down"),
    ] {
        let mut down = remote("waiting");
        down.last_error = words.into();
        let told = told(&[down], Some(&whole), &well());
        assert_eq!(told, (vec![code], Condition::LocalOnly));
    }
}

#[test]
fn memory_for_the_index_is_told_before_it_ends() {
    for (used, expected) in [
        (89, Condition::Online),
        (90, Condition::Degraded),
        (100, Condition::Fault),
    ] {
        let mut kept = stored(10_000, None);
        kept.index_bytes = (used, Some(100));
        assert_eq!(told(&[], Some(&kept), &well()).1, expected, "{used}");
    }
}

#[test]
fn there_is_no_more_to_tell_than_fits_a_page() {
    let lines: Vec<_> = (0..1000).map(|_| remote("waiting")).collect();
    let whole = stored(10_000, None);
    assert_eq!(told(&lines, Some(&whole), &well()).0.len(), 20);
}

#[test]
fn certificates_are_told_of_before_they_end() {
    let whole = stored(10_000, None);
    let mut process = well();
    for (ends, expected) in [
        (days(-1), (vec!["certificate_ended"], Condition::Fault)),
        (days(0), (vec!["certificate_ended"], Condition::Fault)),
        (days(29), (vec!["certificate_ends"], Condition::Degraded)),
        (days(31), (vec![], Condition::Online)),
    ] {
        process.certs.leaf = Some(ends);
        assert_eq!(told(&[], Some(&whole), &process), expected, "{ends}");
    }
}

#[test]
fn a_clock_that_is_not_believed_is_told() {
    let mut process = well();
    process.trust = Trust::Untrusted;
    let told = told(&[], Some(&stored(10_000, None)), &process);
    assert_eq!(told, (vec!["clock_untrusted"], Condition::Degraded));
}

/// Whatever makes a health check fail, is not well here either.
#[test]
fn who_is_not_healthy_is_not_online() {
    let mut world = lively();
    world.disk = Paper::Torn;
    let ack = world.say(Conn(1), &request("orders.new", "ten bytes!"));
    assert!(ack.contains("\"error\""), "{ack}");
    assert_eq!(world.page("/healthz").unwrap().status, 503);
    assert_eq!(world.document("/status.json")["condition"], "fault");
}

#[test]
fn who_is_of_an_account_sees_that_only() {
    let world = lively();
    let seen = |account: &str| {
        let page = world.seen_by("/status.json", &Seen::Account(account.to_owned()));
        serde_json::from_str::<serde_json::Value>(&page.unwrap().body).unwrap()
    };
    let (own, other) = (seen("A"), seen("B"));
    assert_eq!(own["devices"]["count"], 1);
    assert_eq!(own["storage"]["count"], 1);
    assert_eq!(other["devices"]["count"], 0);
    assert_eq!(other["storage"]["count"], 0);
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
    let page = crate::whole_page(PAGE);
    for code in codes {
        assert!(page.contains(&format!("{code}: (")), "no words for {code}");
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
        assert!(page.contains(&format!("{name}: [")), "no words for {name}");
        assert!(page.contains(&format!("{name}: '<")), "no sign for {name}");
    }
    assert!(page.len() < 100_000);
    let outside = page.matches("http").count() - page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(outside, 0);
}
