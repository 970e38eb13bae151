use serde_json::Value;

use super::*;
use crate::tests::world::lively;

/// spec: answers of nats-server v2.15.1
#[test]
fn options_are_read_as_parameters_or_refused_in_gos_words() {
    for (endpoint, json, refused) in [
        (
            Endpoint::Connz,
            r#"{"limit":"x"}"#,
            "json: cannot unmarshal string into Go struct field ConnzEventOptions.limit of type int",
        ),
        (
            Endpoint::Connz,
            r#"{"limit":1.5}"#,
            "json: cannot unmarshal number 1.5 into Go struct field ConnzEventOptions.limit of type int",
        ),
        (
            Endpoint::Connz,
            r#"{"auth":1}"#,
            "json: cannot unmarshal number into Go struct field ConnzEventOptions.auth of type bool",
        ),
        (
            Endpoint::Connz,
            r#"{"cid":-1}"#,
            "json: cannot unmarshal number -1 into Go struct field ConnzEventOptions.cid of type uint64",
        ),
        (
            Endpoint::Connz,
            "[]",
            "json: cannot unmarshal array into Go value of type server.ConnzEventOptions",
        ),
        (
            Endpoint::Connz,
            "x",
            "invalid character 'x' looking for beginning of value",
        ),
        (Endpoint::Connz, "{", "unexpected end of JSON input"),
    ] {
        assert_eq!(
            options::read(endpoint, json.as_bytes()).map(|_| ()),
            Err(refused.to_owned()),
            "{json}"
        );
    }
    let json = br#"{"Subscriptions":true,"subscriptions_detail":true,"state":1,"limit":-2,"auth":null,"more":{}}"#;
    let query = options::read(Endpoint::Connz, json).unwrap();
    assert_eq!(query.text("state"), "closed");
    assert_eq!(
        (query.int("limit"), query.flag("auth")),
        (Ok(-2), Ok(false))
    );
    assert_eq!(query.subs(), Ok(crate::query::Subs::Detailed));
}

#[test]
fn subjects_name_documents_and_accounts() {
    for (what, wanted) in [
        ("CONNZ", Some((Endpoint::Connz, None))),
        ("ACCOUNT.A.CONNZ", Some((Endpoint::Connz, Some("A")))),
        ("ACCOUNT.A.STATZ", Some((Endpoint::Accstatz, Some("A")))),
        ("ACCOUNT.PING.STATZ", Some((Endpoint::Accstatz, None))),
        ("ACCOUNT.A.INFO", Some((Endpoint::Accountz, Some("A")))),
        ("ACCOUNT.A.VARZ", None),
        ("NOTHINGZ", None),
        ("ACCOUNT", None),
    ] {
        let found = Wanted::read(what).map(|it| (it.endpoint, it.account));
        assert_eq!(found, wanted, "{what}");
    }
}

#[test]
fn the_system_account_gets_the_documents_of_http() {
    let world = lively();
    let reported = |what: &str, options: &str| -> Value {
        serde_json::from_str(&world.report(what, options).unwrap()).unwrap()
    };
    for (what, options, target) in [
        ("VARZ", "", "/varz"),
        (
            "CONNZ",
            r#"{"auth":true,"subscriptions_detail":true}"#,
            "/connz?auth=1&subs=detail",
        ),
        (
            "CONNZ",
            r#"{"state":1,"sort":"stop"}"#,
            "/connz?state=closed&sort=stop",
        ),
        (
            "SUBSZ",
            r#"{"subscriptions":true,"test":"r.1"}"#,
            "/subsz?subs=1&test=r.1",
        ),
        (
            "JSZ",
            r#"{"consumer":true,"config":true}"#,
            "/jsz?consumers=1&config=1",
        ),
        ("ACCOUNTZ", r#"{"account":"A"}"#, "/accountz?acc=A"),
        ("LEAFZ", "{}", "/leafz"),
        ("ROUTEZ", "", "/routez"),
        ("GATEWAYZ", "", "/gatewayz"),
        ("ACCOUNT.A.CONNZ", "", "/connz?acc=A"),
        ("ACCOUNT.A.SUBSZ", "", "/subsz?acc=A&subs=1"),
        ("ACCOUNT.PING.STATZ", "", "/accstatz"),
        ("IPQUEUESZ", r#"{"all":true}"#, "/ipqueuesz?all=1"),
    ] {
        assert_eq!(
            reported(what, options),
            world.document(target),
            "{what} {options}"
        );
    }
    assert_eq!(
        world.report("HEALTHZ", "").unwrap(),
        r#"{"status":"ok","status_code":200}"#
    );
    assert_eq!(
        reported("ACCOUNT.A.JSZ", r#"{"streams":true}"#)["stream_detail"][0]["name"],
        "ORDERS"
    );
    assert_eq!(reported("ACCOUNT.A.INFO", "")["account_name"], "A");
    assert_eq!(reported("RAFTZ", ""), Value::Object(serde_json::Map::new()));
}

#[test]
fn options_beyond_http_narrow_the_answer() {
    let world = lively();
    let count = |options: &str| -> Value {
        let text = world.report("CONNZ", options).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["num_connections"].clone()
    };
    assert_eq!(count(r#"{"acc":"A","filter_subject":"a.b"}"#), 1);
    assert_eq!(count(r#"{"acc":"A","filter_subject":"b.b"}"#), 0);
    assert_eq!(count(r#"{"state":7}"#), 0);
    assert_eq!(
        world.document("/connz?acc=A&filter_subject=b.b")["num_connections"],
        1
    );
    let unused = world.report(
        "ACCOUNT.PING.STATZ",
        r#"{"accounts":["B"],"include_unused":true}"#,
    );
    let unused: Value = serde_json::from_str(&unused.unwrap()).unwrap();
    assert_eq!(unused["account_statz"][0]["acc"], "B");
    assert_eq!(unused["account_statz"].as_array().unwrap().len(), 1);
}

/// spec: answers of nats-server v2.15.1
#[test]
fn what_cannot_be_had_is_an_error_or_silence() {
    let world = lively();
    for (what, options, code, text) in [
        ("CONNZ", r#"{"sort":"x"}"#, 500, "invalid sorting option: x"),
        (
            "CONNZ",
            "x",
            400,
            "invalid character 'x' looking for beginning of value",
        ),
        (
            "CONNZ",
            r#"{"filter_subject":"a"}"#,
            500,
            "filter by subject only valid with account filtering",
        ),
        (
            "ACCOUNTZ",
            r#"{"account":"Q"}"#,
            500,
            "Account Q does not exist",
        ),
        ("ACCOUNT.Q.INFO", "", 500, "Account Q does not exist"),
        (
            "ACCOUNT.B.JSZ",
            "",
            500,
            "account \"B\" not jetstream enabled",
        ),
        ("ACCOUNT.Q.JSZ", "", 500, "account \"Q\" not found"),
    ] {
        let description = text.to_owned();
        let error = Unanswered::Error { code, description };
        assert_eq!(world.report(what, options), Err(error), "{what} {options}");
    }
    for what in ["OTHERZ", "ACCOUNT.B.STATZ"] {
        assert_eq!(world.report(what, ""), Err(Unanswered::Silence), "{what}");
    }
}
