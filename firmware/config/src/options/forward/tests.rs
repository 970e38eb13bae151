use super::{Budget, Forward, OnFull, Order, Period};
use crate::{Config, Nothing, load_text};

const AROUND: &str = "server_name: shop7\n\
    jetstream { store_dir: \"/x\", domain: shop7 }\n\
    leafnodes { remotes: [{ url: \"nats://hub.example:7422\" }] }\n";

fn load(block: &str) -> Result<Config, String> {
    checked(&format!("{AROUND}{block}"))
}

fn checked(text: &str) -> Result<Config, String> {
    let loaded = load_text(text, "x.conf", &Nothing).map_err(|errors| errors.to_string())?;
    let config = loaded.config;
    config.check().map_err(|errors| errors.to_string())?;
    Ok(config)
}

fn one(block: &str) -> Forward {
    load(block).unwrap().forwards.remove(0)
}

#[test]
fn a_block_says_what_goes_where_and_how() {
    let it = one("forward { subjects: [\"sales.>\"], to: hub }");
    assert_eq!(
        (it.name.as_str(), it.to.domain.as_str()),
        ("FORWARD", "hub")
    );
    assert_eq!((it.order, it.on_full), (Order::Oldest, OnFull::DropOldest));
    assert_eq!(it.hub_stream("shop7"), "FWD_shop7_FORWARD");
    let it = one(
        "forward: [{ name: SALES, subjects: [\"sales.>\", alarm], order: newest, live_first: false,\n\
         to { domain: hub, remote: \"hub.example\", stream: ALL }, budget: \"20MB/day\",\n\
         priority: [alarm], on_full: drop_class, max_bytes: 8MB }]",
    );
    let budget = Budget {
        bytes: 20 << 20,
        period: Period::Day,
    };
    assert_eq!((it.budget, it.max_bytes), (Some(budget), 8 << 20));
    assert_eq!((it.order, it.live_first), (Order::Newest, false));
    assert_eq!(it.hub_stream("shop7"), "ALL");
}

#[test]
fn what_is_kept_is_not_heard_from_other_boxes() {
    let text = "server_name: shop7\njetstream { store_dir: \"/x\", domain: shop7 }\n\
        accounts { A { users: [{ user: a, password: a }] } }\n\
        leafnodes { remotes: [{ url: \"nats://one:7422\", deny_imports: [x] },\n\
        { url: \"nats://two:7422\" }, { url: \"nats://three:7422\", account: A }] }\n\
        forward { subjects: [\"sales.>\", alarm], to { domain: hub, remote: two } }";
    let config = checked(text).unwrap();
    let denied = config.leafnodes.remotes.iter().map(|it| &it.deny_imports);
    let want = [
        vec!["x", "sales.>", "alarm", "$FROND.forward.>"],
        vec!["sales.>", "alarm", "$FROND.forward.>"],
        vec![],
    ];
    assert_eq!(denied.collect::<Vec<_>>(), want.iter().collect::<Vec<_>>());
    // Nor do they hear where this one is with it.
    let told = config.leafnodes.remotes.iter().map(|it| &it.deny_exports);
    let want = [vec!["$FROND.forward.>"], vec!["$FROND.forward.>"], vec![]];
    assert_eq!(told.collect::<Vec<_>>(), want.iter().collect::<Vec<_>>());
}

#[test]
fn budgets_are_sizes_in_a_while() {
    let of = |text: &str| Budget::parse(text).map(|it| (it.bytes, it.period));
    assert_eq!(of("1k/hour"), Some((1_000, Period::Hour)));
    assert_eq!(of("2 GiB / month"), Some((2 << 30, Period::Month)));
    assert_eq!(of("500B/d"), Some((500, Period::Day)));
    for wrong in [
        "20MB",
        "20MB/week",
        "/day",
        "x/day",
        "-1MB/day",
        "0MB/day",
        "1.5MB/day",
    ] {
        assert_eq!(of(wrong), None, "{wrong}");
    }
    assert_eq!(of("99999999999999999999GB/day"), None);
}

#[test]
fn what_is_wrong_is_told_where_and_how_to_mend_it() {
    let cases = [
        ("forward { to: hub }", "subjects is missing"),
        ("forward { subjects: a }", "to is missing"),
        ("forward { subjects: a, to: hub, ordr: oldest }", "order"),
        (
            "forward { subjects: a, to: hub, order: random }",
            "oldest, newest, latest",
        ),
        (
            "forward { subjects: a, to: hub, budget: \"20MB\" }",
            "20MB/day",
        ),
        (
            "forward { subjects: [\"a.>\", \"a.b\"], to: hub }",
            "overlap",
        ),
        (
            "forward { subjects: [\">\"], to: hub }",
            "this server's own",
        ),
        (
            "forward { subjects: a, to: hub, priority: b }",
            "none of its subjects",
        ),
        (
            "forward { subjects: a, to: hub, on_full: drop_class }",
            "more important",
        ),
        (
            "forward { subjects: a, to { stream: X } }",
            "domain is missing",
        ),
        ("forward { subjects: a, to: \"h.b\" }", "is no name"),
        ("forward { subjects: \"a b\", to: hub }", "is no subject"),
        (
            "forward { subjects: a, to: hub, max_bytes: 10 }",
            "next to nothing",
        ),
        (
            "forward: [{ subjects: a, to: hub }, { subjects: b, to: hub }]",
            "two forward blocks",
        ),
        (
            "forward { subjects: a, to { domain: hub, remote: other } }",
            "names no remote",
        ),
        (
            "forward { subjects: a, to: shop7 }",
            "this server's own domain",
        ),
    ];
    for (block, want) in cases {
        let errors = load(block).unwrap_err();
        assert!(errors.contains(want), "{block}: {errors}");
        assert!(errors.contains("x.conf:4:"), "{block}: {errors}");
    }
}

#[test]
fn a_block_needs_a_name_a_store_and_a_line() {
    let block = "forward { subjects: a, to: hub }";
    let cases = [
        (
            "jetstream { store_dir: \"/x\" }\nleafnodes { remotes: [{ url: \"nats://h:1\" }] }\n",
            "server_name",
        ),
        (
            "server_name: a.b\njetstream { store_dir: \"/x\" }\nleafnodes { remotes: [{ url: \"nats://h:1\" }] }\n",
            "server_name",
        ),
        (
            "server_name: a\nleafnodes { remotes: [{ url: \"nats://h:1\" }] }\n",
            "jetstream",
        ),
        (
            "server_name: a\njetstream { store_dir: \"/x\" }\n",
            "names no remote",
        ),
        (
            "server_name: a\njetstream { store_dir: \"/x\" }\n\
             leafnodes { remotes: [{ url: \"nats://h:1\" }, { url: \"nats://i:1\" }] }\n",
            "which of 2 remotes",
        ),
    ];
    for (around, want) in cases {
        let text = format!("{around}{block}");
        let errors = checked(&text).unwrap_err();
        assert!(errors.contains(want), "{text}: {errors}");
    }
}
