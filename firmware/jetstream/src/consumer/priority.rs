//! Who of several pullers is served, and when.

use super::config::PriorityPolicy;
use super::pull::Standing;
use super::waiting::Order;

/// What decides whether a request is served, for one message.
// spec: ADR-42; nats-server v2.15.1 server/consumer.go nextWaiting
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule<'a> {
    /// Whoever asked first.
    InTurn,
    /// Some only when there is much to do: this much waits, with the message in hand, and this
    /// much is on the way.
    Overflow { pending: u64, on_the_way: u64 },
    /// One client alone: the one that has this pin.
    Pinned(&'a str),
    /// Nobody is pinned: whoever is served first gets this pin.
    PinNext(&'a str),
    /// The lowest number first, within a number in turn.
    ByNumber,
}

/// What becomes of the request at the head of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is served.
    Serve,
    /// It is served, and its client alone from now on.
    Pin,
    /// It stays, others go before it.
    Later,
    /// It is over: it names a pin that does not hold.
    WrongPin,
}

impl Rule<'_> {
    /// Where a request goes that wants more.
    pub(crate) const fn order(self) -> Order {
        match self {
            Self::InTurn | Self::Overflow { .. } | Self::Pinned(_) | Self::PinNext(_) => {
                Order::Arrival
            }
            Self::ByNumber => Order::Number,
        }
    }

    /// Judges a request by what it said; `None`: it was no document, so it said nothing.
    pub(crate) fn judge(self, standing: Option<&Standing>) -> Verdict {
        let id = standing.map_or("", |standing| standing.id.as_str());
        match (self, standing) {
            (Self::InTurn | Self::ByNumber, _) | (Self::Overflow { .. }, None) => Verdict::Serve,
            (
                Self::Overflow {
                    pending,
                    on_the_way,
                },
                Some(standing),
            ) => standing.judge_by_load(pending, on_the_way),
            (Self::Pinned(_), _) if id.is_empty() => Verdict::Later,
            (Self::Pinned(pin), _) if id == pin => Verdict::Serve,
            (Self::Pinned(_), _) => Verdict::WrongPin,
            (Self::PinNext(_), _) if !id.is_empty() => Verdict::WrongPin,
            (Self::PinNext(_), Some(standing)) if !standing.group.is_empty() => Verdict::Pin,
            // Without a group there is nothing to pin it to.
            (Self::PinNext(_), _) => Verdict::Serve,
        }
    }
}

impl Standing {
    fn judge_by_load(&self, pending: u64, on_the_way: u64) -> Verdict {
        let reached = |least: i64, count: u64| u64::try_from(least).is_ok_and(|n| n <= count);
        let (pending_min, ack_pending_min) = (self.min_pending.max(0), self.min_ack_pending.max(0));
        let has_bound = pending_min > 0 || ack_pending_min > 0;
        let much = (pending_min > 0 && reached(pending_min, pending))
            || (ack_pending_min > 0 && reached(ack_pending_min, on_the_way));
        if has_bound && !much {
            Verdict::Later
        } else {
            Verdict::Serve
        }
    }
}

/// The place of a request among others: those that said nothing come last.
pub(crate) fn number(standing: Option<&Standing>) -> i64 {
    standing.map_or(i64::MAX, |standing| standing.priority)
}

impl Standing {
    /// Whether the consumer's policy has a use for it.
    ///
    /// # Errors
    /// The text of the status.
    // spec: nats-server v2.15.1 server/consumer.go processNextMsgRequest
    pub(crate) fn check(&self, policy: PriorityPolicy, groups: &[String]) -> Result<(), String> {
        let refuse = |text: &str| Err(format!("400 Bad Request - {text}"));
        let overflow = self.min_pending != 0 || self.min_ack_pending != 0;
        if overflow && policy != PriorityPolicy::Overflow {
            return refuse("Not a Overflow Priority consumer");
        }
        if !self.id.is_empty() && policy != PriorityPolicy::PinnedClient {
            return refuse("Not a Pinned Client Priority consumer");
        }
        if !(0..=9).contains(&self.priority) {
            return refuse("Priority must be between 0 and 9");
        }
        if policy == PriorityPolicy::None {
            return Ok(());
        }
        if self.group.is_empty() {
            return refuse("Priority Group missing");
        }
        if !groups.contains(&self.group) {
            return refuse("Invalid Priority Group");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(id: &str, min_pending: i64, min_ack_pending: i64) -> Standing {
        Standing {
            group: "g".into(),
            id: id.into(),
            min_pending,
            min_ack_pending,
            priority: 0,
        }
    }

    #[test]
    fn one_bound_that_is_reached_is_enough() {
        let load = Rule::Overflow {
            pending: 5,
            on_the_way: 2,
        };
        for (min_pending, min_ack_pending, verdict) in [
            (0, 0, Verdict::Serve),
            (-1, 0, Verdict::Serve),
            (5, 0, Verdict::Serve),
            (6, 0, Verdict::Later),
            (0, 2, Verdict::Serve),
            (0, 3, Verdict::Later),
            (6, 3, Verdict::Later),
            (6, 2, Verdict::Serve),
            (5, 3, Verdict::Serve),
        ] {
            let asked = standing("", min_pending, min_ack_pending);
            assert_eq!(load.judge(Some(&asked)), verdict, "{asked:?}");
        }
        assert_eq!(load.judge(None), Verdict::Serve);
    }

    #[test]
    fn a_pin_holds_for_one() {
        for (rule, id, verdict) in [
            (Rule::Pinned("p"), "p", Verdict::Serve),
            (Rule::Pinned("p"), "", Verdict::Later),
            (Rule::Pinned("p"), "q", Verdict::WrongPin),
            (Rule::PinNext("p"), "", Verdict::Pin),
            (Rule::PinNext("p"), "p", Verdict::WrongPin),
        ] {
            assert_eq!(rule.judge(Some(&standing(id, 0, 0))), verdict, "{rule:?}");
        }
        assert_eq!(Rule::PinNext("p").judge(None), Verdict::Serve);
        assert_eq!(Rule::Pinned("p").judge(None), Verdict::Later);
    }
}
