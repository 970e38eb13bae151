//! How many subscribers a subject has.
//!
//! spec: nats-server v2.15.1 server/events.go `debugSubscribers`, `nsubsRequest`

use frond_account::AccountId;
use frond_clock::Now;
use frond_subject::{is_literal, is_subset};
use frond_wire::Message;

use crate::Node;

use super::request::Request;

impl Node {
    /// The body is a subject, and perhaps a queue group.
    pub(crate) fn answer_subscribers(
        &mut self,
        now: Now,
        account: AccountId,
        message: &Message<'_>,
    ) {
        let (Some(reply), Ok(body)) = (message.reply, core::str::from_utf8(message.payload)) else {
            return;
        };
        let mut words = body.split_ascii_whitespace();
        let subject = words.next().unwrap_or_default();
        let count = self.subscribers(account, subject, words.next());
        self.tell(now, account, reply, &count);
    }

    /// Another server counts.
    pub(crate) fn answer_subscriber_count(
        &mut self,
        now: Now,
        into: AccountId,
        message: &Message<'_>,
    ) {
        let (Some(reply), Some(request)) = (message.reply, Request::read(message)) else {
            return;
        };
        let Some(account) = self.broker.directory().find(request.text("acc")) else {
            return;
        };
        let queue = request.queue();
        let count = self.subscribers(account, request.text("subject"), queue.as_deref());
        self.tell(now, into, reply, &count);
    }

    fn subscribers(&self, account: AccountId, subject: &str, queue: Option<&str>) -> usize {
        let fits = |filter: &str| match is_literal(subject) {
            true => is_subset(subject, filter),
            false => is_subset(filter, subject),
        };
        self.broker
            .subscriptions()
            .filter(|sub| sub.account == account && sub.cid != 0)
            .filter(|sub| queue.is_none() || sub.queue == queue)
            .filter(|sub| fits(sub.subject))
            .count()
    }
}
