use frond_wire::MessageBuf;

use super::config::PriorityPolicy;
use super::machine::{Consumer, Mode};
use super::pull::PullRequest;
use super::scene::Scene;
use super::status::status;
use super::waiting::Order;

impl Consumer {
    /// A pull request; without a reply subject nobody could be served.
    pub(super) fn on_next(&mut self, scene: &Scene<'_>, message: &MessageBuf) {
        let parts = message.message();
        if let Some(reply) = parts.reply {
            self.next(scene, reply, parts.payload);
        }
    }

    /// Whether a request takes only what is there, and there is nothing.
    pub(crate) fn has_nothing_for(&self, body: &[u8]) -> bool {
        let wants_no_more = |request: PullRequest| request.no_wait && request.expires == 0;
        self.available() == 0 && PullRequest::parse(body).is_ok_and(wants_no_more)
    }

    fn available(&self) -> u64 {
        self.num_pending() + self.redelivery.len() as u64
    }

    /// Queues a request for `reply`, or says why not.
    // spec: nats-server v2.14.0 server/consumer.go processNextMsgRequest
    pub(super) fn next(&mut self, scene: &Scene<'_>, reply: &str, body: &[u8]) {
        self.idle.used(scene.mono());
        let verdict = PullRequest::parse(body)
            .and_then(|request| request.check(&self.config).map(|()| request));
        let available = self.available();
        if matches!(self.mode, Mode::Push(_)) {
            self.out
                .publish(status(reply, "409 Consumer is push based"));
            return;
        }
        let request = match verdict {
            Ok(request) => request,
            Err(text) => {
                self.out.publish(status(reply, &text));
                return;
            }
        };
        let now = scene.mono();
        if !self.renew_pin(now, request.standing.as_ref()) {
            self.out.publish(status(reply, "423 Nats-Pin-Id mismatch"));
            return;
        }
        let order = match self.config.priority_policy {
            PriorityPolicy::None | PriorityPolicy::Overflow | PriorityPolicy::PinnedClient => {
                Order::Arrival
            }
            PriorityPolicy::Prioritized => Order::Number,
        };
        let Mode::Pull(waiting) = &mut self.mode else {
            return;
        };
        waiting.make_room(now, scene.listens, &mut self.out);
        if request.no_wait {
            if available == 0 && request.expires == 0 {
                self.out.publish(status(reply, "404 No Messages"));
                return;
            }
            let more = i64::try_from(available).map_or(i64::MAX, |it| it.saturating_add(1));
            let wanted = u64::try_from(waiting.wanted(more)).unwrap_or(0);
            if available > 0 && available < wanted {
                self.out.publish(status(reply, "408 Requests Pending"));
                return;
            }
        }
        let heartbeat = request.idle_heartbeat;
        if !waiting.push(now, reply, request, order) && heartbeat <= 0 {
            self.out.publish(status(reply, "409 Exceeded MaxWaiting"));
        }
    }
}
