use super::{Block, known, unsupported};
use crate::options::appliance::Part;
use crate::{Nothing, load_text};

const BLOCKS: [Block; 47] = [
    Block::Top,
    Block::Authorization,
    Block::User,
    Block::Permissions,
    Block::SubjectRules,
    Block::AllowResponses,
    Block::Account,
    Block::AccountJetStream,
    Block::AccountLimits,
    Block::Export,
    Block::Import,
    Block::ImportSource,
    Block::JetStream,
    Block::JetStreamLimits,
    Block::JetStreamBatch,
    Block::LeafNodes,
    Block::LeafAuthorization,
    Block::LeafUser,
    Block::Remote,
    Block::Compression,
    Block::Tls,
    Block::WebSocket,
    Block::WebSocketAuthorization,
    Block::Callout,
    Block::Proxies,
    Block::Proxy,
    Block::Appliance(Part::Whole),
    Block::Appliance(Part::Lamp),
    Block::Appliance(Part::Button),
    Block::Appliance(Part::Watchdog),
    Block::Appliance(Part::Sensor),
    Block::Appliance(Part::Input),
    Block::Appliance(Part::Output),
    Block::Appliance(Part::Serial),
    Block::Appliance(Part::Modbus),
    Block::Appliance(Part::Register),
    Block::Appliance(Part::Condition),
    Block::Fleet,
    Block::Ota,
    Block::OtaTrust,
    Block::OtaKeys,
    Block::OtaSource,
    Block::Forward,
    Block::ForwardTo,
    Block::Cluster,
    Block::Gateway,
    Block::RemoteGateway,
];

/// A file with `item` in `block`.
fn within(block: Block, item: &str) -> String {
    let (before, after) = match block {
        Block::Top => ("", ""),
        Block::Authorization => ("authorization {", "}"),
        Block::User => ("authorization { users: [{", "}] }"),
        Block::Permissions => ("authorization { permissions {", "} }"),
        Block::SubjectRules => ("authorization { permissions { publish {", "} } }"),
        Block::AllowResponses => ("authorization { permissions { allow_responses {", "} } }"),
        Block::Account => ("accounts { A {", "} }"),
        Block::AccountJetStream => ("accounts { A { jetstream {", "} } }"),
        Block::AccountLimits => ("accounts { A { limits {", "} } }"),
        Block::Export => ("accounts { A { exports: [{", "}] } }"),
        Block::Import => ("accounts { A { imports: [{", "}] } }"),
        Block::ImportSource => ("accounts { A { imports: [{ stream: {", "} }] } }"),
        Block::JetStream => ("jetstream {", "}"),
        Block::JetStreamLimits => ("jetstream { limits {", "} }"),
        Block::JetStreamBatch => ("jetstream { limits { batch {", "} } }"),
        Block::LeafNodes => ("leafnodes {", "}"),
        Block::LeafAuthorization => ("leafnodes { authorization {", "} }"),
        Block::LeafUser => ("leafnodes { authorization { users: [{", "}] } }"),
        Block::Remote => ("leafnodes { remotes: [{", "}] }"),
        Block::Compression => ("leafnodes { compression {", "} }"),
        Block::Tls => ("tls {", "}"),
        Block::WebSocket => ("websocket {", "}"),
        Block::WebSocketAuthorization => ("ws { authorization {", "} }"),
        Block::Callout => ("authorization { auth_callout {", "} }"),
        Block::Proxies => ("proxies {", "}"),
        Block::Proxy => ("proxies { trusted: [{", "}] }"),
        Block::Appliance(part) => return format!("appliance {{{}}}", within_part(part, item)),
        Block::Fleet => ("fleet {", "}"),
        Block::Ota => ("ota {", "}"),
        Block::OtaTrust => ("ota { trust {", "} }"),
        Block::OtaKeys => ("ota { trust { root {", "} } }"),
        Block::OtaSource => ("ota { source {", "} }"),
        Block::Forward => ("forward {", "}"),
        Block::ForwardTo => ("forward { to {", "} }"),
        Block::Cluster => ("cluster {", "}"),
        Block::Gateway => ("gateway {", "}"),
        Block::RemoteProxy => (
            "leafnodes { remotes: [{ url: \"nats://a\", proxy {",
            "} }] }",
        ),
        Block::RemoteGateway => ("gateway { gateways: [{", "}] }"),
    };
    format!("{before}{item}{after}")
}

fn within_part(part: Part, item: &str) -> String {
    let (before, after) = match part {
        Part::Whole => ("", ""),
        Part::Lamp => ("lamps: [{", "}]"),
        Part::Button => ("button {", "}"),
        Part::Watchdog => ("watchdog {", "}"),
        Part::Sensor => ("sensors: [{", "}]"),
        Part::Input => ("inputs: [{", "}]"),
        Part::Output => ("outputs: [{", "}]"),
        Part::Serial => ("serial: [{", "}]"),
        Part::Modbus => ("modbus: [{", "}]"),
        Part::Register => ("modbus: [{ tcp: \"a:1\", registers: [{", "}] }]"),
        Part::Condition => ("conditions: [{", "}]"),
    };
    format!("{before}{item}{after}")
}

fn errors(text: &str) -> String {
    load_text(text, "x.conf", &Nothing).map_or_else(|e| e.to_string(), |_| String::new())
}

#[test]
fn every_known_key_is_read_in_any_case() {
    for block in BLOCKS {
        for key in known(block) {
            for key in [key.to_owned(), key.to_uppercase()] {
                // No option takes a date, so a key that is read complains about something else.
                let text = within(block, &format!("{key}: 2016-05-04T18:53:41Z"));
                let errors = errors(&text);
                assert!(!errors.is_empty(), "{text} is accepted");
                assert!(
                    !errors.to_lowercase().contains("unknown field"),
                    "{text}: {errors}"
                );
                assert!(!errors.contains("not supported yet"), "{text}: {errors}");
            }
        }
    }
}

#[test]
fn every_option_not_built_is_refused_by_name_and_line() {
    for block in BLOCKS {
        for key in unsupported(block).split_ascii_whitespace() {
            for value in ["{}", "[]", "\"\"", "0", "false"] {
                let text = within(block, &format!("\n {key}: {value}\n"));
                let want = format!("not supported yet: {key:?}, line 2");
                let error = load_text(&text, "x.conf", &Nothing).unwrap_err();
                let place = error
                    .0
                    .iter()
                    .find(|e| e.text == want)
                    .map(|e| (e.line, e.column));
                assert_eq!(place, Some((2, 2)), "{text}: {error}");
            }
        }
    }
}

#[test]
fn a_key_that_nobody_knows_is_an_error_unless_it_is_a_variable() {
    for block in BLOCKS {
        let text = within(block, "zzz: 1");
        let errors = errors(&text);
        assert!(
            errors.contains("nknown field") && errors.contains("\"zzz\""),
            "{text}: {errors}"
        );
    }
    assert!(errors("zzz: 1").contains("unknown field \"zzz\""));
    assert_eq!(errors("zzz: 4223\nport: $zzz"), "");
}

#[test]
fn no_key_is_in_both_tables() {
    for block in BLOCKS {
        for key in unsupported(block).split_ascii_whitespace() {
            assert!(!known(block).any(|known| known == key), "{block:?} {key}");
        }
    }
}
