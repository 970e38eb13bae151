//! A traced message on its way from account to account, which each may forbid to be traced.
//! spec: nats-server v2.15.1 server/client.go `processServiceImport`, `processMsgResults`;
//! server/msgtrace.go `setupResponseServiceImport`

use std::sync::Arc;

use frond_account::{AccountId, ResponseType, Service};
use frond_wire::Message;

use crate::msgtrace::{redirected, untraced};
use crate::responses::{Lost, Response};
use crate::{Broker, TraceStep};

impl Broker {
    /// To a subscription of another account, that `account`; whether it was taken.
    pub(crate) fn trace_export(
        &mut self,
        account: Option<AccountId>,
        to: &str,
        allowed: bool,
        deliver: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        if self.tracing.is_none() {
            return deliver(self);
        }
        let step = TraceStep::StreamExport {
            account: account.map_or_else(String::new, |account| self.name_of(account)),
            to: to.to_owned(),
        };
        self.trace_step(step);
        if allowed {
            return deliver(self);
        }
        if self.traces_only() {
            return true;
        }
        let tracing = self.tracing.take();
        let taken = deliver(self);
        self.tracing = tracing;
        taken
    }

    /// To the other side of a service; whether it was taken.
    pub(crate) fn trace_passage(
        &mut self,
        (asker, subject): (AccountId, &str),
        account: AccountId,
        service: &Arc<Service>,
        message: &Message<'_>,
        is_answer: bool,
        publish: impl FnOnce(&mut Self, &Message<'_>) -> bool,
    ) -> bool {
        let step = TraceStep::ServiceImport {
            account: self.name_of(account),
            from: subject.to_owned(),
            to: message.subject.to_owned(),
        };
        self.trace_step(step);
        if is_answer || !service.allow_trace {
            if self.traces_only() {
                return false;
            }
            let header = untraced(message.header);
            let message = Message {
                header: &header,
                ..*message
            };
            let tracing = self.tracing.take();
            let taken = publish(self, &message);
            self.tracing = tracing;
            return taken;
        }
        // Servers behind this one report in the other account.
        let before = self.traced_hops();
        let dest = self.trace_dest().unwrap_or_default().to_owned();
        let kind = ResponseType::Chunked;
        let report = Response::to_answer(service, kind, false, asker, &dest, self.now);
        let Some(name) = self.expect(account, report) else {
            return publish(self, message);
        };
        let header = redirected(message.header, &name);
        let message = Message {
            header: &header,
            ..*message
        };
        let dest = self.retarget_trace(name.to_string());
        let taken = publish(self, &message);
        self.retarget_trace(dest);
        if self.traced_hops() == before {
            self.forget(account, &name, Lost::Answered);
        }
        taken
    }
}
