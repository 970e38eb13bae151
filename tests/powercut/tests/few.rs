//! A few power cuts with each change; thousands are the binary's.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests fail by panicking, and touch files"
)]

use std::path::Path;
use std::process::Command;

use interop::{run, say};

fn cut(words: &[&str]) -> String {
    let hint = "a disk whose power can be cut needs FUSE and name spaces";
    assert!(
        Path::new("/dev/fuse").exists(),
        "{hint}: /dev/fuse is missing. Try `modprobe fuse`; in a container, `--device /dev/fuse`"
    );
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    assert!(
        tried.is_ok_and(|tried| tried.status.success()),
        "{hint}: `unshare -rm true` must work. Try `sysctl kernel.unprivileged_userns_clone=1` (Debian) or \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu); in a container, `--cap-add SYS_ADMIN`"
    );
    let ended = run(Command::new(env!("CARGO_BIN_EXE_powercut")).args(words));
    assert!(ended.status.success(), "{words:?}\n{}", ended.text);
    ended.text
}

#[test]
fn nothing_promised_is_lost_when_the_power_is_cut() {
    // Built here, so that the time for it does not count.
    let _ = interop::Kind::Leaf.binary();
    for disk in ["disk=ext4", "disk=posix"] {
        let told = cut(&["cuts=6", "seed=1", disk]);
        assert!(told.contains("every promise kept"), "{told}");
        say(told.trim_end());
    }
    let told = cut(&["cuts=6", "seed=1", "control=lying"]);
    assert!(
        told.contains("acked messages lost"),
        "a disk that lies is caught: {told}"
    );
}
