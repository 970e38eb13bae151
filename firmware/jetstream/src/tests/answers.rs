//! Requests and nats-server 2.15.1's answers to them, recorded in `answers/*.txt`: ours are the
//! same. Times are written as `T`; where a recorded answer is not ours, the file says why.

use frond_wire::Headers;

use super::world::{Sent, World};
use crate::Facts;

#[test]
fn of_streams() {
    agree(include_str!("answers/streams.txt"));
}

#[test]
fn of_consumers() {
    agree(include_str!("answers/consumers.txt"));
}

#[test]
fn of_requests_that_are_wrong() {
    agree(include_str!("answers/invalid.txt"));
}

#[test]
fn of_unusual_requests() {
    agree(include_str!("answers/unusual.txt"));
}

#[test]
fn of_requests_with_more_than_one_fault() {
    agree(include_str!("answers/order.txt"));
}

fn agree(recorded: &str) {
    let mut world = World::with(Facts {
        server_name: "golden".into(),
        ..Facts::default()
    });
    let mut differences = Vec::new();
    let mut lines = recorded.lines();
    while let Some(line) = lines.next() {
        let Some(request) = line.strip_prefix("> ") else {
            continue;
        };
        let expected = lines
            .next()
            .and_then(|line| line.strip_prefix("< "))
            .unwrap_or_default();
        let (subject, rest) = request.split_once(" [").unwrap();
        let (header, body) = rest.split_once("] ").unwrap();
        let header: Vec<(&str, &str)> = header
            .split(';')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let number = world.send(subject, &header, body.as_bytes());
        world.drain();
        let to = format!("_R.{number}");
        let got = world.sent.iter().find(|sent| sent.to == to);
        let got = got.map_or_else(|| "silence".to_owned(), told);
        if got != expected {
            differences.push(format!("> {request}\n< {expected}\n! {got}\n"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn told(sent: &Sent) -> String {
    let parts = sent.message.message();
    let payload = String::from_utf8_lossy(parts.payload);
    let headers = Headers::new(parts.header);
    if let Some(status) = headers.status() {
        let description = headers.description().unwrap_or_default();
        return format!("{status} {description}").trim_end().to_owned();
    }
    if parts.header.is_empty() {
        return uncounted(&timeless(&payload));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let pairs: Vec<String> = headers
        .iter()
        .map(|(key, value)| match key {
            b"Nats-Time-Stamp" => "Nats-Time-Stamp=T".to_owned(),
            _ => format!("{}={}", text(key), text(value)),
        })
        .collect();
    format!("H {} {payload}", pairs.join(";"))
}

/// nats-server counts some requests late.
fn uncounted(json: &str) -> String {
    let Some((head, rest)) = json.split_once(r#""api":{"level":5,"total":"#) else {
        return json.to_owned();
    };
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    format!(r#"{head}"api":{{"level":5,"total":N,"errors":N}}{after}"#)
}

/// Times of the day of recording become `T`; Go's zero time stays.
fn timeless(json: &str) -> String {
    let mut out = String::new();
    let mut rest = json;
    while let Some(at) = rest.find(":\"20") {
        let (before, from) = rest.split_at(at + 2);
        out.push_str(before);
        let (value, after) = from.split_at(from.find('"').unwrap_or(from.len()));
        let is_time = value.contains('T') && value.ends_with('Z');
        out.push_str(if is_time { "T" } else { value });
        rest = after;
    }
    out.push_str(rest);
    out
}
