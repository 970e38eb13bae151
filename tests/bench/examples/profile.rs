//! One load without sockets, for a profiler: `valgrind --tool=callgrind target/release/examples/profile 1to1 100000`.

use bench::InProcess;

const FRAMES: usize = 300;

fn main() {
    let mut args = std::env::args().skip(1);
    let load = args.next().unwrap_or_default();
    let messages: usize = args.next().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let mut node = InProcess::new();
    let publisher = node.client();
    let (subscribers, subject, headers) = match load.as_str() {
        "1to5" => (5, "SUB bench.0.000 1\r\n", false),
        "queue" => (4, "SUB bench.0.000 q 1\r\n", false),
        "wild" => (1, "SUB bench.> 1\r\n", false),
        "hdr" => (1, "SUB bench.> 1\r\n", true),
        "none" => (0, "", false),
        _ => (1, "SUB bench.0.000 1\r\n", false),
    };
    for _ in 0..subscribers {
        let conn = node.client();
        node.bytes(conn, subject.as_bytes());
    }
    let payload = "x".repeat(128);
    let frames: String = (0..FRAMES)
        .map(|at| match (load.as_str(), headers) {
            (_, true) => format!(
                "HPUB bench.0.000 31 159\r\nNATS/1.0\r\nA-Key: some value\r\n\r\n{payload}\r\n"
            ),
            ("inbox", _) => format!("PUB bench.0.000 _INBOX.x.{at:06} 128\r\n{payload}\r\n"),
            ("wild", _) => format!("PUB bench.0.{at:03} 128\r\n{payload}\r\n"),
            _ => format!("PUB bench.0.000 128\r\n{payload}\r\n"),
        })
        .collect();
    for _ in 0..messages / FRAMES {
        node.bytes(publisher, frames.as_bytes());
    }
}
