//! Tills: each publishes its next order once the last one is acked, again and again until it is.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use async_nats::jetstream::message::PublishMessage;
use tokio::task::JoinHandle;

use crate::peers::python;
use crate::story::cast::context;
use crate::story::ledger::Acked;

/// Tills 1 to 3 run on async-nats, till 4 on nats-py.
const RUST_TILLS: u32 = 3;
const PYTHON_TILL: u32 = RUST_TILLS + 1;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/py/till.py");

/// All tills at work.
pub(crate) struct Tills {
    rust: Vec<(u32, JoinHandle<u64>)>,
    python: Child,
}

/// When a till stops: after an order's number, and not before this file exists.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    pub(crate) orders: u64,
    pub(crate) file: Option<PathBuf>,
}

impl Goal {
    fn reached(&self, sent: u64) -> bool {
        sent >= self.orders && self.file.as_deref().is_none_or(Path::exists)
    }
}

impl Tills {
    /// Every till goes on from its last acked order.
    pub(crate) fn start(url: &str, acked: &Acked, goal: &Goal) -> Self {
        let rust = (1..=RUST_TILLS).map(|till| {
            let work = work(url.to_owned(), till, acked.next(till), goal.clone());
            (till, tokio::spawn(work))
        });
        let mut command = Command::new(python());
        command.args([
            SCRIPT,
            url,
            &PYTHON_TILL.to_string(),
            &acked.next(PYTHON_TILL).to_string(),
            &goal.orders.to_string(),
        ]);
        command.arg(goal.file.as_deref().unwrap_or_else(|| Path::new("")));
        let python = command
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .expect("python starts");
        Self {
            rust: rust.collect(),
            python,
        }
    }

    /// Waits for all, and books what they had acked.
    pub(crate) async fn finish(self, acked: &mut Acked) {
        for (till, work) in self.rust {
            acked.up_to(till, work.await.expect("a till's work"));
        }
        let output = tokio::task::spawn_blocking(|| self.python.wait_with_output())
            .await
            .expect("joined")
            .expect("python ends");
        assert!(
            output.status.success(),
            "the nats-py till failed: {:?}",
            output.status
        );
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text
            .trim()
            .strip_prefix("acked ")
            .and_then(|n| n.parse().ok());
        acked.up_to(
            PYTHON_TILL,
            last.unwrap_or_else(|| panic!("the nats-py till said {text:?}")),
        );
    }
}

async fn work(url: String, till: u32, first: u64, goal: Goal) -> u64 {
    let context = context(&url).await;
    let mut number = first;
    loop {
        let order = PublishMessage::build()
            .message_id(format!("{till}-{number}"))
            .payload(format!("{till} {number}").into());
        let sent = context
            .send_publish(format!("orders.till-{till}"), order)
            .await;
        let acked = match sent {
            Ok(ack) => ack.await.is_ok(),
            Err(_) => false,
        };
        if !acked {
            tokio::task::yield_now().await;
            continue;
        }
        if goal.reached(number + 1 - first) {
            return number;
        }
        number += 1;
    }
}
