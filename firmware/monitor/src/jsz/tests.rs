use super::*;
use crate::tests::samples::{jetstream, server};
use crate::text::pretty;

fn ask(query: &str, on: Option<JetStream>) -> Result<serde_json::Value, Refusal> {
    let options = Options::read(&Query::parse(query))?;
    let text = pretty(&document(&server(), &options, on)?);
    Ok(serde_json::from_str(&text).unwrap())
}

fn accounts(query: &str) -> Vec<String> {
    let found = ask(query, Some(jetstream(&["C", "A", "B"]))).unwrap();
    let list = found["account_details"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    list.iter()
        .map(|account| account["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn accounts_are_shown_when_asked_for_by_name_and_page() {
    for (query, names) in [
        ("", vec![]),
        ("accounts=1", vec!["A", "B", "C"]),
        ("streams=1", vec!["A", "B", "C"]),
        ("accounts=1&offset=1&limit=1", vec!["B"]),
        ("accounts=1&offset=-1&limit=2", vec!["A", "B"]),
        ("accounts=1&offset=9", vec![]),
        ("accounts=1&offset=1&limit=-1", vec!["A", "B", "C"]),
        ("acc=B", vec!["B"]),
        ("acc=B&consumers=1", vec!["B"]),
        ("acc=X", vec![]),
        ("acc=X&streams=1", vec![]),
    ] {
        assert_eq!(accounts(query), names, "{query}");
    }
}

#[test]
fn sums_are_over_all_accounts_whatever_is_shown() {
    let found = ask("acc=A", Some(jetstream(&["A", "B"]))).unwrap();
    for (key, value) in [
        ("storage", 300),
        ("reserved_memory", 6),
        ("accounts", 2),
        ("streams", 2),
        ("consumers", 2),
        ("messages", 6),
        ("bytes", 300),
        ("total", 2),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    assert_eq!(
        found["api"],
        serde_json::json!({"level": 5, "total": 8, "errors": 2})
    );
    assert_eq!(found["account_details"][0]["reserved_memory"], u64::MAX);
}

#[test]
fn streams_consumers_and_configs_are_shown_when_asked_for() {
    let stream = |query: &str| {
        let found = ask(query, Some(jetstream(&["A"]))).unwrap();
        found["account_details"][0]["stream_detail"][0].clone()
    };
    assert!(stream("acc=A").is_null());
    let plain = stream("streams=1");
    assert!(plain["config"].is_null() && plain["consumer_detail"].is_null());
    assert_eq!(plain["state"]["consumer_count"], 1);
    assert_eq!(plain["cluster"]["leader"], "edge");
    let consumers = stream("consumers=1");
    assert_eq!(consumers["consumer_detail"][0]["name"], "work");
    assert!(consumers["consumer_detail"][0]["config"].is_null());
    let all = stream("consumers=1&config=1");
    assert_eq!(all["config"]["name"], "S");
    assert_eq!(all["consumer_detail"][0]["config"]["durable_name"], "work");
}

#[test]
fn an_empty_stream_has_gos_zero_time() {
    let mut on = jetstream(&["A"]);
    let stream = &mut on.accounts[0].streams[0];
    (stream.first_seq, stream.last_seq) = (1, 0);
    (stream.first_time, stream.last_time) = (None, None);
    let found = ask("streams=1", Some(on)).unwrap();
    let state = &found["account_details"][0]["stream_detail"][0]["state"];
    assert_eq!(state["first_ts"], "0001-01-01T00:00:00Z");
    assert_eq!(state["last_ts"], "0001-01-01T00:00:00Z");
    assert_eq!(state["first_seq"], 0);
}

#[test]
fn without_jetstream_there_is_no_leader() {
    assert_eq!(ask("", None).unwrap()["disabled"], true);
    let refused = Refusal("filtered response: not leader".to_owned());
    assert_eq!(ask("leader-only=1", None), Err(refused));
    assert!(ask("leader-only=1", Some(jetstream(&["A"]))).is_ok());
    assert!(ask("consumers=maybe", None).is_err());
}
