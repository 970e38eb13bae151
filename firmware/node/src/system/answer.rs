//! Answers go out: at once, or when the document they need has come.

use frond_account::AccountId;
use frond_clock::Now;
use frond_wire::{Message, go_json, headers};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::limits::ANSWERS_WAITING_MAX;
use crate::{Node, Output, ReportError, ReportRequest};

use super::packing::Packing;
use super::pending::{Asker, Pending};
use super::server_info::ServerInfo;

/// What was asked for, or why it isn't there.
///
/// spec: nats-server v2.15.1 server/events.go `ServerAPIResponse`
#[derive(Serialize)]
struct Answer<'a> {
    server: ServerInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ApiError>,
}

#[derive(Serialize)]
struct ApiError {
    code: u16,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
}

/// The figures of the heartbeat.
#[derive(Serialize)]
struct Figures<'a> {
    server: ServerInfo,
    statsz: &'a RawValue,
}

impl Node {
    /// Wishes for a document; what becomes of it is remembered until it comes.
    pub(crate) fn want(&mut self, now: Now, what: String, options: Vec<u8>, then: Pending) {
        if let Some(ticket) = self.wait(now, then) {
            let request = ReportRequest { what, options };
            self.outputs.push_back(Output::Report { ticket, request });
        }
    }

    /// Remembers what waits; `None` when too much does, and then the asker was told.
    pub(crate) fn wait(&mut self, now: Now, then: Pending) -> Option<u64> {
        let system = self.system.as_mut()?;
        if system.pending.len() >= ANSWERS_WAITING_MAX {
            match then {
                Pending::Answer(asker) => {
                    self.send_refusal(now, &asker, "too many requests");
                }
                Pending::Figures { .. } => {}
            }
            return None;
        }
        system.next_ticket += 1;
        system.pending.insert(system.next_ticket, then);
        Some(system.next_ticket)
    }

    /// The answer to [`Output::Report`].
    pub(crate) fn reported(&mut self, now: Now, ticket: u64, answer: Result<String, ReportError>) {
        let system = self.system.as_mut();
        let Some(pending) = system.and_then(|system| system.pending.remove(&ticket)) else {
            return;
        };
        match (pending, answer) {
            (Pending::Answer(asker), Ok(body)) => self.send_document(now, &asker, body),
            (Pending::Answer(asker), Err(ReportError::Refused { code, description })) => {
                // Go's typed nil: what was looked for is there, and empty.
                let data = (code == 500).then(|| "null".to_owned());
                self.send_answer(now, &asker, data, Some(ApiError { code, description }));
            }
            (Pending::Answer(_), Err(ReportError::Silence)) => {}
            (Pending::Figures { account, subject }, Ok(body)) => {
                let server = self.told(now.wall);
                if let Ok(statsz) = RawValue::from_string(body) {
                    let figures = Figures {
                        server,
                        statsz: &statsz,
                    };
                    self.tell(now, account, &subject, &figures);
                }
            }
            (
                Pending::Figures { account, subject },
                Err(ReportError::Refused { code, description }),
            ) => {
                let answer = Answer {
                    server: self.told(now.wall),
                    data: None,
                    error: Some(ApiError { code, description }),
                };
                self.tell(now, account, &subject, &answer);
            }
            (Pending::Figures { .. }, Err(ReportError::Silence)) => {}
        }
    }

    /// The answer to [`Output::Reload`].
    pub(crate) fn reloaded(&mut self, now: Now, ticket: u64, answer: Result<(), String>) {
        let system = self.system.as_mut();
        match system.and_then(|system| system.pending.remove(&ticket)) {
            Some(Pending::Answer(asker)) => self.send_done(now, &asker, answer),
            Some(Pending::Figures { .. }) | None => {}
        }
    }

    /// Sends a document in its envelope.
    pub(crate) fn send_document(&mut self, now: Now, asker: &Asker, body: String) {
        self.send_answer(now, asker, Some(body), None);
    }

    /// Says how an order went.
    pub(crate) fn send_done(&mut self, now: Now, asker: &Asker, done: Result<(), String>) {
        match done {
            Ok(()) => self.send_answer(now, asker, None, None),
            Err(why) => self.send_refusal(now, asker, &why),
        }
    }

    /// The request is no JSON object.
    pub(crate) fn send_unreadable(&mut self, now: Now, asker: &Asker) {
        let error = ApiError {
            code: 400,
            description: "invalid JSON in the request".to_owned(),
        };
        self.send_answer(now, asker, None, Some(error));
    }

    fn send_refusal(&mut self, now: Now, asker: &Asker, why: &str) {
        let error = ApiError {
            code: 500,
            description: why.to_owned(),
        };
        self.send_answer(now, asker, None, Some(error));
    }

    fn send_answer(
        &mut self,
        now: Now,
        asker: &Asker,
        data: Option<String>,
        error: Option<ApiError>,
    ) {
        let packing = if error.is_none() {
            asker.packing
        } else {
            Packing::Plain
        };
        let mut header = Vec::new();
        if let Some(name) = packing.name() {
            headers::set(&mut header, "Content-Encoding", name);
        }
        let data = data.and_then(|body| RawValue::from_string(body).ok());
        let answer = Answer {
            server: self.told(now.wall),
            data: data.as_deref(),
            error,
        };
        if let Some(body) = packing.pack(go_json::to_vec(&answer)) {
            self.send_bytes(now, asker.account, &asker.reply, &header, &body);
        }
    }

    /// Publishes an event or a bare answer.
    pub(crate) fn tell(
        &mut self,
        now: Now,
        account: AccountId,
        subject: &str,
        body: &impl Serialize,
    ) {
        self.send(now, account, subject, &[], body);
    }

    fn send(
        &mut self,
        now: Now,
        account: AccountId,
        subject: &str,
        header: &[u8],
        body: &impl Serialize,
    ) {
        self.send_bytes(now, account, subject, header, &go_json::to_vec(body));
    }

    pub(crate) fn send_bytes(
        &mut self,
        now: Now,
        account: AccountId,
        subject: &str,
        header: &[u8],
        payload: &[u8],
    ) {
        let message = Message {
            subject,
            reply: None,
            header,
            payload,
        };
        self.broker.publish_internal(now, account, &message, None);
    }
}
