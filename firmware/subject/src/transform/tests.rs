use proptest::prelude::*;

use super::*;

fn renamed(source: &str, destination: &str, subject: &str) -> Option<String> {
    let transform = Transform::new(source, destination).unwrap();
    transform.apply(subject, 1 << 40)
}

#[test]
fn subjects_get_the_names_nats_server_gives_them() {
    for (source, destination, subject, expected) in [
        ("", "prefix.>", "foo", "prefix.foo"),
        (">", ">", "foo", "foo"),
        ("foo", "bar", "foo", "bar"),
        ("foo.*.bar.*", "req.$2.$1", "foo.A.bar.B", "req.B.A"),
        (
            "foo.*.*",
            "{{ Wildcard (2) }}.{{wildcard(1)}}",
            "foo.A.B",
            "B.A",
        ),
        ("baz.>", "my.pre.>", "baz.1.2", "my.pre.1.2"),
        ("a.*.>", "b.$1.>", "a.x.1.2", "b.x.1.2"),
        ("*", "$SYS.$1", "a", "$SYS.a"),
        ("*.*", "$0", "a.b", "a"),
        ("*", "{{splitfromleft(1,3)}}", "12345", "123.45"),
        ("*", "{{SplitFromRight(1,3)}}", "12345", "12.345"),
        ("*", "{{splitfromright(1,5)}}", "12345", "12345"),
        ("*", "{{SliceFromLeft(1,3)}}", "1234567890", "123.456.789.0"),
        ("*", "{{SliceFromLeft(1,3)}}", "123456", "123.456"),
        (
            "*",
            "{{SliceFromRight(1,3)}}",
            "1234567890",
            "1.234.567.890",
        ),
        ("*", "{{sliceFromRight(1, 3)}}", "123456", "123.456"),
        ("*", "{{split(1,-)}}", "-abc-def--ghi-", "abc.def.ghi"),
        ("*.*", "{{split(2,-)}}.{{left(1,2)}}", "foo.a-b", "a.b.fo"),
        ("*", "{{right(1,3)}}", "1234", "234"),
        ("*", "{{right(1,0)}}", "1234", "1234"),
        ("*", "{{Left(1,-1)}}", "1234", "1234"),
        ("*", "bar.{{partition(0)}}", "baz", "bar.0"),
        ("*", "bar.{{partition(10, 0)}}", "foo", "bar.3"),
        ("*.*", "bar.{{partition(10)}}", "foo.bar", "bar.6"),
        ("foo.baz", "qux.{{partition(10)}}", "foo.baz", "qux.4"),
        ("*", "bar.{{partition(10)}}", "qux", "bar.9"),
        ("*", "bar.{{random(0)}}", "qux", "bar.0"),
        ("foo", "bar.{{random(1)}}", "foo", "bar.0"),
    ] {
        let got = renamed(source, destination, subject);
        assert_eq!(got.as_deref(), Some(expected), "{source} {destination}");
    }
}

#[test]
fn what_the_source_does_not_name_stays() {
    assert_eq!(renamed("a.*", "b.$1", "c.d"), None);
    assert_eq!(renamed("a.*", "b.$1", "a.*"), None);
    assert_eq!(renamed("a.*", "b.$1", "a"), None);
}

#[test]
fn errors_are_in_nats_servers_words() {
    let prefix = "invalid mapping destination: ";
    for (source, destination, text) in [
        ("foo..", "bar", "invalid subject"),
        ("foo", "", "invalid subject"),
        ("foo.*", "bar.*", "invalid subject"),
        ("foo.*", "bar.$1.>", "invalid subject"),
        ("foo.>", "bar.baz", "invalid subject"),
        ("a.*", "b.$2", "wildcard index out of range in $2: [2]"),
        (
            "a",
            "b.{{wildcard(1)}}",
            "wildcard index out of range in {{wildcard(1)}}",
        ),
        ("a.*", "{{nope(1)}}", "unknown function in {{nope(1)}}"),
        (
            "a.*",
            "{{WILDCARD(1)}}",
            "unknown function in {{WILDCARD(1)}}",
        ),
        (
            "a.*",
            "{{wildcard1)}}",
            "unknown function in {{wildcard1)}}",
        ),
        ("a.*", "{{left(1,2}}", "unknown function in {{left(1,2}}"),
        (
            "a.*",
            "{{wildcard()}}",
            "not enough arguments passed to the function in {{wildcard()}}",
        ),
        (
            "a.*",
            "{{left(1)}}",
            "not enough arguments passed to the function in {{left(1)}}",
        ),
        (
            "a.*",
            "{{random(1,2)}}",
            "not enough arguments passed to the function in {{random(1,2)}}",
        ),
        (
            "a.*",
            "{{wildcard(1,2)}}",
            "too many arguments passed to the function in {{wildcard(1,2)}}",
        ),
        (
            "a.*",
            "{{left(x,2)}}",
            "function argument is invalid or in the wrong format in {{left(x,2)}}",
        ),
        (
            "a.*",
            "{{random(2147483648)}}",
            "function argument is invalid or in the wrong format in {{random(2147483648)}}",
        ),
        (
            "a.*",
            "{{partition()}}",
            "function argument is invalid or in the wrong format in {{partition()}}",
        ),
    ] {
        let error = Transform::new(source, destination).unwrap_err().to_string();
        let text = if text == "invalid subject" {
            text.to_owned()
        } else {
            format!("{prefix}{text}")
        };
        assert_eq!(error, text);
    }
}

#[test]
fn imports_take_only_what_can_be_reversed() {
    assert!(Transform::reversible("a.*.*", "b.$2.{{wildcard(1)}}").is_ok());
    let error = |to| Transform::reversible("a.*.*", to).unwrap_err().to_string();
    assert!(error("b.$1").ends_with("not using all of the token wildcard(s) in b.$1"));
    assert!(error("b.{{partition(2)}}").ends_with("{{Wildcard()}} in {{partition(2)}}"));
}

proptest! {
    #[test]
    fn random_stays_below_its_bound(random: u64, below in 1..50_u32) {
        let transform = Transform::new("a", &format!("{{{{random({below})}}}}")).unwrap();
        let picked: u32 = transform.apply("a", random).unwrap().parse().unwrap();
        prop_assert!(picked < below);
    }

    #[test]
    fn any_mapping_is_refused_or_works(
        source in "([ab*]\\.){0,2}[ab*>]",
        destination in "(([ab$]|\\$[0-3]|\\{\\{(left|right|split|partition|SliceFromLeft|sliceFromRight)\\(-?[0-3],-?[0-3]\\)\\}\\})\\.){0,2}[a>]",
        subject in "([ab\u{e9}]{1,4}\\.){0,3}[ab\u{e9}]{1,4}",
        random: u64,
    ) {
        if let Ok(transform) = Transform::new(&source, &destination) {
            let renamed = transform.apply(&subject, random);
            let named = matches(transform.source(), &subject) || source == ">" && destination == ">";
            prop_assert_eq!(renamed.is_some(), named);
        }
    }

    #[test]
    fn slices_hold_the_whole_token(token in "[a-z]{1,20}", bytes in 1..9) {
        for function in ["SliceFromLeft", "SliceFromRight", "SplitFromLeft", "SplitFromRight"] {
            let transform = Transform::new("*", &format!("{{{{{function}(1,{bytes})}}}}")).unwrap();
            let renamed = transform.apply(&token, 0).unwrap();
            prop_assert_eq!(renamed.replace('.', ""), token.clone());
            prop_assert!(!renamed.split('.').any(str::is_empty));
        }
    }
}
