//! Requests come in.

use frond_account::AccountId;
use frond_broker::{Conn, Source};
use frond_clock::Now;
use frond_wire::{Message, MessageBuf};
use serde::Serialize;

use crate::owner::Owner;
use crate::{Node, Output, ReportRequest};

use super::pending::{Asker, Pending};
use super::request::Request;
use super::services::Service;

#[derive(Serialize)]
struct ServerId<'a> {
    name: &'a str,
    host: &'a str,
    id: &'a str,
}

impl Node {
    /// A message for one of the services.
    pub(crate) fn asked(
        &mut self,
        now: Now,
        account: AccountId,
        id: u64,
        message: &MessageBuf,
        from: Source,
    ) {
        let own = usize::try_from(Owner::own(id)).unwrap_or(usize::MAX);
        let system = self.system.as_ref();
        let Some(service) = system.and_then(|system| system.services.get(own).copied()) else {
            return;
        };
        let message = message.message();
        match service {
            Service::Idz => self.answer_idz(now, account, &message),
            Service::Statsz => self.answer_statsz(now, account, &message),
            Service::UserInfo => self.answer_user_info(now, account, &message, from),
            Service::AccountConns => self.answer_conns(now, account, &message),
            Service::Subscribers => self.answer_subscribers(now, account, &message),
            Service::SubscriberCount => self.answer_subscriber_count(now, account, &message),
            Service::Server(name) => self.answer_document(now, account, &message, name.to_owned()),
            Service::Account(name) => {
                let named = message.subject.split('.').nth(3).unwrap_or_default();
                // The subject that asks for all accounts fits the pattern, too.
                if name != "STATZ" || named != "PING" {
                    let what = format!("ACCOUNT.{named}.{name}");
                    self.answer_document(now, account, &message, what);
                }
            }
            Service::Own(name) => {
                let what = format!("ACCOUNT.{}.{name}", self.account_name(account));
                self.answer_document(now, account, &message, what);
            }
            Service::AccountStatz => {
                self.answer_document(now, account, &message, "ACCOUNT.PING.STATZ".to_owned());
            }
            Service::Kick => self.answer_order(now, account, &message, Self::kick),
            Service::LameDuck => self.answer_order(now, account, &message, Self::send_away),
            Service::OtherServer => self.hear_of_server(now, &message),
            Service::Reload => {
                if let Some((_, asker)) = self.opened(account, &message) {
                    self.answer_reload(now, asker, &message);
                }
            }
        }
    }

    /// What a request says, when it is meant for this server and wants an answer. What can't be
    /// read says nothing here; who makes the document finds out why.
    ///
    /// spec: nats-server v2.15.1 server/events.go `zReq`
    fn opened(&self, account: AccountId, message: &Message<'_>) -> Option<(Request, Asker)> {
        let asker = Asker::of(account, message)?;
        let request = Request::read(message).unwrap_or_default();
        request
            .concerns(self.broker.facts(), &self.config)
            .then_some((request, asker))
    }

    fn answer_document(
        &mut self,
        now: Now,
        account: AccountId,
        message: &Message<'_>,
        what: String,
    ) {
        if let Some((_, asker)) = self.opened(account, message) {
            let options = message.payload.to_vec();
            self.want(now, what, options, Pending::Answer(asker));
        }
    }

    fn answer_idz(&mut self, now: Now, account: AccountId, message: &Message<'_>) {
        let Some(reply) = message.reply else {
            return;
        };
        let facts = self.broker.facts().clone();
        let id = ServerId {
            name: &facts.name,
            host: &facts.host,
            id: &facts.id,
        };
        self.tell(now, account, reply, &id);
    }

    /// Without a reply the figures go where the heartbeat goes.
    ///
    /// spec: nats-server v2.15.1 server/events.go `statszReq`
    fn answer_statsz(&mut self, now: Now, account: AccountId, message: &Message<'_>) {
        let request = Request::read(message).unwrap_or_default();
        if !request.concerns(self.broker.facts(), &self.config) {
            return;
        }
        let subject = match message.reply.filter(|reply| !reply.is_empty()) {
            Some(reply) => reply.to_owned(),
            None => self.statsz_subject(),
        };
        let then = Pending::Figures { account, subject };
        let options = message.payload.to_vec();
        self.want(now, ReportRequest::STATSZ.to_owned(), options, then);
    }

    fn answer_order(
        &mut self,
        now: Now,
        account: AccountId,
        message: &Message<'_>,
        order: fn(&mut Self, Now, Conn) -> Result<(), String>,
    ) {
        // As nats-server: an order that can't be read is ignored, one that nobody wants to hear of, too.
        if Request::read(message).is_none() || message.payload.is_empty() {
            return;
        }
        if let Some((request, asker)) = self.opened(account, message) {
            let done = order(self, now, Conn(request.number("cid")));
            self.send_done(now, &asker, done);
        }
    }

    fn answer_reload(&mut self, now: Now, asker: Asker, message: &Message<'_>) {
        if Request::read(message).is_none() {
            return self.send_unreadable(now, &asker);
        }
        if let Some(ticket) = self.wait(now, Pending::Answer(asker)) {
            self.outputs.push_back(Output::Reload { ticket });
        }
    }

    fn kick(&mut self, now: Now, conn: Conn) -> Result<(), String> {
        if self.broker.peer(conn).is_none() {
            return Err("no such client or leafnode id".to_owned());
        }
        self.broker.close(now, conn, "Kicked");
        Ok(())
    }

    fn send_away(&mut self, now: Now, conn: Conn) -> Result<(), String> {
        let told = self.broker.lame_duck_client(now, conn);
        told.map_err(str::to_owned)
    }

    pub(crate) fn account_name(&self, account: AccountId) -> String {
        let known = self.broker.directory().account(account);
        known.map_or_else(String::new, |account| account.name.to_string())
    }
}
