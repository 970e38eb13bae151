use std::time::Duration;

use super::*;
use crate::query::{Query, Refusal};
use crate::rows::Peer;
use crate::tests::samples::{at, client, server, traffic};

/// Three open clients, an open leafnode, and two that are gone.
fn ask(query: &str) -> Result<serde_json::Value, Refusal> {
    let options = Options::read(&Query::parse(query))?;
    let open = vec![
        Connection {
            account: "B".into(),
            user: "bob".into(),
            subscriptions: 9,
            ..client(3)
        },
        Connection {
            traffic: traffic(7),
            last_activity: at(20),
            ..client(1)
        },
        Connection {
            pending_bytes: 5,
            start: at(40),
            rtt: Duration::from_secs(1),
            ..client(2)
        },
        Connection {
            peer: Peer::Leafnode,
            account: "B".into(),
            ..client(4)
        },
    ];
    let gone = |cid, second, why: &str| Connection {
        end: Some((at(second), why.into())),
        ..client(cid)
    };
    let closed = vec![
        gone(10, 30, "Stale Connection"),
        gone(11, 55, "Client Closed"),
    ];
    let knows = |name: &str| ["A", "B"].contains(&name);
    let document = document(&server(), &options, knows, open, closed);
    Ok(serde_json::to_value(document).unwrap())
}

fn cids(query: &str) -> Vec<u64> {
    let found = ask(query).unwrap();
    let rows = found["connections"].as_array().unwrap();
    rows.iter()
        .map(|row| row["cid"].as_u64().unwrap())
        .collect()
}

#[test]
fn connections_are_sorted() {
    for (query, order) in [
        ("", vec![1, 2, 3, 4]),
        ("sort=cid", vec![1, 2, 3, 4]),
        ("sort=start", vec![1, 2, 3, 4]),
        ("sort=subs", vec![3, 1, 2, 4]),
        ("sort=pending", vec![2, 1, 3, 4]),
        ("sort=msgs_to", vec![1, 2, 3, 4]),
        ("sort=msgs_from&offset=1", vec![2, 3, 4]),
        ("sort=bytes_to&limit=1", vec![1]),
        ("sort=bytes_from", vec![1, 2, 3, 4]),
        ("sort=last", vec![2, 3, 4, 1]),
        ("sort=idle", vec![1, 2, 3, 4]),
        ("sort=uptime", vec![2, 1, 3, 4]),
        ("sort=rtt", vec![2, 1, 3, 4]),
        ("sort=stop&state=closed", vec![11, 10]),
        ("sort=reason&state=closed", vec![11, 10]),
        ("sort=uptime&state=closed", vec![10, 11]),
    ] {
        assert_eq!(cids(query), order, "{query}");
    }
}

#[test]
fn connections_are_filtered_and_paged() {
    for (query, found, total) in [
        ("offset=1&limit=2", vec![2, 3], 4),
        ("offset=-3&limit=0", vec![1, 2, 3, 4], 4),
        ("offset=99", vec![], 4),
        ("state=closed", vec![10, 11], 2),
        ("state=any", vec![1, 2, 3, 4, 10, 11], 6),
        ("state=ALL&limit=5", vec![1, 2, 3, 4, 10], 6),
        ("acc=B", vec![3, 4], 2),
        ("acc=A&state=all", vec![1, 2, 10, 11], 4),
        ("user=bob", vec![3], 4),
        ("user=nobody", vec![], 4),
        ("cid=2", vec![2], 4),
        ("cid=10", vec![], 4),
        ("cid=10&state=any", vec![10], 6),
        ("cid=4", vec![], 4),
        ("mqtt_client=x", vec![], 4),
    ] {
        assert_eq!(cids(query), found, "{query}");
        let document = ask(query).unwrap();
        assert_eq!(document["total"], total, "{query}");
        assert_eq!(document["num_connections"], found.len(), "{query}");
    }
    assert_eq!(ask("cid=2&limit=9").unwrap()["limit"], 1);
    assert_eq!(ask("limit=-1").unwrap()["limit"], 1024);
}

#[test]
fn an_unknown_account_has_no_connections_at_all() {
    let document = ask("acc=X").unwrap();
    assert!(document["connections"].is_null());
    assert_eq!(
        (&document["server_id"], &document["total"]),
        (&"".into(), &0.into())
    );
}

#[test]
fn much_is_told_only_when_asked_for() {
    let row = |query: &str| ask(query).unwrap()["connections"][0].clone();
    let plain = row("");
    for key in [
        "authorized_user",
        "account",
        "name_tag",
        "subscriptions_list",
        "stop",
    ] {
        assert!(plain[key].is_null(), "{key}");
    }
    assert_eq!(plain["uptime"], "1m0s");
    assert_eq!(
        (&plain["idle"], &plain["rtt"]),
        (&"40s".into(), &"144µs".into())
    );
    assert_eq!(
        (&plain["kind"], &plain["type"]),
        (&"Client".into(), &"nats".into())
    );
    let told = row("auth=1&subs=1");
    assert_eq!(
        (&told["authorized_user"], &told["account"]),
        (&"u".into(), &"A".into())
    );
    assert_eq!(told["subscriptions_list"][0], "a.*");
    assert_eq!(
        row("subs=detail")["subscriptions_list_detail"][0]["sid"],
        "7"
    );
    let gone = row("state=closed");
    assert_eq!(
        (&gone["reason"], &gone["uptime"]),
        (&"Stale Connection".into(), &"30s".into())
    );
}

#[test]
fn wrong_parameters_are_refused_in_nats_servers_words() {
    for (query, text) in [
        ("sort=x", "invalid sorting option: x"),
        ("sort=stop", "sort by stop only valid on closed connections"),
        (
            "sort=reason&state=any",
            "sort by reason only valid on closed connections",
        ),
        ("state=x", "Error decoding state for x"),
        (
            "subs=x&sort=x",
            "Error decoding boolean for 'subs': strconv.ParseBool: parsing \"x\": invalid syntax",
        ),
        (
            "limit=x",
            "Error decoding int for 'limit': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
    ] {
        assert_eq!(ask(query), Err(Refusal(text.to_owned())), "{query}");
    }
}
