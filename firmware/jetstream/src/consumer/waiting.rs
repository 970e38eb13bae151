use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use frond_clock::Instant;
use frond_wire::MessageBuf;

use super::limits;
use super::outbox::Outbox;
use super::priority::{Rule, Verdict, number};
use super::progress::Floor;
use super::pull::{PullRequest, Standing};
use super::scene::Listens;
use super::status;

/// The pull requests that are not served yet, in the order they are served.
#[derive(Debug)]
pub(crate) struct Waiting {
    queue: VecDeque<Request>,
    places: usize,
    /// Counts the rounds of delivery: interest does not change within one.
    round: u64,
    /// When everybody's interest was last looked at because no place was free.
    swept: Option<Instant>,
    /// Nothing is due before; it may be the time of a request that is gone.
    due: Option<Instant>,
}

/// One request that waits.
#[derive(Debug)]
pub(crate) struct Request {
    reply: Arc<str>,
    /// Messages it still wants; may start at 0 or below, then it is served once.
    left: i64,
    /// Bytes it still takes; 0 or less: any.
    bytes_left: i64,
    limited: bool,
    delivered: u64,
    no_wait: bool,
    expires: Option<Instant>,
    heartbeat: Option<(Duration, Instant)>,
    standing: Option<Standing>,
    /// The round in which somebody was found to listen.
    live_in: u64,
}

/// What order requests are served in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In turn.
    Arrival,
    /// By their number, in turn within one.
    Number,
}

/// Who gets a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taker {
    /// The request's inbox.
    pub(crate) reply: Arc<str>,
    /// What is left of the request, when this message was its last and it would have taken more
    /// bytes.
    pub(crate) unused: Option<Unused>,
    /// The group whose other clients stand by from now on, when this one is to be pinned.
    pub(crate) pinned_in: Option<Box<str>>,
}

/// What a request leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unused {
    /// Messages; below nothing when it asked for none.
    pub(crate) messages: i64,
    pub(crate) bytes: i64,
}

impl Waiting {
    /// Room for `places` requests.
    pub(crate) fn new(places: i64) -> Self {
        let places = places.clamp(0, limits::WAITING_MAX);
        Self {
            queue: VecDeque::new(),
            places: usize::try_from(places).unwrap_or(0),
            round: 0,
            swept: None,
            due: None,
        }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Messages wanted by all together, or by so many that they are `enough`: a million may wait,
    /// and this is asked for each.
    pub(crate) fn wanted(&self, enough: i64) -> i64 {
        let mut sum: i64 = 0;
        for request in &self.queue {
            if sum >= enough {
                break;
            }
            sum = sum.saturating_add(request.left);
        }
        sum
    }

    /// When to look whether something is due by itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.queue.is_empty())
    }

    fn count_due(&mut self) {
        self.due = self.queue.iter().filter_map(Request::due).min();
    }

    /// Makes room when there is none, looking at everybody's interest at most once a second.
    pub(crate) fn make_room(&mut self, now: Instant, reach: &Listens<'_>, out: &mut Outbox) {
        let recently = self
            .swept
            .is_some_and(|at| now.since(at) <= Duration::from_secs(1));
        if self.queue.len() >= self.places && !recently {
            self.swept = Some(now);
            self.expire(now, out);
            self.queue.retain(|request| reach.anybody(&request.reply));
        }
    }

    /// Queues a request in its order; false when there is no place.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        reply: &str,
        request: PullRequest,
        order: Order,
    ) -> bool {
        if self.queue.len() >= self.places {
            return false;
        }
        let after = |nanos: i64| Duration::from_nanos(nanos.unsigned_abs());
        let request = Request {
            reply: reply.into(),
            left: request.batch,
            bytes_left: request.max_bytes,
            limited: request.max_bytes > 0,
            delivered: 0,
            no_wait: request.no_wait,
            expires: (request.expires != 0).then(|| {
                if request.expires < 0 {
                    now
                } else {
                    now + after(request.expires)
                }
            }),
            heartbeat: (request.idle_heartbeat > 0).then(|| {
                let every = after(request.idle_heartbeat);
                (every, now + every)
            }),
            standing: request.standing,
            live_in: 0,
        };
        let before = self.deadline();
        self.due = before.into_iter().chain(request.due()).min();
        self.enqueue(request, order);
        true
    }

    /// Puts a request behind those that go before it.
    fn enqueue(&mut self, request: Request, order: Order) {
        let place = match order {
            Order::Arrival => self.queue.len(),
            Order::Number => {
                let own = number(request.standing.as_ref());
                let of = |other: &Request| number(other.standing.as_ref());
                self.queue.partition_point(|other| of(other) <= own)
            }
        };
        self.queue.insert(place, request);
    }

    /// A new round of delivery begins: who listens is asked again.
    pub(crate) const fn begin_round(&mut self) {
        self.round += 1;
    }

    /// Whether anything is asked for. Who still listens is only looked at when there is a message
    /// to give: a client that reconnects comes back to its inbox.
    pub(crate) fn has_request(&mut self, now: Instant, out: &mut Outbox) -> bool {
        while let Some(head) = self.queue.front() {
            if !head.is_over(now) {
                return true;
            }
            out.publish(head.timeout());
            self.queue.pop_front();
        }
        false
    }

    /// Drops requests at the head that nobody listens for any more, until one is live.
    pub(crate) fn has_taker(
        &mut self,
        now: Instant,
        reach: &Listens<'_>,
        out: &mut Outbox,
    ) -> bool {
        while self.has_request(now, out)
            && let Some(head) = self.queue.front_mut()
        {
            if head.live_in == self.round || reach.anybody(&head.reply) {
                head.live_in = self.round;
                return true;
            }
            self.queue.pop_front();
        }
        false
    }

    /// Who takes a message of `size` bytes: the first live request that `rule` lets and that
    /// has room for it. It goes back into the queue when it wants more.
    // spec: nats-server v2.15.1 server/consumer.go nextWaiting
    pub(crate) fn take(
        &mut self,
        now: Instant,
        size: i64,
        rule: Rule<'_>,
        reach: &Listens<'_>,
        out: &mut Outbox,
    ) -> Option<Taker> {
        let mut passed = 0;
        while self.has_taker(now, reach, out) {
            let standing = self.queue.front()?.standing.as_ref();
            let verdict = rule.judge(standing);
            if verdict == Verdict::Later {
                self.queue.rotate_left(1);
                passed += 1;
                if passed >= self.queue.len() {
                    return None;
                }
                continue;
            }
            let mut head = self.queue.pop_front()?;
            if verdict == Verdict::WrongPin {
                out.publish(head.unfinished("423 Nats-Wrong-Pin-Id"));
                continue;
            }
            if head.limited && size > head.bytes_left {
                out.publish(head.unfinished("409 Message Size Exceeds MaxBytes"));
                continue;
            }
            let pinned_in = head.pin(verdict, rule);
            let unused = head.serve(now, size);
            let reply = Arc::clone(&head.reply);
            if head.left > 0 {
                self.enqueue(head, rule.order());
            }
            return Some(Taker {
                reply,
                unused,
                pinned_in,
            });
        }
        None
    }

    /// Ends what is over and sends the heartbeats that are due.
    pub(crate) fn tick(&mut self, now: Instant, last: Floor, out: &mut Outbox) {
        self.expire(now, out);
        for request in &mut self.queue {
            if let Some((every, at)) = &mut request.heartbeat
                && *at <= now
            {
                *at = now + *every;
                out.publish(status::heartbeat(&request.reply, last, None));
            }
        }
        self.count_due();
    }

    /// Whether a request ends or hears from us by now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// There is no message left: requests that do not wait are over.
    pub(crate) fn end_of_stream(&mut self, out: &mut Outbox) {
        self.queue.retain(|request| {
            let over = request.no_wait && (request.expires.is_none() || request.delivered > 0);
            if over {
                out.publish(status::status(&request.reply, "404 No Messages"));
            }
            !over
        });
    }

    /// Drops the requests of those who are gone.
    pub(crate) fn drop_gone(&mut self, reach: &Listens<'_>) {
        self.queue.retain(|request| reach.anybody(&request.reply));
    }

    /// Ends every request with one status; `counted`: with what it still wanted.
    pub(crate) fn end_all(&mut self, text: &str, counted: bool, out: &mut Outbox) {
        for request in self.queue.drain(..) {
            out.publish(if counted {
                request.unfinished(text)
            } else {
                status::status(&request.reply, text)
            });
        }
    }

    /// Ends what had its time.
    pub(crate) fn expire(&mut self, now: Instant, out: &mut Outbox) {
        self.queue.retain(|request| {
            let over = request.is_over(now);
            if over {
                out.publish(request.timeout());
            }
            !over
        });
        self.count_due();
    }
}

impl Request {
    /// When something is due by itself.
    fn due(&self) -> Option<Instant> {
        let heartbeat = self.heartbeat.map(|(_, at)| at);
        self.expires.into_iter().chain(heartbeat).min()
    }

    fn is_over(&self, now: Instant) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }

    fn timeout(&self) -> MessageBuf {
        self.unfinished("408 Request Timeout")
    }

    fn unfinished(&self, text: &str) -> MessageBuf {
        status::unfinished(&self.reply, text, self.left, self.bytes_left)
    }

    /// Counts a message; what is left of the request, when this one was its last.
    fn serve(&mut self, now: Instant, size: i64) -> Option<Unused> {
        self.delivered += 1;
        self.left = self.left.saturating_sub(1);
        if self.limited {
            self.bytes_left -= size;
            if self.bytes_left == 0 {
                self.left = 0;
            }
        }
        if let Some((every, at)) = &mut self.heartbeat {
            *at = now + *every;
        }
        let is_last = self.left <= 0 && self.limited && self.bytes_left > 0;
        is_last.then_some(Unused {
            messages: self.left,
            bytes: self.bytes_left,
        })
    }

    /// Gives its client the pin, if that is the verdict; returns the group.
    fn pin(&mut self, verdict: Verdict, rule: Rule<'_>) -> Option<Box<str>> {
        let (Verdict::Pin, Rule::PinNext(id), Some(standing)) = (verdict, rule, &mut self.standing)
        else {
            return None;
        };
        id.clone_into(&mut standing.id);
        Some(standing.group.as_str().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_due_before_it_is_looked_at_whoever_came_and_went() {
        let mut rng = frond_clock::Rng::seeded(7);
        let (mut waiting, mut out) = (Waiting::new(200), Outbox::default());
        let mut now = Instant::START;
        for _ in 0..5_000 {
            let time = |rng: &mut frond_clock::Rng| (rng.below(40) * 1_000_000).cast_signed();
            let request = PullRequest {
                batch: 1,
                expires: time(&mut rng),
                max_bytes: 0,
                no_wait: rng.below(4) == 0,
                idle_heartbeat: time(&mut rng),
                standing: None,
            };
            match rng.below(6) {
                0 => {
                    waiting.queue.pop_front();
                }
                1 => waiting.end_of_stream(&mut out),
                _ => {
                    waiting.push(now, "I", request, Order::Arrival);
                }
            }
            let exact = waiting.queue.iter().filter_map(Request::due).min();
            let told = waiting.deadline();
            assert!(exact.is_none() || told.is_some_and(|told| Some(told) <= exact));
            now = now + Duration::from_millis(rng.below(3));
            if waiting.is_due(now) {
                waiting.tick(now, Floor::default(), &mut out);
                let later = waiting.deadline();
                assert!(
                    later.is_none_or(|later| later > now),
                    "{later:?} at {now:?}"
                );
            }
        }
    }
}
