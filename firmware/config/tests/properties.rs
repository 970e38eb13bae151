//! Whatever the text is, reading it ends with options or with errors that say where.

use frond_config::{Source, changes, load_text, parse};
use proptest::prelude::*;

/// Files and variables with every kind of content, some of them referring to themselves.
struct World;

impl Source for World {
    fn read(&self, path: &str) -> Result<String, String> {
        match path {
            "a" => Ok("include b\nx: 1".to_owned()),
            "b" => Ok("include a".to_owned()),
            "c" => Ok("port: 1\nx: [1, {y: 2}]".to_owned()),
            _ => Err(format!("open {path}: no such file or directory")),
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        match name {
            "A" => Some("[$B, $B]".to_owned()),
            "B" => Some("{ x: $A }".to_owned()),
            "C" => Some("4222".to_owned()),
            "D" => Some("\"".to_owned()),
            _ => None,
        }
    }
}

/// Checks that each error has a place inside the text, or in another file.
fn reads(text: &str) {
    let lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
    let errors = match load_text(text, "x.conf", &World) {
        Ok(loaded) => {
            let changes = changes(&loaded.config, &loaded.config);
            assert!(changes.is_ok_and(|changes| changes.is_empty()));
            let _ = loaded.config.check();
            return;
        }
        Err(errors) => errors,
    };
    assert!(!errors.0.is_empty());
    for error in errors.0 {
        assert!(!error.text.is_empty() && error.has_place(), "{error:?}");
        assert!(error.line >= 1 && error.column >= 1, "{error:?}");
        assert!(
            error.file != "x.conf" || error.line <= lines,
            "{error:?} of {lines}"
        );
    }
}

/// Text made of the language's own pieces, so that it gets past the first character.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("("),
        Just("\n)\n"),
        Just("\n"),
        Just("\r"),
        Just(" "),
        Just(","),
        Just(";"),
        Just("="),
        Just(":"),
        Just("#"),
        Just("//"),
        Just("/"),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("\\x4"),
        Just("\\x41"),
        Just("$"),
        Just("$A"),
        Just("$C "),
        Just("$D"),
        Just("$x"),
        Just("x"),
        Just("include "),
        Just("a "),
        Just("c\n"),
        Just("1"),
        Just("-1"),
        Just("1.5"),
        Just("."),
        Just("1kb"),
        Just("9e"),
        Just("true"),
        Just("2016-05-04T10:00:00Z"),
        Just("é"),
        Just("\u{2028}"),
        Just("\0"),
        Just("port"),
        Just("users"),
        Just("authorization {"),
        Just("users: [{"),
        Just("user: a"),
        Just("leafnodes { remotes: [{ url: \"nats://"),
        Just("@"),
        Just("%"),
        Just("jetstream {"),
        Just("limits"),
        Just("accounts {"),
        Just("permissions: {"),
        Just("publish: "),
        Just("ping_interval: \"1"),
        Just("listen: \""),
        Just("max_mem: \""),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A string of any characters, and how it is written between double quotes.
fn quoted() -> impl Strategy<Value = (String, String)> {
    "[^\0]{0,40}".prop_map(|text| {
        let written = text
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\t', "\\x09");
        (text, format!("\"{written}\""))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_characters(text in ".{0,200}") {
        reads(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        reads(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces_of_the_language(text in pieces()) {
        reads(&text);
    }

    #[test]
    fn any_value_of_any_option(key in "[a-z_]{1,20}", value in ".{0,40}") {
        for before in ["", "authorization {", "leafnodes { remotes: [{", "jetstream {"] {
            reads(&format!("{before}{key}: {value}"));
        }
        for key in ["listen", "ping_interval", "server_tags", "max_payload", "no_auth_user"] {
            reads(&format!("{key}: \"{value}\""));
        }
        reads(&format!("leafnodes {{ remotes: [{{ url: '{value}' }}] }}"));
        reads(&format!("leafnodes {{ remotes: [{{ url: 'nats://{value}' }}] }}"));
        reads(&format!("jetstream {{ max_mem: '{value}' }}"));
    }

    #[test]
    fn strings_come_back((text, written) in quoted(), number in any::<i64>(), flag: bool) {
        let file = format!("a: {written}\nb: [{written}, {number}]\nc {{ d: {flag} }}\n");
        let map = parse(&file, "x.conf", &World).unwrap();
        prop_assert_eq!(map.get("a").unwrap().as_str(), Some(text.as_str()));
        let json = format!("{{\"a\": {written}, \"b\": [{written}, {number}], \"c\": {{\"d\": {flag}}}}}");
        let same = parse(&json, "x.conf", &World).unwrap();
        prop_assert_eq!(map.to_json(), same.to_json());
    }
}
