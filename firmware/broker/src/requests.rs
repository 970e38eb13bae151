//! Requests to services of other accounts, and their answers.
//! spec: nats-server v2.15.1 server/client.go `processServiceImport`.

use std::sync::Arc;

use frond_account::{AccountId, Mapped, ResponseType, Service, ServiceImport};
use frond_wire::{Message, headers};

use crate::Broker;
use crate::client_info::ClientInfo;
use crate::publish::{ACK_PREFIX, Publication};
use crate::responses::{Lost, Response};

/// One passage from account to account that a message made.
#[derive(Debug)]
pub(crate) struct Hop<'a> {
    service: &'a Arc<Service>,
    /// Whether the import tells who asks.
    share: bool,
    info: Option<ClientInfo>,
    before: Option<&'a Self>,
}

impl<'a> Hop<'a> {
    /// Whether a message that came this way passed this service already.
    fn passed(this: Option<&'a Self>, service: &Service) -> bool {
        let mut at = this;
        while let Some(hop) = at {
            if hop.service.account == service.account && hop.service.subject == service.subject {
                return true;
            }
            at = hop.before;
        }
        false
    }
}

impl Broker {
    /// Brings a request to the exporting account; whether somebody there took it.
    pub(crate) fn request(
        &mut self,
        import: &Arc<ServiceImport>,
        importer: AccountId,
        publication: &Publication<'_>,
    ) -> bool {
        let (service, message) = (&import.service, publication.message);
        if Hop::passed(publication.hop, service) {
            return false;
        }
        let sample = self.sample(service, message.header);
        if service.latency.is_some() {
            self.measure_rtt(publication.origin);
        }
        let mut awaited = None;
        let reply = match message.reply {
            // An acknowledgement finds its consumer by its name.
            Some(reply) if reply.starts_with(ACK_PREFIX) => Some(reply.to_owned()),
            Some(reply) => {
                let response = Response::to_request(import, importer, reply, self.now);
                let response = self.tracked(response, import, sample, publication.origin);
                let Some(name) = self.expect(import.account, response) else {
                    return false;
                };
                awaited = Some(name.clone());
                Some(name.into())
            }
            None => {
                if let Some(sample) = sample {
                    self.report_bad_request(import, sample, publication.origin);
                }
                None
            }
        };
        let info = self.info_for(import, importer, publication);
        let mut header = message.header.to_vec();
        if let Some(info) = &info {
            headers::set(&mut header, "Nats-Request-Info", &info.to_json());
        }
        let there = import.there(message.subject).into_owned();
        let hop = Hop {
            service,
            share: import.share,
            info,
            before: publication.hop,
        };
        let message = Message {
            subject: &there,
            reply: reply.as_deref(),
            header: &header,
            ..*message
        };
        let taken = self.pass(import.account, &message, publication, &hop, false);
        if let Some(name) = awaited.filter(|_| !taken || self.traces_only()) {
            let why = if taken {
                Lost::Answered
            } else {
                Lost::Undelivered
            };
            self.forget(import.account, &name, why);
        }
        taken
    }

    /// Brings an answer from the exporting account to who asked.
    pub(crate) fn respond(&mut self, exporter: AccountId, publication: &Publication<'_>) {
        let message = publication.message;
        let Some(state) = self.accounts.get_mut(exporter.0 as usize) else {
            return;
        };
        let Some(response) = state.sharing.responses.get(message.subject) else {
            return;
        };
        let service = Arc::clone(&response.service);
        if Hop::passed(publication.hop, &service) {
            return;
        }
        let (asker, to) = (response.account, response.to.clone());
        let (kind, share) = (response.kind, response.share);
        let mut awaited = None;
        let reply = match message.reply {
            Some(reply) if reply.starts_with(ACK_PREFIX) => Some(reply.to_owned()),
            Some(reply) => {
                let response =
                    Response::to_answer(&service, kind, share, exporter, reply, self.now);
                let name = self.expect(asker, response);
                awaited.clone_from(&name);
                name.map(Into::into)
            }
            None => None,
        };
        self.report_answer(exporter, message.subject, publication.origin);
        let hop = Hop {
            service: &service,
            share,
            info: None,
            before: publication.hop,
        };
        let is_last = message.body_bytes() == 0;
        let answer = Message {
            subject: &to,
            reply: reply.as_deref(),
            ..*message
        };
        let taken = self.pass(asker, &answer, publication, &hop, true);
        if let Some(name) = awaited.filter(|_| !taken) {
            self.forget(asker, &name, Lost::Undelivered);
        }
        if !taken {
            self.forget(exporter, message.subject, Lost::Undelivered);
        } else if kind == ResponseType::Singleton || is_last {
            self.forget(exporter, message.subject, Lost::Answered);
        } else {
            self.renew(exporter, message.subject);
        }
    }

    /// Publishes in the account on the other side, which may rename it.
    fn pass(
        &mut self,
        account: AccountId,
        message: &Message<'_>,
        publication: &Publication<'_>,
        hop: &Hop<'_>,
        is_answer: bool,
    ) -> bool {
        let renamed = match self.mapped(account, message.subject) {
            Some(Mapped::Lost) => return false,
            Some(Mapped::To(subject)) => Some(subject),
            None => None,
        };
        let message = Message {
            subject: renamed.as_deref().unwrap_or(message.subject),
            ..*message
        };
        let publish = |broker: &mut Self, message: &Message<'_>| {
            broker.publish(&Publication {
                account,
                message,
                shown: publication.shown,
                origin: publication.origin,
                leaf_cluster: publication.leaf_cluster,
                // A leafnode that named no queue group knew of none there.
                queues: publication.queues.filter(|queues| !queues.is_empty()),
                hop: Some(hop),
                is_answer,
            })
        };
        if self.tracing.is_none() {
            return publish(self, &message);
        }
        let from = (publication.account, publication.message.subject);
        self.trace_passage(from, account, hop.service, &message, is_answer, publish)
    }

    /// What the exporting account is told of who asks.
    fn info_for(
        &self,
        import: &ServiceImport,
        importer: AccountId,
        publication: &Publication<'_>,
    ) -> Option<ClientInfo> {
        let is_system = import.account == self.directory.system_account();
        let Some(hop) = publication.hop else {
            let mut info = self.info_of(publication.origin, publication.account, import.share);
            if !import.share && is_system {
                self.add_server(&mut info);
            }
            return Some(info);
        };
        let mut info = hop.info.clone()?;
        info.service = self.name_of(importer);
        if !hop.share && (import.share || is_system) {
            self.add_server(&mut info);
        }
        Some(info)
    }
}
