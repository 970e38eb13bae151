use std::sync::Arc;
use std::time::Duration;

use frond_clock::{Instant, Now};
use frond_wire::MessageBuf;

use super::config::{AckPolicy, ConsumerConfig};
use super::machine::{Consumer, Mode};
use super::progress::Floor;
use super::scene::{Listens, Scene};
use super::status;
use super::window::Window;

/// What a push consumer knows of its receiver.
#[derive(Debug)]
pub(super) struct Push {
    subject: Arc<str>,
    /// The queue group that receives; empty: none.
    group: Box<str>,
    /// Whether somebody listens; nobody knows before the first look.
    bound: Option<bool>,
    heartbeat: Option<(Duration, Instant)>,
    window: Option<Window>,
    /// When somebody listened last.
    unbound_since: Instant,
}

impl Push {
    pub(super) fn new(now: Instant, config: &ConsumerConfig) -> Self {
        let every = u64::try_from(config.idle_heartbeat).unwrap_or(0);
        let every = Duration::from_nanos(every);
        Self {
            subject: config.deliver_subject.as_str().into(),
            group: config.deliver_group.as_str().into(),
            bound: None,
            heartbeat: (!every.is_zero()).then(|| (every, now + every)),
            window: config.flow_control.then(Window::new),
            unbound_since: now,
        }
    }

    pub(super) fn subject(&self) -> Arc<str> {
        Arc::clone(&self.subject)
    }

    pub(super) fn may_send(&self) -> bool {
        self.is_bound() && self.window.as_ref().is_none_or(Window::is_open)
    }

    /// Whether somebody listens.
    pub(super) fn is_bound(&self) -> bool {
        self.bound == Some(true)
    }

    /// Since when nobody listens.
    pub(super) fn unbound_since(&self) -> Option<Instant> {
        (!self.is_bound()).then_some(self.unbound_since)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.heartbeat.map(|(_, at)| at)
    }

    /// Another receiver.
    pub(super) fn redirect(&mut self, subject: &str, group: &str) {
        self.subject = subject.into();
        self.group = group.into();
        self.bound = None;
    }

    fn look(&mut self, now: Instant, listens: &Listens<'_>) {
        let bound = listens.receiver(&self.subject, &self.group);
        if !bound && self.bound != Some(false) {
            self.unbound_since = now;
        }
        self.bound = Some(bound);
    }
}

impl Consumer {
    /// Forgets the pull requests that nobody listens for any more: call it before
    /// [`Consumer::info`] counts them.
    pub(crate) fn drop_gone(&mut self, listens: &Listens<'_>) {
        if let Mode::Pull(waiting) = &mut self.mode {
            waiting.drop_gone(listens);
        }
    }

    /// The first look for a receiver: call it before [`Consumer::info`] shows a consumer that is
    /// new or has another one.
    pub(crate) fn look_for_receiver(&mut self, now: Now, listens: &Listens<'_>) {
        if let Mode::Push(push) = &mut self.mode
            && push.bound.is_none()
        {
            push.look(now.mono, listens);
        }
    }

    /// The subject it delivers to by itself.
    pub(crate) fn pushes_to(&self) -> Option<&str> {
        match &self.mode {
            Mode::Pull(_) => None,
            Mode::Push(push) => Some(&push.subject),
        }
    }

    /// Somebody came or left.
    pub(super) fn interest_changed(&mut self, scene: &Scene<'_>, filter: &str) {
        match &mut self.mode {
            // Who is gone is looked at when there is a message to give.
            Mode::Pull(_) => {}
            Mode::Push(push) => {
                if frond_subject::matches(filter, &push.subject) {
                    push.look(scene.mono(), scene.listens);
                }
            }
        }
    }

    /// The first look, and the heartbeat that is due.
    pub(super) fn tick_push(&mut self, scene: &Scene<'_>) {
        self.look_for_receiver(scene.now, scene.listens);
        let last = self.progress.last();
        let Mode::Push(push) = &mut self.mode else {
            return;
        };
        let Some((every, at)) = &mut push.heartbeat else {
            return;
        };
        if *at > scene.mono() {
            return;
        }
        *at = scene.mono() + *every;
        if push.is_bound() && !self.pace.is_untold {
            let stalled = push.window.as_ref().and_then(Window::asked);
            self.out
                .publish(status::heartbeat(&push.subject, last, stalled));
            self.ask_while_acks_are_missing();
        }
    }

    /// Counts a message that was sent, with the subject it went to.
    // spec: nats-server v2.15.1 server/consumer.go deliverMsg, server/stream.go jsPubMsg.size
    pub(super) fn sent(&mut self, scene: &Scene<'_>, size: usize) {
        let full = self.acks_by_flow() && self.is_full();
        let Mode::Push(push) = &mut self.mode else {
            return;
        };
        if let Some((every, at)) = &mut push.heartbeat {
            *at = scene.mono() + *every;
        }
        if let Some(window) = &mut push.window {
            let half = window.sent(size as u64);
            if half || (full && window.asked().is_none()) {
                self.ask();
            }
        }
    }

    /// An answer to our question: the window moves on.
    pub(super) fn on_flow_control(&mut self, scene: &Scene<'_>, message: &MessageBuf) {
        let Mode::Push(push) = &mut self.mode else {
            return;
        };
        let Some(window) = &mut push.window else {
            return;
        };
        if !window.answered(message.subject()) || !self.acks_by_flow() {
            return;
        }
        let header = message.header();
        let value = |name: &str| number(header, name).unwrap_or(0);
        let upto = Floor {
            delivery: value("Nats-Last-Consumer"),
            stream: value("Nats-Last-Stream"),
        };
        if upto.stream > 0 {
            self.acked_at = Some(scene.now.wall);
            self.acked_upto(upto);
        }
    }

    fn acks_by_flow(&self) -> bool {
        self.config.ack_policy == AckPolicy::FlowControl
    }

    fn ask_while_acks_are_missing(&mut self) {
        let missing = self.acks_by_flow() && !self.progress.pending.is_empty();
        let Mode::Push(push) = &self.mode else {
            return;
        };
        if missing && push.window.as_ref().is_some_and(|w| w.asked().is_none()) {
            self.ask();
        }
    }

    fn ask(&mut self) {
        let Mode::Push(push) = &mut self.mode else {
            return;
        };
        if let Some(window) = &mut push.window {
            let answer = window.ask(&self.stream.name, &self.name, &mut self.rng);
            self.out
                .publish(status::flow_control(&push.subject, &answer));
        }
    }
}

/// A number among headers.
fn number(header: &[u8], name: &str) -> Option<u64> {
    let text = core::str::from_utf8(header).ok()?;
    text.split("\r\n").find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name)
            .then(|| value.trim().parse().ok())?
    })
}
