//! The walk of the super-cluster guides with the `nats` tool, step by step: who works nearby works first, then exactly
//! one somewhere else, and what nobody wants stays where it is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, and read files"
)]

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use interop::supercluster::{Supercluster, Words};
use interop::{Kind, Server, nats, run, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const REQUESTS: usize = 12;

const WORLDS: &[[Kind; 3]] = &[
    [Kind::Hub, Kind::Real, Kind::Hub],
    [Kind::Real, Kind::Hub, Kind::Real],
    [Kind::Hub, Kind::Hub, Kind::Hub],
];

/// `nats reply` in a terminal of its own.
struct Worker {
    child: Child,
    output: PathBuf,
}

impl Worker {
    fn start(server: &Server, name: &str) -> Self {
        let output = server.dir().join(format!("worker-{name}"));
        let file = File::create(&output).unwrap();
        let args = [
            "reply",
            "greet",
            &format!("hello from {name}"),
            "--queue",
            "w",
        ];
        let mut command: Command = nats(server, &args);
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let child = command.spawn().expect("the nats CLI starts");
        Self { child, output }
    }

    /// How many requests it took.
    fn taken(&self) -> usize {
        let said = std::fs::read_to_string(&self.output).unwrap();
        said.matches("Received on subject").count()
    }

    fn stop(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `nats request` of a client of that server, so many times; what was answered.
fn ask(server: &Server) -> Vec<String> {
    let count = REQUESTS.to_string();
    let asked = run(&mut nats(
        server,
        &["request", "greet", "x", "--raw", "--count", &count],
    ));
    assert!(asked.status.success(), "{}", asked.text);
    let lines = asked.text.lines().filter(|line| line.starts_with("hello"));
    lines.map(str::to_owned).collect()
}

/// Waits until a request is answered in these words.
fn answered(server: &Server, words: &str) {
    wait_for(&format!("an answer {words:?}"), BOUND, || {
        let run = run(&mut nats(server, &["request", "greet", "x", "--raw"]));
        run.text.contains(words).then_some(())
    });
}

/// Messages and bytes that the first cluster sent to each other one.
fn sent(world: &Supercluster) -> Vec<(u64, u64)> {
    let gatewayz = world.look(0, 0, "/gatewayz");
    let to = |name: &str| {
        let connection = &gatewayz["outbound_gateways"][name]["connection"];
        let number = |key: &str| connection[key].as_u64().unwrap_or_default();
        (number("out_msgs"), number("out_bytes"))
    };
    vec![to("C1"), to("C2")]
}

#[test]
fn local_workers_come_first_then_exactly_one_elsewhere() {
    for kinds in WORLDS {
        // Without what servers tell each other of themselves, which would be counted too.
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..2], &kinds[2..]], |_| Words {
            more: "no_sys_acc: true\n".to_owned(),
            ..Words::default()
        });
        world.joined();
        let servers: Vec<&Server> = world.clusters.iter().map(|cluster| &cluster[0]).collect();
        let mut workers: Vec<Worker> = (0..3)
            .map(|nth| Worker::start(servers[nth], &format!("C{nth}")))
            .collect();
        for c in [1, 2] {
            world.knows((0, 0), c, "greet", true);
        }
        wait_for("the worker nearby", BOUND, || {
            ask(servers[0])
                .contains(&"hello from C0".to_owned())
                .then_some(())
        });

        // 1. A worker here does all of it, and nothing crosses.
        let (before, taken) = (sent(&world), workers[0].taken());
        assert_eq!(
            ask(servers[0]),
            vec!["hello from C0"; REQUESTS],
            "{kinds:?}"
        );
        wait_for("it to have said so", BOUND, || {
            (workers[0].taken() == taken + REQUESTS).then_some(())
        });
        assert_eq!(sent(&world), before, "{kinds:?}: nothing crossed");

        // 2. It is gone: each request is answered once, from elsewhere, by one of the two.
        workers.remove(0).stop();
        answered(servers[0], "hello from C");
        let total = |workers: &[Worker]| workers.iter().map(Worker::taken).sum::<usize>();
        let (before, taken) = (sent(&world), total(&workers));
        let answers = ask(servers[0]);
        assert_eq!(answers.len(), REQUESTS, "{kinds:?}: {answers:?}");
        wait_for("them to have said so", BOUND, || {
            (total(&workers) == taken + REQUESTS).then_some(())
        });
        let crossed: u64 = sent(&world)
            .iter()
            .zip(&before)
            .map(|(now, was)| now.0 - was.0)
            .sum();
        assert_eq!(
            crossed, REQUESTS as u64,
            "{kinds:?}: each request went one way"
        );

        // 3. One of those is gone as well: the other one does it all.
        let last = answers.last().unwrap().clone();
        let busy = usize::from(last == "hello from C2");
        workers.remove(busy).stop();
        let other = format!("hello from C{}", 2 - busy);
        answered(servers[0], &other);
        assert_eq!(ask(servers[0]), vec![other; REQUESTS], "{kinds:?}");

        // 4. Nobody is left: it is said at once, and what nobody wants crosses nowhere.
        workers.clear();
        for c in [1, 2] {
            world.knows((0, 0), c, "greet", false);
        }
        let before = sent(&world);
        for _ in 0..3 {
            let ended = run(&mut nats(servers[0], &["publish", "greet.nobody", "x"]));
            assert!(ended.status.success(), "{}", ended.text);
        }
        let ended = run(&mut nats(servers[0], &["request", "greet", "x"]));
        assert!(ended.text.contains("No responders"), "{}", ended.text);
        assert_eq!(sent(&world), before, "{kinds:?}: nothing crossed");
    }
}
