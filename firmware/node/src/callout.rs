//! Asking an authorization service who a peer is, and hearing it.
//! spec: ADR-26, nats-server v2.15.1 server/auth_callout.go

mod request;
mod secrets;

use std::collections::{BTreeSet, HashMap, VecDeque};

use frond_account::nkey::{KeyPair, Role};
use frond_account::xkey::Xkey;
use frond_account::{AUTH_SUBJECT, AccountId, Answer, Asked, Delegation, Withheld};
use frond_broker::{Conn, Level};
use frond_clock::{Instant, Now};
use frond_wire::{Message, MessageBuf};

use crate::limits::CALLOUTS_WAITING_MAX;
use crate::owner::Owner;
use crate::{Node, Output};

use request::Server;
use secrets::Secrets;

/// The keys this server asks with, and the questions that are open.
#[derive(Debug)]
pub(crate) struct Callouts {
    pub(crate) key: KeyPair,
    pub(crate) xkey: Xkey,
    secrets: Secrets,
    /// By the last token of the subject the answer comes on.
    waiting: HashMap<Box<str>, Waiting>,
    /// When they are given up, the first first.
    ends: VecDeque<(Instant, Box<str>)>,
    /// Accounts this server listens in for answers.
    inboxes: BTreeSet<AccountId>,
}

#[derive(Debug)]
struct Waiting {
    conn: Conn,
    token: u64,
    /// The key made for this question.
    user: String,
    delegation: Delegation,
}

impl Callouts {
    pub(crate) fn new(random: &[u8; 32]) -> Self {
        let mut secrets = Secrets::new(*random);
        Self {
            key: KeyPair::from_random(Role::Server, random),
            xkey: Xkey::from_random(&secrets.draw()),
            secrets,
            waiting: HashMap::new(),
            ends: VecDeque::new(),
            inboxes: BTreeSet::new(),
        }
    }

    /// When the next question is given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.ends.front().map(|(end, _)| *end)
    }
}

impl Node {
    /// Asks the service about a peer.
    pub(crate) fn call_out(&mut self, now: Now, conn: Conn, token: u64, delegation: Delegation) {
        if let Err(why) = self.try_call_out(now, conn, token, delegation) {
            self.outputs.push_back(Output::Log {
                level: Level::Warn,
                text: why,
            });
            self.hear(now, conn, token, Answer::Refuse(String::new()));
        }
    }

    /// The peer is judged, and read on.
    fn hear(&mut self, now: Now, conn: Conn, token: u64, answer: Answer) {
        self.broker.answered(now, conn, token, answer);
        self.outputs.push_back(Output::Resume(conn));
    }

    fn try_call_out(
        &mut self,
        now: Now,
        conn: Conn,
        token: u64,
        delegation: Delegation,
    ) -> Result<(), String> {
        let Some(asking) = self.broker.asking(conn) else {
            return Ok(());
        };
        if self.callouts.waiting.len() >= CALLOUTS_WAITING_MAX {
            return Err("too many authorization requests".to_owned());
        }
        let account = delegation.account;
        let inbox = self.callout_inbox(account);
        let timeout = self.config.authorization.timeout;
        let callouts = &mut self.callouts;
        let user = KeyPair::from_random(Role::User, &callouts.secrets.draw()).public_key();
        let server = Server {
            facts: self.broker.facts(),
            tags: &self.config.server_tags,
            key: &callouts.key,
            xkey: &callouts.xkey,
            expires_s: (now.wall.as_nanos() / NANOS).saturating_add_unsigned(timeout.as_secs()),
            issued_at_s: now.wall.as_nanos() / NANOS,
        };
        let nonce = callouts.secrets.draw();
        let request = request::of(&server, conn, &asking, &delegation, &user, &nonce)?;
        let name = callouts.secrets.name();
        let reply = format!("{inbox}.{name}");
        let waiting = Waiting {
            conn,
            token,
            user,
            delegation,
        };
        if callouts.ends.len() >= 2 * CALLOUTS_WAITING_MAX {
            let waiting = &callouts.waiting;
            callouts.ends.retain(|(_, name)| waiting.contains_key(name));
        }
        callouts.waiting.insert(name.clone(), waiting);
        callouts.ends.push_back((now.mono + timeout, name));
        let message = Message {
            subject: AUTH_SUBJECT,
            reply: Some(&reply),
            header: &request.header,
            payload: &request.payload,
        };
        self.broker.publish_internal(now, account, &message, None);
        Ok(())
    }

    /// Where answers come in this account, one token before the question's own.
    fn callout_inbox(&mut self, account: AccountId) -> String {
        let inbox = format!("$SYS._INBOX.{}", self.callouts.key.public_key());
        if self.callouts.inboxes.insert(account) {
            let id = Owner::Callout.number(0);
            self.broker
                .subscribe_internal(account, &format!("{inbox}.*"), id);
        }
        inbox
    }

    /// An answer came.
    pub(crate) fn called_out(&mut self, now: Now, account: AccountId, message: &MessageBuf) {
        let message = message.message();
        let name = message.subject.rsplit('.').next().unwrap_or_default();
        let callouts = &mut self.callouts;
        if callouts
            .waiting
            .get(name)
            .is_none_or(|waiting| waiting.delegation.account != account)
        {
            return;
        }
        let Some(waiting) = callouts.waiting.remove(name) else {
            return;
        };
        let asked = Asked {
            server: &self.broker.facts().id,
            user: &waiting.user,
            delegation: &waiting.delegation,
            xkey: &callouts.xkey,
            wall_ns: now.wall.as_nanos(),
        };
        let directory = self.broker.directory();
        let answer = match directory.take_answer(&asked, message.payload) {
            Ok(identity) => Answer::Accept(identity),
            Err(Withheld::Ask(question)) => {
                return self.find_out(now, waiting.conn, waiting.token, question);
            }
            Err(Withheld::Refused(text)) => {
                let level = Level::Warn;
                self.outputs.push_back(Output::Log { level, text });
                Answer::Refuse(String::new())
            }
        };
        self.hear(now, waiting.conn, waiting.token, answer);
    }

    /// Gives up questions nobody answered in time.
    pub(crate) fn callouts_time(&mut self, now: Now) {
        while self.callouts.deadline().is_some_and(|end| end <= now.mono) {
            let Some((_, name)) = self.callouts.ends.pop_front() else {
                return;
            };
            let Some(waiting) = self.callouts.waiting.remove(&name) else {
                continue;
            };
            let account = self.broker.directory().account(waiting.delegation.account);
            let account = account.map_or("", |account| &account.name);
            self.outputs.push_back(Output::Log {
                level: Level::Debug,
                text: format!(
                    "Authorization callout response not received in time on account {account:?}"
                ),
            });
            let answer = Answer::Refuse(String::new());
            self.hear(now, waiting.conn, waiting.token, answer);
        }
    }
}

const NANOS: i64 = 1_000_000_000;
