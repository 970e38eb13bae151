use frond_clock::Now;
use serde_json::json;

use frond_broker::Level;

use crate::{Node, Output};

/// An answer that waits until the disk has what it is about.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) reply: Option<String>,
    pub(super) account: String,
    /// When the disk has it.
    pub(super) done: String,
    /// When it has not.
    pub(super) failed: String,
}

impl Node {
    /// The disk has it, or not.
    pub(super) fn stored(&mut self, now: Now, ticket: u64, result: Result<(), String>) {
        let pending = self
            .claims
            .as_mut()
            .and_then(|claims| claims.pending.remove(&ticket));
        match (pending, result) {
            (Some(it), Ok(())) => {
                self.respond(now, it.reply.as_deref(), &it.account, &it.done, Ok(()));
            }
            (Some(it), Err(why)) => {
                self.respond(now, it.reply.as_deref(), &it.account, &it.failed, Err(&why));
            }
            (None, Ok(())) => {}
            (None, Err(why)) => self.warn(format!("An account JWT could not be stored: {why}")),
        }
    }

    /// Answers a request about accounts, and says it on the log.
    ///
    /// spec: nats-server v2.15.1 server/accounts.go `respondToUpdate`
    pub(super) fn respond(
        &mut self,
        now: Now,
        reply: Option<&str>,
        account: &str,
        message: &str,
        result: Result<(), &str>,
    ) {
        let mut words = vec![message];
        words.extend((!account.is_empty()).then_some(account));
        words.extend(result.err());
        let level = match result {
            Ok(()) => Level::Debug,
            Err(_) => Level::Error,
        };
        let text = words.join(" - ");
        self.outputs.push_back(Output::Log { level, text });
        let Some(reply) = reply else {
            return;
        };
        let (part, mut said) = match result {
            Ok(()) => ("data", json!({ "code": 200, "message": message })),
            Err(why) => {
                let description = format!("{message} - {why}");
                ("error", json!({ "code": 500, "description": description }))
            }
        };
        if let (false, Some(fields)) = (account.is_empty(), said.as_object_mut()) {
            fields.insert("account".to_owned(), account.into());
        }
        let mut answer = json!({ "server": self.told(now.wall) });
        if let Some(fields) = answer.as_object_mut() {
            fields.insert(part.to_owned(), said);
        }
        let body = answer.to_string();
        self.say(now, reply, body.as_bytes());
    }
}
