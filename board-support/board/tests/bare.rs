//! This crate runs where there is no operating system: what it stands on may not want one either.

use std::process::Command;

#[test]
fn nothing_it_stands_on_is_built_with_std() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--offline", "--locked", "--prefix", "none"])
        .args(["--edges", "normal,no-proc-macro", "--format", "{p} [{f}]"])
        .output()
        .unwrap();
    let told = String::from_utf8(tree.stdout).unwrap();
    assert!(told.contains("embedded-hal v1"), "{told}");
    for line in told.lines() {
        let (_, features) = line.rsplit_once('[').unwrap_or((line, ""));
        let (features, _) = features.split_once(']').unwrap_or((features, ""));
        let mut features = features.split(',');
        assert!(features.all(|feature| feature != "std"), "{line}");
    }
}
