//! The binary in nats-server's place: its flags, signs, signals and files, as foreign test suites use them.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read files"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use interop::{Ended, Kind, Server, Setup, free_port, run, wait_for};
use rustix::process::Signal;

const BOUND: Duration = Duration::from_secs(10);

fn frond(args: &[&str]) -> Ended {
    run(Command::new(Kind::Leaf.binary()).args(args))
}

/// The first line a client hears.
fn info(addr: &str) -> String {
    let stream = TcpStream::connect(addr).expect("connected");
    stream
        .set_read_timeout(Some(BOUND))
        .expect("a socket option");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("a line");
    line
}

/// A server with these arguments, on a free port unless they say otherwise.
fn with(args: &[&str]) -> Server {
    Server::start(Kind::Leaf, &Setup::default().args(args.iter().copied()))
}

#[test]
fn the_version_is_told_and_parsed_by_others() {
    for flag in ["-v", "--version", "-version"] {
        let output = frond(&[flag]);
        let said = output.text;
        assert!(output.status.success(), "{flag}: {said}");
        assert!(said.contains(": v2.15."), "{flag}: {said}");
    }
}

#[test]
fn go_s_flag_forms_are_taken() {
    for args in [
        &["-a", "127.0.0.1", "-p", "-1"][..],
        &["--addr", "127.0.0.1", "--port", "-1"],
        &["-addr=127.0.0.1", "-p=-1", "-n", "named"],
        &["-a", "127.0.0.1", "-p", "-1", "-js=false", "-D"],
        &[
            "-a",
            "127.0.0.1",
            "-p",
            "-1",
            "-DV",
            "--server_name",
            "named",
        ],
    ] {
        let server = with(args);
        assert!(info(server.addr()).starts_with("INFO {"), "{args:?}");
    }
}

#[test]
fn ports_that_are_none_end_both() {
    for kind in [Kind::Leaf, Kind::Hub, Kind::Real] {
        for args in [
            ["-p", "-5", "-a", "127.0.0.1"],
            ["-p", "70000", "-a", "127.0.0.1"],
        ] {
            let ended = run(Command::new(kind.binary()).args(args));
            assert!(!ended.status.success(), "{} {args:?}", kind.name());
            assert!(ended.text.contains(args[1]), "{}", ended.text);
        }
    }
}

#[test]
fn jetstream_by_flags() {
    for args in [
        &["-js", "-sd", "data"][..],
        &["--jetstream", "--store_dir", "data"],
        &["-js", "-sd=data"],
    ] {
        let server = with(&[&["-a", "127.0.0.1", "-p", "-1"], args].concat());
        assert!(
            info(server.addr()).contains("\"jetstream\":true"),
            "{args:?}"
        );
        assert!(server.dir().join("data").is_dir(), "{args:?}");
    }
}

#[test]
fn flags_go_before_the_file() {
    let port = free_port();
    let config =
        format!("listen: \"127.0.0.1:{port}\"\nserver_name: from_file\nmax_payload: 1000\n");
    let server = Server::start(
        Kind::Leaf,
        &Setup::config(&config).args(["-p", "-1", "-n", "from_flag"]),
    );
    assert!(
        !server.addr().ends_with(&format!(":{port}")),
        "{}",
        server.addr()
    );
    let line = info(server.addr());
    assert!(
        line.contains("\"server_name\":\"from_flag\"") && line.contains("\"max_payload\":1000"),
        "{line}"
    );
}

#[test]
fn users_and_tokens_by_flags() {
    for (args, connect) in [
        (
            &["--user", "u", "--pass", "p"][..],
            "{\"verbose\":true,\"user\":\"u\",\"pass\":\"p\"}",
        ),
        (&["-auth", "t"], "{\"verbose\":true,\"auth_token\":\"t\"}"),
    ] {
        let server = with(&[&["-a", "127.0.0.1", "-p", "-1"], args].concat());
        let mut stream = TcpStream::connect(server.addr()).expect("connected");
        stream
            .set_read_timeout(Some(BOUND))
            .expect("a socket option");
        writeln!(stream, "CONNECT {connect}\r").expect("sent");
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        assert!(
            lines
                .next()
                .expect("INFO")
                .contains("\"auth_required\":true"),
            "{args:?}"
        );
        assert_eq!(lines.next().as_deref(), Some("+OK"), "{args:?}");
    }
}

#[test]
fn the_log_goes_where_it_is_sent_and_ends_in_ready() {
    let server = with(&["-a", "127.0.0.1", "-p", "-1"]);
    let log = server.log();
    let lines: Vec<&str> = log.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("[INF] Listening for client connections on 127.0.0.1:")),
        "{log}"
    );
    assert!(
        lines
            .last()
            .is_some_and(|line| line.ends_with("[INF] Server is ready")),
        "{log}"
    );
}

#[test]
fn pid_file_and_log_file() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (pid, log) = (dir.path().join("pid"), dir.path().join("log"));
    let (pid_arg, log_arg) = (pid.display().to_string(), log.display().to_string());
    let mut child = Command::new(Kind::Leaf.binary())
        .args([
            "-a",
            "127.0.0.1",
            "-p",
            "-1",
            "-P",
            &pid_arg,
            "-l",
            &log_arg,
        ])
        .current_dir(dir.path())
        .spawn()
        .expect("the binary starts");
    let ready = || {
        std::fs::read_to_string(&log)
            .is_ok_and(|text| text.contains("Server is ready"))
            .then_some(())
    };
    wait_for("the log file to say ready", BOUND, ready);
    assert_eq!(
        std::fs::read_to_string(&pid).expect("a pid file"),
        child.id().to_string()
    );
    child.kill().expect("killed");
    child.wait().expect("ended");
}

#[test]
fn ports_file() {
    let config = "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\nports_file_dir: \"$DIR\"\n";
    let mut server = Server::start(Kind::Leaf, &Setup::config(config));
    let binary = Kind::Leaf.binary();
    let name = binary
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let path = server.dir().join(format!("{name}_{}.ports", server.pid()));
    let ports: serde_json::Value = wait_for("the ports file", BOUND, || {
        serde_json::from_str(&std::fs::read_to_string(&path).ok()?).ok()
    });
    assert_eq!(ports["nats"][0], server.url());
    assert!(
        ports["monitoring"][0]
            .as_str()
            .is_some_and(|url| url.starts_with("http://127.0.0.1:")),
        "{ports}"
    );
    server.terminate();
    assert!(!path.exists(), "the ports file stays after a clean end");
}

#[test]
fn configurations_are_tested() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("c.conf");
    let arg = path.display().to_string();
    std::fs::write(&path, "listen: \"127.0.0.1:-1\"\nmax_payload: 64KB\n").expect("written");
    let good = frond(&["-t", "-c", &arg]);
    assert!(good.status.success(), "{}", good.text);
    assert!(good.text.contains("is valid"), "{}", good.text);
    for (config, word) in [
        ("port: 4222\nbogus_option: 1\n", "bogus_option"),
        ("port: \"abc\n", "line"),
        ("port: [1, 2\n", "line"),
        ("max_payload: lots\n", "c.conf:1"),
    ] {
        std::fs::write(&path, config).expect("written");
        for args in [&["-t", "-c", &arg][..], &["-c", &arg]] {
            let bad = frond(args);
            assert_eq!(bad.status.code(), Some(1), "{config:?}: {}", bad.text);
            assert!(bad.text.contains(word), "{config:?}: {}", bad.text);
        }
    }
}

/// What a start goes on without is told by both.
#[test]
fn a_test_says_what_a_start_says() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("c.conf");
    let arg = path.display().to_string();
    let config = "listen: \"127.0.0.1:-1\"\n\
        leafnodes { remotes [ { url: \"nats://127.0.0.1:1\", credentials: \"/nope.creds\" } ] }\n";
    std::fs::write(&path, config).expect("written");
    let said = "Error reading LeafNode Remote Credentials file \"/nope.creds\": open /nope.creds: \
                no such file or directory";
    let tested = frond(&["-t", "-c", &arg]);
    assert!(tested.status.success(), "{}", tested.text);
    assert!(tested.text.contains(said), "{}", tested.text);
    let server = Server::start(Kind::Leaf, &Setup::config(config));
    assert!(server.log().contains(said), "{}", server.log());
    std::fs::write(&path, "\nleafnodes { port: 7422 }\n").expect("written");
    let tested = frond(&["-t", "-c", &arg]);
    assert!(!tested.status.success());
    assert!(
        tested.text.contains("c.conf:2:1: leafnodes: frond dials"),
        "{}",
        tested.text
    );
}

#[test]
fn a_port_in_use_is_named() {
    let server = with(&["-a", "127.0.0.1", "-p", "-1"]);
    let port = server.addr().rsplit(':').next().expect("a port").to_owned();
    let second = frond(&["-a", "127.0.0.1", "-p", &port]);
    assert!(!second.status.success());
    assert!(
        second.text.contains("[FTL]") && second.text.contains("address already in use"),
        "{}",
        second.text
    );
}

#[test]
fn reload_takes_what_can_change() {
    let config = "listen: \"127.0.0.1:-1\"\nmax_payload: 1000\n";
    let server = Server::start(Kind::Leaf, &Setup::config(config));
    server.reload(&config.replace("1000", "2000"));
    wait_for("the reload", BOUND, || {
        server
            .log()
            .contains("Reloaded server configuration")
            .then_some(())
    });
    assert!(info(server.addr()).contains("\"max_payload\":2000"));
    server.reload("bogus: {\n");
    wait_for("the refusal", BOUND, || {
        server
            .log()
            .contains("Failed to reload server configuration")
            .then_some(())
    });
    assert!(info(server.addr()).contains("\"max_payload\":2000"));
}

#[test]
fn sigterm_and_sigint_end_it_at_once() {
    let mut server = Server::start(Kind::Leaf, &Setup::jetstream());
    server.terminate();
    server.restart();
    server.signal(Signal::INT);
    wait_for("the listener to be gone", BOUND, || {
        TcpStream::connect(server.addr()).is_err().then_some(())
    });
}

#[test]
fn lame_duck_says_so_and_stops_listening() {
    let server = with(&["-a", "127.0.0.1", "-p", "-1"]);
    let mut stream = TcpStream::connect(server.addr()).expect("connected");
    stream
        .set_read_timeout(Some(BOUND))
        .expect("a socket option");
    stream
        .write_all(b"CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n")
        .expect("sent");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "PONG"), "greeted");
    server.signal(Signal::USR2);
    assert!(
        lines.any(|line| line.starts_with("INFO {") && line.contains("\"ldm\":true")),
        "told of the lame duck"
    );
    wait_for("the listener to be gone", BOUND, || {
        TcpStream::connect(server.addr()).is_err().then_some(())
    });
}

#[test]
fn of_a_flag_given_twice_the_last_counts() {
    let twice = [
        "-p", "1", "-D", "-D", "--port", "-1", "-js", "-js", "-a", "0.0.0.0",
    ];
    let server = with(&[&twice[..], &["-a", "127.0.0.1"]].concat());
    assert!(TcpStream::connect(server.addr()).is_ok());
}

#[test]
fn few_clients_of_a_lame_duck_are_led_away_within_seconds() {
    let server = Server::start(
        Kind::Leaf,
        &Setup::config(
            "listen: \"127.0.0.1:-1\"\nlame_duck_grace_period: \"1s\"\nlame_duck_duration: \"600s\"",
        ),
    );
    let clients: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = TcpStream::connect(server.addr()).expect("connected");
            stream
                .write_all(b"CONNECT {\"verbose\":false}\r\nPING\r\n")
                .expect("sent");
            let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            assert!(lines.any(|line| line.is_ok_and(|line| line == "PONG")));
            stream
        })
        .collect();
    server.signal(Signal::USR2);
    // 599 seconds between three would be 200 each.
    wait_for("the end", Duration::from_secs(30), || {
        server.log().contains("Server Exiting..").then_some(())
    });
    drop(clients);
}

#[test]
fn signals_by_flag() {
    let server = with(&["-a", "127.0.0.1", "-p", "-1"]);
    let output = frond(&["--signal", &format!("ldm={}", server.pid())]);
    assert!(output.status.success(), "{}", output.text);
    wait_for("the lame duck", BOUND, || {
        server.log().contains("ame duck").then_some(())
    });
}
