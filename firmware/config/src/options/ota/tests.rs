use crate::{Nothing, changes, load_text};

const KEY: &str = "OBRVK7ZS63QZDELBDVPX52RGQAC4LQZPNLYGIBAKKCZZB63A5LDM5XXQ";

fn block(more: &str) -> String {
    format!(
        "ota {{ store: \"/x\", device: till-7, trust {{ root {{ keys: [{KEY}] }}, \
         release {{ keys: [{KEY}] }} }}\n{more}\n}}"
    )
}

#[test]
fn what_is_left_out_has_its_default() {
    let config = load_text(&block(""), "x.conf", &Nothing).unwrap().config;
    let ota = config.ota.unwrap();
    assert_eq!((ota.window.as_secs(), ota.soak.as_secs()), (600, 10));
    assert_eq!((ota.trust.version, ota.trust.release.threshold), (1, 1));
    assert!(ota.trust.emergency.keys.is_empty());
}

#[test]
fn mistakes_are_told_with_their_place_and_remedy() {
    let cases = [
        ("window: \"29s\"", "x.conf:2:", "30s"),
        ("device: \"a.b\"", "x.conf:2:", "no name"),
        ("groups: [ok, \"a b\"]", "x.conf:2:", "no name"),
        ("soak: \"10m\"", "x.conf:1:", "ever confirmed"),
        ("soak: \"0s\"", "x.conf:2:", "1s"),
        (
            "soak: \"25s\", window: \"30s\"",
            "x.conf:1:",
            "ever confirmed",
        ),
        ("window: \"2h\"", "x.conf:2:", "1h"),
        ("second: \"/x/second\"", "x.conf:1:", "another partition"),
        ("source { folder: \"/x\" }", "x.conf:1:", "of its own"),
        ("user: a, token: b", "x.conf:1:", "one way only"),
        ("password: a", "x.conf:1:", "no user"),
        ("source { registry: R }", "x.conf:1:", "no bucket"),
        ("source { every: \"1m\" }", "x.conf:2:", "no url"),
        (
            "source { url: \"http://a/b\" }",
            "x.conf:2:",
            "https://host",
        ),
        (
            "source { url: \"https://a/ b\" }",
            "x.conf:2:",
            "https://host",
        ),
        (
            "source { url: \"https://a/b\", every: \"9s\" }",
            "x.conf:2:",
            "10s",
        ),
        ("user: a, credentials: b", "x.conf:1:", "one way only"),
        (
            "trust { root { keys: [U] } }",
            "x.conf:2:",
            "invalid ota key",
        ),
        (
            "trust { release { threshold: 2 } }",
            "x.conf:2:",
            "can never sign",
        ),
    ];
    for (more, place, words) in cases {
        let errors = load_text(&block(more), "x.conf", &Nothing).unwrap_err();
        let said = errors.to_string();
        assert!(
            said.contains(place) && said.contains(words),
            "{more}: {said}"
        );
    }
    let errors = load_text("ota {}", "x.conf", &Nothing)
        .unwrap_err()
        .to_string();
    for words in ["a folder", "the name of this box", "who signs"] {
        assert!(errors.contains(words), "{errors}");
    }
}

#[test]
fn no_key_is_of_two_roles_that_matter_and_none_has_too_many() {
    let other = "OBZUOVDKUHTDR3BTRCXOPRIQWQJM4K7RUYBSD3CIS37UALRJ3EUZRBNC";
    let error = |trust: &str| {
        let text = format!("ota {{ store: \"/x\", device: a, trust {{ {trust} }} }}");
        let errors = load_text(&text, "x.conf", &Nothing).unwrap_err();
        errors.to_string()
    };
    let shared = error(&format!(
        "root {{ keys: [{other}] }}, release {{ keys: [{KEY}] }}, emergency {{ keys: [{KEY}] }}"
    ));
    assert!(shared.contains("another role's"), "{shared}");
    let online = error(&format!(
        "root {{ keys: [{other}] }}, release {{ keys: [{KEY}] }}, hub {{ keys: [{other}] }}"
    ));
    assert!(online.contains("the hub's and another role's"), "{online}");
    let many = vec![KEY; 17].join(", ");
    let many = error(&format!(
        "root {{ keys: [{other}] }}, release {{ keys: [{many}] }}"
    ));
    assert!(many.contains("17 keys are too many"), "{many}");
}

#[test]
fn a_running_server_keeps_it() {
    let read = |more| load_text(&block(more), "x.conf", &Nothing).unwrap().config;
    let refused = changes(&read(""), &read("groups: [a]")).unwrap_err();
    assert!(refused.to_string().contains("ota"), "{refused}");
}

#[test]
fn a_web_server_is_asked_now_and_then() {
    let read = |source: &str| {
        let text = block(&format!("source {{ {source} }}"));
        let config = load_text(&text, "x.conf", &Nothing).unwrap().config;
        config.ota.unwrap().source.web.unwrap()
    };
    let web = read("url: \"https://a.example/{device}.frond\"");
    assert_eq!((web.every.as_secs(), web.ca_file), (300, None));
    let web = read("url: \"https://a.example/x\", every: \"10s\", ca_file: \"/ca.pem\"");
    assert_eq!(
        (web.every.as_secs(), web.ca_file.as_deref()),
        (10, Some("/ca.pem"))
    );
}

#[test]
fn the_boxs_own_user_is_in_the_file() {
    let said = |more: &str, user: &str| {
        let text = format!("{}\n{more}", block(&format!("user: {user}, password: x")));
        let config = load_text(&text, "x.conf", &Nothing).unwrap().config;
        config
            .check()
            .map_or_else(|wrong| wrong.to_string(), |()| String::new())
    };
    let wrong = "x.conf:1:1: the box's own user \"b\", named by ota, is not in this file (add it \
                 to a list of users)";
    for users in [
        "authorization { users: [ { user: a, password: x } ] }",
        "authorization { user: a, password: x }",
        "accounts { A { users: [ { user: a, password: x } ] } }",
    ] {
        assert_eq!(said(users, "a"), "", "{users}");
        assert_eq!(said(users, "b"), wrong, "{users}");
    }
    // Nobody is asked who they are.
    assert_eq!(said("", "b"), "");
    // What came from elsewhere is tried.
    let own = load_text(&block("user: b, password: x"), "x.conf", &Nothing).unwrap();
    let users = "authorization { users: [ { user: a, password: x } ] }";
    let mut other = load_text(users, "y.conf", &Nothing).unwrap().config;
    other.ota = own.config.ota;
    assert!(other.check().is_ok());
}
