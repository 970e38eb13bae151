use super::{parse, parse_file};
use crate::source::{Nothing, Source};
use crate::value::{Kind, Map, Value};
use std::collections::BTreeMap;

fn read(text: &str) -> Map {
    parse(text, "x.conf", &Nothing).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    match parse(text, "x.conf", &Nothing) {
        Ok(map) => panic!("{text}: {map:?}"),
        Err(error) => error.text,
    }
}

/// A value as short text: strings quoted, maps with their keys.
fn show(value: &Value) -> String {
    match &value.kind {
        Kind::String(text) => format!("{text:?}"),
        Kind::Integer(n) => n.to_string(),
        Kind::Float(n) => format!("{n:?}"),
        Kind::Bool(b) => b.to_string(),
        Kind::Date(text) => format!("@{text}"),
        Kind::Array(values) => {
            format!(
                "[{}]",
                values.iter().map(show).collect::<Vec<_>>().join(" ")
            )
        }
        Kind::Map(map) => format!("{{{}}}", show_map(map)),
    }
}

fn show_map(map: &Map) -> String {
    let entries: Vec<_> = map
        .iter()
        .map(|e| format!("{}={}", e.key, show(&e.value)))
        .collect();
    entries.join(" ")
}

fn value(text: &str) -> String {
    show_map(&read(&format!("v: {text}\n")))
}

/// Files and variables by name.
struct Files(BTreeMap<&'static str, &'static str>);

impl Source for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0
            .get(path)
            .map(ToString::to_string)
            .ok_or_else(|| format!("open {path}: gone"))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.0
            .get(format!("${name}").as_str())
            .map(ToString::to_string)
    }
}

fn files(entries: &[(&'static str, &'static str)]) -> Result<String, String> {
    let files = Files(entries.iter().copied().collect());
    parse_file("main.conf", &files)
        .map(|map| show_map(&map))
        .map_err(|error| error.text)
}

#[test]
fn keys_and_separators() {
    let cases = [
        ("a: 1", "a=1"),
        ("a = 1", "a=1"),
        ("a 1", "a=1"),
        ("a=1;b=2,c=3", "a=1 b=2 c=3"),
        ("'a b': 1\n\"c:d\" = 2", "a b=1 c:d=2"),
        ("Key: 1", "Key=1"),
        ("a\n\n: 1", "a=1"),
        ("a: 1\na: 2", "a=2"),
        ("a { b: 1 }\na { c: 2 }", "a={c=2}"),
        ("a: 1\n}\n", "a=1"),
        ("", ""),
        (" \n# only a comment", ""),
        ("a =", "a=\"\""),
    ];
    for (text, want) in cases {
        assert_eq!(show_map(&read(text)), want, "{text}");
    }
}

#[test]
fn maps_arrays_and_json() {
    let cases = [
        ("a { b 1 }", "a={b=1}"),
        ("a: {b: 1; c: 2\n d: 3,}", "a={b=1 c=2 d=3}"),
        ("a = {\n b:\n  1\n}", "a={b=1}"),
        ("a: [1, 2, 3]", "a=[1 2 3]"),
        ("a: [\n x\n y # z\n // w\n 'q',\n]", "a=[\"x\" \"y\" \"q\"]"),
        ("a: [[1], {b: [2]}]", "a=[[1] {b=[2]}]"),
        ("a: []\nb: {}", "a=[] b={}"),
        ("{\"a\": 1, \"b\": [true, null]}", "a=1 b=[true \"null\"]"),
        ("{ a: 1\n b: 2\n}\nc: 3", "a=1 b=2 c=3"),
    ];
    for (text, want) in cases {
        assert_eq!(show_map(&read(text)), want, "{text}");
    }
}

#[test]
fn strings() {
    let cases = [
        ("abc", "v=\"abc\""),
        ("a#b", "v=\"a#b\""),
        ("/a/b//c", "v=\"/a/b//c\""),
        ("nats://a:1", "v=\"nats://a:1\""),
        ("'a\\n\"b'", "v=\"a\\\\n\\\"b\""),
        ("\"a\\tb\\x41\\\"\\\\\"", "v=\"a\\tbA\\\"\\\\\""),
        ("\"\\xc3\\xa4\"", "v=\"ä\""),
        ("a\\tb", "v=\"a\\tb\""),
        ("'a\nb'", "v=\"a\\nb\""),
        ("(\nx (y) \n z)\n)", "v=\"\\nx (y) \\n z)\\n\""),
        ("127.0.0.1:4222", "v=\"127.0.0.1:4222\""),
        ("12abc", "v=\"12abc\""),
        ("1h30m", "v=\"1h30m\""),
        ("100ms", "v=\"100ms\""),
        ("0x10", "v=\"0x10\""),
        ("1_000", "v=\"1_000\""),
        ("\"true\"", "v=\"true\""),
        ("'$x'", "v=\"$x\""),
        ("$2a$11$abc", "v=\"$2a$11$abc\""),
    ];
    for (text, want) in cases {
        assert_eq!(value(text), want, "{text}");
    }
}

#[test]
fn numbers_booleans_and_dates() {
    let cases = [
        ("12", "v=12"),
        ("-12", "v=-12"),
        ("1k", "v=1000"),
        ("1KB", "v=1024"),
        ("1ki", "v=1024"),
        ("2m", "v=2000000"),
        ("2MiB", "v=2097152"),
        ("-1g", "v=-1000000000"),
        ("1gb", "v=1073741824"),
        ("1t", "v=1000000000000"),
        ("1tb", "v=1099511627776"),
        ("1p", "v=1000000000000000"),
        ("1pib", "v=1125899906842624"),
        ("1e", "v=1000000000000000000"),
        ("1eb", "v=1152921504606846976"),
        ("9223372036854775807", "v=9223372036854775807"),
        ("1.5", "v=1.5"),
        ("-0.25", "v=-0.25"),
        ("true", "v=true"),
        ("YES", "v=true"),
        ("On", "v=true"),
        ("off", "v=false"),
        ("no", "v=false"),
        ("2016-05-04T18:53:41Z", "v=@2016-05-04T18:53:41Z"),
        ("2024-02-29T00:00:00Z", "v=@2024-02-29T00:00:00Z"),
    ];
    for (text, want) in cases {
        assert_eq!(value(text), want, "{text}");
    }
}

#[test]
fn what_is_no_number_or_date() {
    let cases = [
        (
            "v: 9223372036854775808",
            "integer '9223372036854775808' is out of the range",
        ),
        ("v: 10e", "integer '10e' is out of the range"),
        ("v: 1kii", "expected integer, but got '1kii'"),
        (
            "v: 2023-02-29T00:00:00Z",
            "expected Zulu formatted DateTime, but got '2023-02-29T00:00:00Z'",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(error(text), want, "{text}");
    }
    assert!(error("v: 12-3").contains("All ISO8601 dates must be in full Zulu form."));
    assert!(error("v: .5").contains("Floats must start with a digit"));
    assert!(error("v: \"\\xff\"").contains("String is not UTF-8."));
}

#[test]
fn variables_are_looked_up_inside_out_in_what_was_seen() {
    let cases = [
        ("x: 1\na: $x", "x=1 a=1"),
        ("x: 1\na { x: 2, b: $x }", "x=1 a={x=2 b=2}"),
        ("x: 1\na { b { c: $x } }", "x=1 a={b={c=1}}"),
        ("x: [1, 2]\na: [$x, $x]", "x=[1 2] a=[[1 2] [1 2]]"),
        ("x: {y: 1}\na: $x", "x={y=1} a={y=1}"),
    ];
    for (text, want) in cases {
        assert_eq!(show_map(&read(text)), want, "{text}");
    }
    let want = "variable reference for 'x' on line 1 can not be found";
    assert_eq!(error("a: $x\nx: 1"), want);
    assert_eq!(error("a { x: 1 }, b: $x"), want);
    let map = read("x: 1\ny: 2\na: $x");
    let used: Vec<_> = map.iter().map(|entry| entry.used).collect();
    assert_eq!(used, [true, false, false]);
}

#[test]
fn the_environment_is_read_as_values() {
    let env = |value: &'static str| files(&[("main.conf", "a: $E"), ("$E", value), ("$F", "7")]);
    assert_eq!(env("4222").unwrap(), "a=4222");
    assert_eq!(env("[x, 1]").unwrap(), "a=[\"x\" 1]");
    assert_eq!(env("$F").unwrap(), "a=7");
    assert_eq!(env("'$F'").unwrap(), "a=\"$F\"");
    let cycle = "variable reference for 'E' on line 1 could not be parsed: variable reference for \
                 'E' on line 1 could not be parsed: variable reference cycle for 'E'";
    assert_eq!(env("$E").unwrap_err(), cycle);
}

#[test]
fn includes_are_relative_and_merge_where_they_stand() {
    let got = files(&[
        (
            "main.conf",
            "a: 1\ninclude sub/one.conf\nb { include 'sub/two.conf' }\nd: $t",
        ),
        ("sub/one.conf", "include \"./two.conf\"; o: 2"),
        ("sub/two.conf", "t: 3"),
    ]);
    assert_eq!(got.unwrap(), "a=1 t=3 o=2 b={t=3} d=3");
    // An included file does not see the variables of the one that includes it.
    let got = files(&[("main.conf", "x: 1\ninclude i"), ("i", "y: $x")]);
    let want =
        "error parsing include file 'i', variable reference for 'x' on line 1 can not be found";
    assert_eq!(got.unwrap_err(), want);
}

#[test]
fn include_cycles_are_errors() {
    let got = files(&[
        ("main.conf", "include a"),
        ("a", "include b"),
        ("b", "include main.conf"),
    ]);
    let want = "error parsing include file 'a', error parsing include file 'b', error parsing \
                include file 'main.conf', it includes itself";
    assert_eq!(got.unwrap_err(), want);
}

#[test]
fn places_are_those_of_keys_and_elements() {
    let map = read("a: 1\n  b {\n\tc = x\n  d: [\n   5\n   { e: 1 }\n]}");
    let at = |value: &Value| format!("{}:{}", value.at.line, value.at.column);
    let b = map.get("b").unwrap();
    let inner = b.as_map().unwrap();
    let Kind::Array(elements) = &inner.get("d").unwrap().kind else {
        panic!("no array")
    };
    let places = [
        at(map.get("a").unwrap()),
        at(b),
        at(inner.get("c").unwrap()),
        at(inner.get("d").unwrap()),
        at(&elements[0]),
        at(&elements[1]),
    ];
    assert_eq!(places, ["1:1", "2:3", "3:2", "4:3", "5:4", "6:4"]);
    let error = parse("a: 1\nb: \"\\q\"", "dir/x.conf", &Nothing).unwrap_err();
    assert_eq!(
        (error.file.as_str(), error.line, error.column),
        ("dir/x.conf", 2, 7)
    );
}

#[test]
fn nothing_grows_without_bound() {
    let deep = format!("a: {}", "[".repeat(100_000));
    assert!(error(&deep).contains("nested too deep"));
    let mut doubling = "x0: [1, 1]\n".to_owned();
    for i in 1..40 {
        let before = i - 1;
        doubling.push_str(&format!("x{i}: [$x{before}, $x{before}]\n"));
    }
    assert!(error(&doubling).contains("Variables copy too much."));
    assert!(error("a: 1\0\nb: 2").contains("Unexpected EOF."));
}
