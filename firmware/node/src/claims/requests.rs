use frond_clock::Now;
use frond_wire::{Message, MessageBuf};

use super::services::Service;
use crate::Node;

impl Node {
    /// A message for one of our subscriptions in the system account.
    pub(crate) fn claims_message(&mut self, now: Now, own: u64, message: &MessageBuf) {
        let (subject, reply) = (message.subject(), message.reply());
        let body = message.message().payload;
        match Service::of(own) {
            Some(Service::UpdateOf) => self.update_of(now, subject, reply, body),
            Some(Service::Update) => self.update(now, reply, body),
            Some(Service::Lookup) => self.look_up_for(now, subject, reply),
            Some(Service::Pack) => self.pack_for(now, reply, body),
            Some(Service::List) => self.list_for(now, reply),
            Some(Service::Delete) => self.delete_accounts(now, reply, body),
            Some(Service::LookedUp) => {
                let key = subject.rsplit('.').next().unwrap_or_default();
                self.lookup_answered(now, key, body);
            }
            Some(Service::Packed) => self.merge(now, body),
            None => {}
        }
    }

    /// Another server's question: the JWT, or nothing.
    fn look_up_for(&mut self, now: Now, subject: &str, reply: Option<&str>) {
        let (Some(reply), Some(key)) = (reply, subject.split('.').nth(3)) else {
            return;
        };
        let Some(claims) = &mut self.claims else {
            return;
        };
        // Our own question, which we hear as well.
        if reply.starts_with(&claims.inbox) {
            return;
        }
        let text = claims.shelf.get(now.mono, key);
        self.say(now, reply, text.as_deref().unwrap_or_default().as_bytes());
    }

    fn list_for(&mut self, now: Now, reply: Option<&str>) {
        let (Some(reply), Some(claims)) = (reply, &self.claims) else {
            return;
        };
        let wall_s = now.wall.as_nanos() / 1_000_000_000;
        let keys: Vec<&str> = claims.shelf.holding(wall_s).map(|(key, _)| key).collect();
        let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
        let answer = serde_json::json!({ "server": self.told(now.wall), "data": keys });
        let body = answer.to_string();
        self.say(now, reply, body.as_bytes());
    }

    /// Publishes in the system account.
    pub(super) fn say(&mut self, now: Now, subject: &str, payload: &[u8]) {
        let message = Message {
            subject,
            reply: None,
            header: &[],
            payload,
        };
        let system = self.broker.directory().system_account();
        self.broker.publish_internal(now, system, &message, None);
    }
}
