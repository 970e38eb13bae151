//! Links that are wrong on purpose: the world has to notice each of them.

use frond_broker::{InterestChange, Link, LinkStatus, LinkVerdict, Sent, Upcalls, Via};
use frond_clock::{Instant, Now};
use frond_leaf::Solicit;
use frond_wire::{Message, Op, encode};

/// Which link the leaf has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The real one.
    Sound,
    /// Sends back what it receives.
    Echoing,
    /// Tells its interest only on its first connection.
    Forgetful,
    /// Never dials again.
    Resting,
    /// Sends what it may not.
    Leaky,
    /// Delivers each message twice when it has a reply.
    Stuttering,
}

impl Variant {
    pub(super) fn wrap(self, link: Solicit) -> Box<dyn Link> {
        match self {
            Self::Sound => Box::new(link),
            Self::Echoing | Self::Forgetful | Self::Resting | Self::Leaky | Self::Stuttering => {
                Box::new(Broken {
                    variant: self,
                    link,
                    connections: 0,
                })
            }
        }
    }
}

#[derive(Debug)]
struct Broken {
    variant: Variant,
    link: Solicit,
    connections: u32,
}

impl Link for Broken {
    fn opened(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.connections += 1;
        self.link.opened(now, up);
    }

    fn heard(&mut self, now: Now) {
        self.link.heard(now);
    }

    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        let before = up.out().len();
        self.link.on_op(now, op, up);
        if self.variant == Variant::Forgetful && self.connections > 1 {
            let told = String::from_utf8_lossy(&up.out()[before..]).into_owned();
            let kept = told
                .split_inclusive('\n')
                .filter(|line| !line.starts_with("LS+"));
            let kept: String = kept.collect();
            up.out().truncate(before);
            up.out().extend_from_slice(kept.as_bytes());
        }
        if let Op::LeafMessage { message, queues } = op {
            match self.variant {
                Variant::Echoing => encode::leaf_msg(up.out(), message, &[]),
                Variant::Stuttering => self.link.on_op(
                    now,
                    &Op::LeafMessage {
                        message: *message,
                        queues: queues.clone(),
                    },
                    up,
                ),
                Variant::Sound | Variant::Forgetful | Variant::Resting | Variant::Leaky => {}
            }
        }
    }

    fn on_garbage(&mut self, now: Now, err_text: Option<&str>, why: &str, up: &mut dyn Upcalls) {
        self.link.on_garbage(now, err_text, why, up);
    }

    fn authenticated(&mut self, now: Now, verdict: LinkVerdict, up: &mut dyn Upcalls) {
        self.link.authenticated(now, verdict, up);
    }

    fn interest(&mut self, now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        self.link.interest(now, change, up);
    }

    fn deliver(
        &mut self,
        now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        if self.variant == Variant::Leaky {
            encode::leaf_msg(out, message, via.queues);
            return Sent::Sent;
        }
        self.link.deliver(now, message, via, out)
    }

    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls) {
        self.link.closed(now, cause, up);
    }

    fn deadline(&self) -> Option<Instant> {
        let rests = self.variant == Variant::Resting && self.connections > 0;
        if rests && self.link.status().state == "waiting" {
            return None;
        }
        self.link.deadline()
    }

    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.link.on_time(now, up);
    }

    fn status(&self) -> LinkStatus {
        self.link.status()
    }
}
