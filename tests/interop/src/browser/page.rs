use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Browser, QUIET};
use crate::run::run;

/// How long the browser may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// A page that stays open, used as somebody does who has a keyboard or a reader: the browser is
/// spoken to in its developer tools' protocol, over a pair of pipes.
#[derive(Debug)]
pub struct OpenPage {
    browser: Child,
    orders: File,
    answers: Receiver<Value>,
    session: String,
    next: u64,
}

impl Browser {
    /// Opens a page.
    ///
    /// # Panics
    /// When the browser does not start, or does not answer.
    #[must_use]
    pub fn open(&self, url: &str) -> OpenPage {
        let pipe = |name: &str| self.home.path().join(name);
        let (orders, answers) = (pipe("orders"), pipe("answers"));
        let made = run(Command::new("mkfifo").args([&orders, &answers]));
        assert!(made.status.success(), "{}", made.text);
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<\"$ORDERS\" 4>\"$ANSWERS\""]);
        command.arg(&self.path).args(QUIET);
        command.arg("--remote-debugging-pipe").arg("about:blank");
        command.arg(format!("--user-data-dir={}", self.home.path().display()));
        command.env("ORDERS", &orders).env("ANSWERS", &answers);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let browser = command.spawn().expect("a shell");
        // Each waits for the other end.
        let orders = OpenOptions::new().write(true).open(orders);
        let answers = File::open(answers).expect("the browser's answers");
        let (told, heard) = channel();
        std::thread::spawn(move || {
            for said in BufReader::new(answers).split(0) {
                let said = said.ok().and_then(|it| serde_json::from_slice(&it).ok());
                let Some(said) = said else { return };
                if told.send(said).is_err() {
                    return;
                }
            }
        });
        let mut page = OpenPage {
            browser,
            orders: orders.expect("the browser's orders"),
            answers: heard,
            session: String::new(),
            next: 1,
        };
        let target = page.ask("Target.createTarget", &json!({ "url": url }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = page.ask("Target.attachToTarget", &attach)["sessionId"].clone();
        page.session = session.as_str().expect("a session").to_owned();
        page
    }
}

impl OpenPage {
    /// One question of the protocol and its answer.
    ///
    /// # Panics
    /// When there is none, or it is no.
    pub fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut order = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            order["sessionId"] = json!(self.session);
        }
        let mut said = order.to_string().into_bytes();
        said.push(0);
        self.orders.write_all(&said).expect("the browser reads");
        loop {
            let answer = self.answers.recv_timeout(ANSWER_TIME);
            let answer = answer.unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// What an expression is in the page, as JSON has it.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        self.ask("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// A key is pressed and let go.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.ask("Input.dispatchKeyEvent", &event);
        }
    }

    /// What a reader is told of the page: role and name of each thing, in its order, without what
    /// it passes over.
    pub fn read_out(&mut self) -> Vec<(String, String)> {
        let tree = self.ask("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        let word = |it: &Value, key: &str| it[key]["value"].as_str().unwrap_or("").to_owned();
        let shown = nodes.iter().filter(|it| it["ignored"] != true);
        shown
            .map(|it| {
                let level = it["properties"].as_array().and_then(|all| {
                    let level = all.iter().find(|it| it["name"] == "level")?;
                    level["value"]["value"].as_u64()
                });
                let role = word(it, "role");
                let role = match level {
                    Some(level) => format!("{role} {level}"),
                    None => role,
                };
                (role, word(it, "name"))
            })
            .collect()
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
