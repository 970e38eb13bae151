//! The fleet's command line over TLS.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::process::Command;

use interop::{Ended, Kind, Pki, Server, Setup, run};

/// `frond-hub fleet list` with these words.
fn list(words: &[&str]) -> Ended {
    let mut command = Command::new(Kind::Hub.binary());
    run(command.args(["fleet", "list"]).args(words))
}

/// A hub's configuration; `more` is in its tls block.
fn config(pki: &Pki, more: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\" }}\n\
         tls {{ {}\n{more} }}\n\
         authorization {{ users: [ {{ user: fleet, password: fleet }} ] }}\n",
        pki.block("hub")
    )
}

#[test]
fn a_hub_with_tls_is_spoken_to_by_its_certificate() {
    let (pki, other) = (Pki::new("own"), Pki::new("other"));
    pki.server("hub");
    other.server("hub");
    let path = |pki: &Pki, name: &str| pki.file(name).display().to_string();
    for kind in [Kind::Real, Kind::Hub] {
        for (more, first) in [("", None), ("handshake_first: true", Some("--tlsfirst"))] {
            let hub = Server::start(kind, &Setup::config(&config(&pki, more)));
            let password = hub.dir().join("password");
            std::fs::write(&password, "fleet\n").unwrap();
            let password = password.display().to_string();
            let port = hub.addr().rsplit_once(':').unwrap().1.to_owned();
            let (tls, plain) = (
                format!("tls://localhost:{port}"),
                format!("localhost:{port}"),
            );
            let ask = |server: &str, ca: &str| {
                let mut words = vec!["--server", server, "--tlsca", ca];
                words.extend(["--user", "fleet", "--password-file", &password]);
                words.extend(first);
                list(&words)
            };
            let ca = path(&pki, "ca.pem");
            for server in [&tls, &plain] {
                let ended = ask(server, &ca);
                // A hub that no box ever reported to has no registry: it was let in.
                let is_in = ended.text.contains("registry FROND_FLEET");
                assert!(is_in, "{kind:?} {server}: {}", ended.text);
            }
            let ended = ask(&tls, &path(&other, "ca.pem"));
            assert!(ended.text.contains("tls: "), "{}", ended.text);
            assert!(!ended.status.success(), "{}", ended.text);
        }
    }
}

#[test]
fn a_hub_that_wants_a_certificate_gets_one_and_one_without_tls_is_not_spoken_to() {
    let pki = Pki::new("own");
    pki.server("hub");
    let path = |name: &str| pki.file(name).display().to_string();
    let hub = Server::start(
        Kind::Hub,
        &Setup::config(&config(&pki, "verify: true").replace("authorization", "# ")),
    );
    let port = hub.addr().rsplit_once(':').unwrap().1.to_owned();
    let server = format!("tls://localhost:{port}");
    let ca = path("ca.pem");
    let words = ["--server", &server, "--tlsca", &ca];
    let ended = list(&words);
    assert!(!ended.text.contains("registry"), "{}", ended.text);
    let shown = ["--tlscert", &path("hub.pem"), "--tlskey", &path("hub.key")];
    let ended = list(&[&words[..], &shown[..]].concat());
    assert!(
        ended.text.contains("registry FROND_FLEET"),
        "{}",
        ended.text
    );

    let bare = Server::start(Kind::Hub, &Setup::jetstream());
    let port = bare.addr().rsplit_once(':').unwrap().1.to_owned();
    let ended = list(&[
        "--server",
        &format!("tls://localhost:{port}"),
        "--tlsca",
        &ca,
    ]);
    assert!(
        ended.text.contains("the server has no TLS"),
        "{}",
        ended.text
    );
}
