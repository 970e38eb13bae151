//! Descriptions as nats-server 2.15.1 answers them: each line of `golden.jsonl` is a request and
//! the description or the error that came back.

use serde_json::Value;

use super::*;
use crate::errors::ApiError;

fn stream(name: &str) -> StreamFacts {
    let subjects = vec![format!("{}.>", name.to_lowercase()).into()];
    StreamFacts {
        name: name.into(),
        subjects,
        replicas: 1,
        retention: if name == "W" {
            Retention::WorkQueue
        } else {
            Retention::Limits
        },
        limits: if name == "B" {
            ConsumerLimits {
                inactive_threshold: 10_000_000_000,
                max_ack_pending: 50,
            }
        } else {
            ConsumerLimits::default()
        },
        ..StreamFacts::default()
    }
}

fn answer(body: &[u8], stream: &StreamFacts) -> Result<ConsumerConfig, ApiError> {
    let server = ServerLimits::default();
    let request = CreateRequest::parse(body, true)?;
    let config = request.config.prepare(stream, &server, request.pedantic)?;
    admit_new(&config, stream, &server, std::iter::empty(), true)?;
    Ok(config)
}

#[test]
fn answers_are_those_of_the_real_server() {
    for line in include_str!("golden.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let stream = stream(case["stream"].as_str().unwrap());
        let body = match case["raw"].as_str() {
            Some(raw) => raw.to_owned(),
            None => case["request"].to_string(),
        };
        match answer(body.as_bytes(), &stream) {
            Ok(config) => {
                let shown = serde_json::to_value(&config).unwrap();
                assert_eq!(shown, case["config"], "{body}");
            }
            Err(error) => {
                let shown = serde_json::to_value(&error).unwrap();
                assert_eq!(shown, case["error"], "{body}");
            }
        }
    }
}

#[test]
fn keys_stand_in_the_order_of_the_real_server() {
    let line = include_str!("golden.jsonl")
        .lines()
        .find(|line| line.contains("rate_limit_bps\":1000"))
        .unwrap();
    let case: Value = serde_json::from_str(line).unwrap();
    let config = answer(case["request"].to_string().as_bytes(), &stream("L")).unwrap();
    let shown = serde_json::to_string(&config).unwrap();
    assert!(line.contains(&shown), "{shown}");
}

#[test]
fn what_is_too_long() {
    let long = |n: usize| "x".repeat(n);
    for (config, err_code, text) in [
        (
            ConsumerConfig {
                durable_name: long(256),
                ..ConsumerConfig::default()
            },
            10102,
            "consumer name is too long, maximum allowed is 255",
        ),
        (
            ConsumerConfig {
                description: long(4097),
                ..ConsumerConfig::default()
            },
            10107,
            "consumer description is too long, maximum allowed is 4096",
        ),
        (
            ConsumerConfig {
                metadata: [("k".to_owned(), long(128 * 1024))].into(),
                ..ConsumerConfig::default()
            },
            10135,
            "consumer metadata exceeds maximum size of 128KB",
        ),
    ] {
        let error = config
            .prepare(&stream("L"), &ServerLimits::default(), false)
            .unwrap_err();
        assert_eq!((error.err_code, &*error.description), (err_code, text));
    }
}

fn prepared(json: &str) -> ConsumerConfig {
    let config: ConsumerConfig = serde_json::from_str(json).unwrap();
    config
        .prepare(&stream("L"), &ServerLimits::default(), false)
        .unwrap()
}

#[test]
fn what_may_change() {
    let base = r#"{"durable_name":"D","ack_policy":"explicit","max_waiting":5"#;
    let old = prepared(&format!("{base}}}"));
    for (more, text) in [
        ("", ""),
        (r#","description":"x","max_deliver":3,"ack_wait":5"#, ""),
        (
            r#","filter_subject":"l.a","max_ack_pending":7,"headers_only":true"#,
            "",
        ),
        (
            r#","deliver_policy":"new""#,
            "deliver policy can not be updated",
        ),
        (r#","mem_storage":true"#, "storage type can not be updated"),
        (
            r#","replay_policy":"original""#,
            "replay policy can not be updated",
        ),
        (r#","sourcing":true"#, "sourcing can not be updated"),
    ] {
        let new = prepared(&format!("{base}{more}}}"));
        let verdict = admit_change(Some(&old), &new, Action::Update, false);
        let shown = verdict
            .err()
            .map(|e| (e.err_code, e.description.into_owned()));
        let expected = (!text.is_empty()).then(|| (10012, text.to_owned()));
        assert_eq!(shown, expected, "{more}");
    }
    let code = |old: Option<&ConsumerConfig>, new: &ConsumerConfig, action| {
        admit_change(old, new, action, false)
            .err()
            .map(|e| e.err_code)
    };
    let other = prepared(&format!(r#"{base},"description":"y"}}"#));
    assert_eq!(code(Some(&old), &old, Action::Create), None);
    assert_eq!(code(Some(&old), &other, Action::Create), Some(10148));
    assert_eq!(code(None, &old, Action::Update), Some(10149));
    assert_eq!(code(None, &old, Action::CreateOrUpdate), None);
}

#[test]
fn a_push_consumer_stays_one() {
    let push = prepared(r#"{"durable_name":"D","deliver_subject":"d"}"#);
    let moved = prepared(r#"{"durable_name":"D","deliver_subject":"e"}"#);
    let pull = prepared(r#"{"durable_name":"D","max_waiting":512}"#);
    let text = |old, new, bound| {
        let verdict = admit_change(Some(old), new, Action::Update, bound);
        verdict
            .err()
            .map(|e| (e.err_code, e.description.into_owned()))
    };
    let refused = |text: &str| Some((10012, text.to_owned()));
    assert_eq!(
        text(&push, &pull, false),
        refused("can not update push consumer to pull based")
    );
    assert_eq!(
        text(&pull, &push, false),
        refused("can not update pull consumer to push based")
    );
    assert_eq!(text(&push, &moved, false), None);
    assert_eq!(
        text(&push, &moved, true),
        Some((10013, "consumer name already in use".into()))
    );
}

#[test]
fn a_work_queue_message_has_one_reader() {
    let reader = |filter: &str| ConsumerConfig {
        ack_policy: AckPolicy::Explicit,
        filter_subject: filter.into(),
        ..ConsumerConfig::default()
    };
    for (filter, code) in [("w.b", None), ("w.*", Some(10100)), ("", Some(10099))] {
        let others = [reader("w.a")];
        let wanted = reader(filter);
        let server = ServerLimits::default();
        let verdict = admit_new(&wanted, &stream("W"), &server, others.iter(), true);
        assert_eq!(verdict.err().map(|e| e.err_code), code, "{filter}");
    }
    let full = StreamFacts {
        max_consumers: 1,
        ..stream("L")
    };
    let others = [reader("")];
    let server = ServerLimits::default();
    let verdict = admit_new(&reader(""), &full, &server, others.iter(), true);
    assert_eq!(verdict.err().map(|e| e.err_code), Some(10026));
    assert!(admit_new(&reader(""), &full, &server, others.iter(), false).is_ok());
}
