use crate::{Abilities, Config, Gateway, Nothing, load_text};
use std::time::Duration;

fn config(text: &str) -> Config {
    load_text(text, "x.conf", &Nothing)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .config
}

fn gateway(text: &str) -> Gateway {
    config(&format!("gateway {{ {text} }}")).gateway
}

fn error(text: &str) -> String {
    match load_text(text, "x.conf", &Nothing) {
        Ok(loaded) => loaded.config.check().unwrap_err().to_string(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn every_option_lands_where_it_belongs() {
    let got = gateway(
        "name: A, listen: \"127.0.0.1:7333\", advertise: \"x:1\", connect_retries: 7, \
         authorization { user: g, password: s, timeout: 5 }, connect_backoff: true, \
         reject_unknown_cluster: true, write_deadline: \"3s\", gateways: [ \
         { name: B, url: \"nats://g:s@b:7223\" }, \
         { name: C, urls: [\"nats://c:1\", \"nats://d\"], \
           tls { cert_file: a, key_file: b, insecure: true } } ]",
    );
    let listen = got.listen.clone().unwrap();
    assert_eq!((listen.host.as_str(), listen.port), ("127.0.0.1", 7333));
    assert_eq!(
        (got.name.as_deref(), got.advertise.as_deref()),
        (Some("A"), Some("x:1"))
    );
    assert_eq!(got.authorization.user.as_deref(), Some("g"));
    assert_eq!(got.authorization.timeout, Duration::from_secs(5));
    assert!(got.connect_backoff && got.reject_unknown);
    assert_eq!(
        (got.connect_retries, got.write_deadline),
        (7, Some(Duration::from_secs(3)))
    );
    let remotes: Vec<_> = got
        .gateways
        .iter()
        .map(|remote| {
            let urls: Vec<_> = remote
                .urls
                .iter()
                .map(|u| (u.host.as_str(), u.port))
                .collect();
            (remote.name.as_str(), urls, remote.tls.is_some())
        })
        .collect();
    assert_eq!(
        remotes,
        [
            ("B", vec![("b", 7223)], false),
            ("C", vec![("c", 1), ("d", 7222)], true)
        ]
    );
}

#[test]
fn a_server_has_a_second_more_than_its_handshake() {
    let tls = "name: A, port: 1, tls { cert_file: a, key_file: b, timeout: 4 }";
    let got = gateway(tls);
    assert!(got.tls.as_ref().is_some_and(|tls| tls.verify));
    assert_eq!(got.authorization.timeout, Duration::from_secs(5));
}

#[test]
fn what_does_not_fit_together_is_refused_where_the_block_stands() {
    for (text, want) in [
        ("gateway { port: -1 }", "gateway has no name"),
        (
            "gateway { name: A }",
            "gateway \"A\" has no port specified (select -1 for random port)",
        ),
        (
            "gateway { name: A, port: -1, gateways: [ {name: B} ] }",
            "gateway \"B\" has no URL",
        ),
        (
            "gateway { name: A, port: -1, gateways: [ {name: B, url: \"nats://b:1\"}, \
             {url: \"nats://c:1\"} ] }",
            "gateway in the list 1 has no name",
        ),
        (
            "gateway { name: A, port: -1 }\ncluster { name: B, port: -1 }",
            "cluster name conflicts between cluster and gateway definitions",
        ),
        (
            "gateway { name: A, port: -1 }\nleafnodes { port: -1 }",
            "leaf nodes and gateways (both being defined) require a system account to also be \
             configured",
        ),
        (
            "gateway { name: A, port: -1, advertise: \"a:b\" }",
            "invalid Gateway.Advertise value of a:b",
        ),
        (
            "gateway { gateways: {} }",
            "Expected gateways field to be an array, got map",
        ),
    ] {
        let got = error(text);
        assert!(
            got.starts_with("x.conf:1:") && got.contains(want),
            "{text}: {got}"
        );
    }
    for text in [
        "gateway { name: A, port: -1 }\ncluster { port: -1 }",
        "gateway { name: A, port: -1 }\ncluster { name: A, port: -1 }",
        "gateway { name: A, port: -1 }\nleafnodes { remotes: [ {url: \"nats://a\"} ] }",
        "gateway { name: A, port: -1 }\nleafnodes { port: -1 }\n\
         system_account: S\naccounts { S {} }",
        "gateway { gateways: [ {} ] }",
    ] {
        config(text)
            .check()
            .unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}

#[test]
fn the_cluster_is_called_as_its_gateway() {
    let name = |text: &str| config(text).cluster_name().map(str::to_owned);
    assert_eq!(name("gateway { name: A, port: -1 }").as_deref(), Some("A"));
    assert_eq!(name("cluster { name: B, port: -1 }").as_deref(), Some("B"));
    assert_eq!(name("cluster { port: -1 }"), None);
    let text = "server_name: s\njetstream: true\ncluster { port: -1, routes: [\"nats://a:1\"] }\n\
                gateway { name: A, port: -1 }";
    assert!(config(text).check().is_ok());
}

#[test]
fn a_program_without_gateways_refuses_the_block_where_it_stands() {
    let may = |gateway| Abilities {
        appliance: true,
        fleet: true,
        cluster: false,
        gateway,
    };
    let config = config("port: 4222\n gateway { name: A, port: -1 }");
    let refused = config.check_abilities("frond", may(false)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "x.conf:2:2: \"gateway\": frond has no gateways, frond-hub does (run frond-hub, or \
         remove the block)"
    );
    assert!(config.check_abilities("frond-hub", may(true)).is_ok());
}
