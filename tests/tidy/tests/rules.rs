//! Every rule holds for this repository, and can fail.

use tidy::{
    Tree, arrows, banned_words, citations, file_length, lints_opted_in, members, outside_crates,
    promises, pure_sources, top_level,
};

type Rule = fn(&Tree) -> Vec<String>;

fn holds(rule: Rule) {
    let wrong = rule(&Tree::of_this_repository());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rule finds this one thing wrong with the tree.
fn finds(rule: Rule, files: &[(&str, &str)], expected: &str) {
    let wrong = rule(&Tree::of(files));
    assert!(wrong.len() == 1 && wrong[0].contains(expected), "{wrong:?}");
}

#[test]
fn crates_name_only_what_the_design_lets_them() {
    holds(arrows);
    let store = (
        "firmware/store/Cargo.toml",
        "[package]\nname = \"frond-store\"\n[dependencies]\nfrond-node = \"1\"\n",
    );
    let node = (
        "firmware/node/Cargo.toml",
        "[package]\nname = \"frond-node\"\n[dependencies]\n",
    );
    finds(
        arrows,
        &[store, node],
        "firmware/store may not name firmware/node",
    );
    let common = (
        "firmware/common/Cargo.toml",
        "[package]\nname = \"frond-common\"\n",
    );
    finds(arrows, &[common], "doesn't know");
}

#[test]
fn arrows_follow_through_but_not_sideways() {
    let leaf = "[package]\nname = \"frond-leaf\"\n[dependencies]\nfrond-wire.workspace = true\n";
    let wire = (
        "firmware/wire/Cargo.toml",
        "[package]\nname = \"frond-wire\"\n",
    );
    assert!(arrows(&Tree::of(&[("firmware/leaf/Cargo.toml", leaf), wire])).is_empty());
    let route = (
        "hub/route/Cargo.toml",
        "[package]\nname = \"frond-route\"\n[dependencies]\nfrond-leaf = { path = \"\" }\n",
    );
    finds(
        arrows,
        &[("firmware/leaf/Cargo.toml", leaf), wire, route],
        "hub/route may not name firmware/leaf",
    );
}

#[test]
fn pure_crates_take_nothing_impure_from_outside() {
    holds(outside_crates);
    let tokio = "[package]\nname = \"frond-wire\"\n[dependencies]\ntokio = { version = \"1\" }\n";
    finds(
        outside_crates,
        &[("firmware/wire/Cargo.toml", tokio)],
        "tokio",
    );
    let redb = "[package]\nname = \"frond-ledger\"\n[target.'cfg(unix)'.dependencies]\nredb.workspace = true\n";
    finds(
        outside_crates,
        &[("firmware/ledger/Cargo.toml", redb)],
        "redb",
    );
    let dev = "[package]\nname = \"frond-wire\"\n[dev-dependencies]\ntokio = \"1\"\n";
    assert!(outside_crates(&Tree::of(&[("firmware/wire/Cargo.toml", dev)])).is_empty());
}

#[test]
fn pure_sources_ask_for_no_clock_file_thread_or_socket() {
    holds(pure_sources);
    for word in [
        "Instant::now()",
        "SystemTime::UNIX_EPOCH",
        "std::fs::read(p)",
        "std::thread::spawn(f)",
        "std::net::TcpStream::connect(a)",
        "f().await",
    ] {
        let text = format!("fn f() {{\n    let x = {word};\n}}\n");
        finds(
            pure_sources,
            &[("firmware/broker/src/lib.rs", &text)],
            "firmware/broker/src/lib.rs:2",
        );
        assert!(pure_sources(&Tree::of(&[("firmware/runtime/src/lib.rs", &text)])).is_empty());
    }
    let values = "use std::net::SocketAddr;\nself.awaited += 1;\n// Instant::now is for others\n";
    assert!(pure_sources(&Tree::of(&[("firmware/broker/src/lib.rs", values)])).is_empty());
}

#[test]
fn the_top_level_is_the_design_s() {
    holds(top_level);
    let whole = [
        ("board-support/README.md", ""),
        ("firmware/a", ""),
        ("hub/a", ""),
        ("images/a", ""),
        ("tests/a", ""),
        ("yocto/a", ""),
        ("Cargo.lock", ""),
        ("Cargo.toml", ""),
        ("LICENSE", ""),
        ("README.md", ""),
        ("SECURITY.md", ""),
        ("rust-toolchain.toml", ""),
        (".gitignore", ""),
        (".ci/run", ""),
    ];
    assert!(top_level(&Tree::of(&whole)).is_empty());
    finds(top_level, &whole[1..], "board-support is missing");
    finds(
        top_level,
        &[&whole[..], &[("common/a", ""), ("common/b", "")]].concat(),
        "common doesn't belong",
    );
    finds(
        top_level,
        &[&whole[..], &[("notes.md", "")]].concat(),
        "notes.md doesn't belong",
    );
}

#[test]
fn what_is_promised_of_security_is_tested() {
    holds(promises);
    let source = ("firmware/wire/src/lib.rs", "    async fn it_holds() {\n");
    let table = "| rule | way | `it_holds`, see `firmware/wire` |\n";
    assert!(promises(&Tree::of(&[source, ("SECURITY.md", table)])).is_empty());
    finds(
        promises,
        &[("SECURITY.md", table)],
        "SECURITY.md:1 names it_holds",
    );
}

#[test]
fn the_workspace_lists_every_crate() {
    holds(members);
    let root = (
        "Cargo.toml",
        "[workspace]\nmembers = [\n    \"firmware/wire\",\n]\n",
    );
    let wire = (
        "firmware/wire/Cargo.toml",
        "[package]\nname = \"frond-wire\"\n",
    );
    assert!(members(&Tree::of(&[root, wire])).is_empty());
    finds(members, &[root], "firmware/wire is a member but not there");
    finds(
        members,
        &[root, wire, ("hub/route/Cargo.toml", "[package]\n")],
        "hub/route is there but no member",
    );
}

#[test]
fn files_stay_readable() {
    holds(file_length);
    finds(
        file_length,
        &[("firmware/wire/src/lib.rs", &"\n".repeat(501))],
        "501 lines",
    );
    assert!(
        file_length(&Tree::of(&[(
            "firmware/wire/src/lib.rs",
            &"\n".repeat(500)
        )]))
        .is_empty()
    );
}

#[test]
fn every_crate_takes_the_lints() {
    holds(lints_opted_in);
    finds(
        lints_opted_in,
        &[(
            "firmware/wire/Cargo.toml",
            "[package]\nname = \"frond-wire\"\n",
        )],
        "lacks",
    );
}

#[test]
fn banned_words_stay_out() {
    holds(banned_words);
    for line in [
        "thread::sleep(d);",
        "#[cfg(feature = \"x\")]",
        "todo!()",
        "unimplemented!()",
        "#[ignore]",
        "// TODO x",
        "// FIXME x",
    ] {
        finds(
            banned_words,
            &[("firmware/wire/src/lib.rs", &format!("\n{line}\n"))],
            "firmware/wire/src/lib.rs:2",
        );
    }
    assert!(
        banned_words(&Tree::of(&[(
            "tests/interop/src/wait.rs",
            "thread::sleep(d);"
        )]))
        .is_empty()
    );
}

#[test]
fn protocol_crates_cite_their_source() {
    holds(citations);
    let silent = [
        ("firmware/wire/src/lib.rs", "mod a;"),
        ("firmware/wire/src/a.rs", "fn a() {}"),
    ];
    finds(citations, &silent, "firmware/wire/src/ follows a protocol");
    let citing = [
        ("firmware/wire/src/lib.rs", "mod a;"),
        ("firmware/wire/src/a.rs", "// spec: ADR-4"),
    ];
    assert!(citations(&Tree::of(&citing)).is_empty());
}
