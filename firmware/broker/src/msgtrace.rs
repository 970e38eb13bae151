//! What becomes of a message on its way, told to whoever asked with `Nats-Trace-Dest` or
//! `traceparent`.
//! spec: nats-server v2.15.1 server/msgtrace.go; ADR-41

use std::borrow::Cow;
use std::collections::BTreeMap;

use frond_account::AccountId;
use frond_subject::is_literal;
use frond_wire::{Headers, Message, headers};

use crate::deliver::Delivery;
use crate::interest::SubId;
use crate::links::Scope;
use crate::publish::Origin;
use crate::subscribe::permissions;
use crate::trace_headers::is_sampled;
use crate::{
    Broker, Level, LinkId, LinkKind, Output, Sent, TraceEvent, TraceMark, TracePeer, TraceReport,
    TraceStep,
};

/// The message that is on its way now, if it is traced.
#[derive(Debug)]
pub(crate) struct Tracing {
    report: Box<TraceReport>,
    /// The account it came in.
    account: String,
    /// Where other servers report to.
    dest: String,
    /// The way to this server.
    hop: String,
    /// Whether nobody gets it.
    only: bool,
}

impl Broker {
    /// Looks for headers that ask for a trace, and starts it; [`Broker::finish_trace`] must
    /// follow. The header block to go on with; `None` when the message goes nowhere.
    pub(crate) fn begin_trace<'m>(
        &mut self,
        origin: Origin,
        account: AccountId,
        message: &Message<'m>,
    ) -> Option<Cow<'m, [u8]>> {
        let go_on = Some(Cow::Borrowed(message.header));
        let Some(asked) = Asked::read(message.header) else {
            return go_on;
        };
        let only = asked.only();
        if let Some(value) = asked.first(ORIGIN_ACCOUNT).filter(|_| !asked.external) {
            let text = format!(
                "Message tracing disabled because of header \"{ORIGIN_ACCOUNT}\" with value={value:?}"
            );
            self.log_origin(origin, &text);
            return (!only).then(|| Cow::Owned(untraced(message.header)));
        }
        let dest = if asked.external {
            let known = self.directory.account(account)?;
            let Some(plan) = &known.plan.msg_trace else {
                return go_on;
            };
            let (dest, percent) = (plan.subject.clone(), u64::from(plan.sampling));
            let draws = matches!(origin, Origin::Client { .. }) && (1..100).contains(&percent);
            // One more than asked for, as nats-server draws.
            if draws && self.rng.below(100) > percent {
                return Some(Cow::Owned(untraced(message.header)));
            }
            dest
        } else {
            asked.first(DEST)?.to_owned()
        };
        if !is_literal(&dest) {
            let text = format!("Destination {dest:?} is not valid, won't be able to trace events");
            self.log_origin(origin, &text);
            return go_on.filter(|_| !only);
        }
        if !self.may_trace_to(origin, account, &dest) {
            return None;
        }
        self.tracing = Some(self.new_trace(origin, account, message, asked, dest));
        go_on
    }

    fn new_trace(
        &self,
        origin: Origin,
        account: AccountId,
        message: &Message<'_>,
        asked: Asked,
        dest: String,
    ) -> Box<Tracing> {
        let hop = match origin {
            Origin::Link(_) => asked.first(HOP).unwrap_or_default().to_owned(),
            Origin::Client { .. } | Origin::Internal => String::new(),
        };
        let name = self.name_of(account);
        let ingress = TraceStep::Ingress {
            peer: self.trace_peer(origin),
            account: name.clone(),
            subject: message.subject.to_owned(),
            error: None,
        };
        Box::new(Tracing {
            only: asked.only(),
            report: Box::new(TraceReport {
                account,
                subject: dest.clone(),
                header: asked.header,
                bytes: message.body_bytes(),
                hops: 0,
                events: vec![TraceEvent {
                    at: self.now.wall,
                    step: ingress,
                }],
            }),
            account: name,
            dest,
            hop,
        })
    }

    /// Whether the sender may publish where the trace goes; it is told if not.
    fn may_trace_to(&mut self, origin: Origin, account: AccountId, dest: &str) -> bool {
        let reserved = dest.starts_with("_GR_.")
            || dest.starts_with("$NRG.") && account != self.directory.system_account();
        let Origin::Client { slot, .. } = origin else {
            return !reserved;
        };
        let session = self.conns.get_mut(slot).and_then(|c| c.session_mut());
        let access = session.and_then(|session| session.access.as_mut());
        let allowed = !reserved && access.is_none_or(|access| access.may_publish(dest));
        if !allowed {
            self.publish_violation(slot, "to", dest);
        }
        allowed
    }

    /// The way of the message is over.
    pub(crate) fn finish_trace(&mut self) {
        if let Some(tracing) = self.tracing.take() {
            self.outputs.push_back(Output::Traced(tracing.report));
        }
    }

    pub(crate) fn trace_step(&mut self, step: TraceStep) {
        let at = self.now.wall;
        if let Some(tracing) = &mut self.tracing {
            tracing.report.events.push(TraceEvent { at, step });
        }
    }

    /// How large the message says it is.
    pub(crate) fn trace_size(&mut self, bytes: usize) {
        if let Some(tracing) = &mut self.tracing {
            tracing.report.bytes = bytes;
        }
    }

    /// The message isn't let in.
    pub(crate) fn trace_refusal(&mut self, text: &str) {
        let events = self.tracing.as_mut().map(|one| &mut one.report.events);
        if let Some(TraceStep::Ingress { error, .. }) = events
            .and_then(|events| events.first_mut())
            .map(|event| &mut event.step)
        {
            *error = Some(text.to_owned());
        }
    }

    /// What the trace has on a delivery to a subscription of this server itself.
    pub(crate) fn trace_internal(&mut self) -> Option<TraceMark> {
        let tracing = self.tracing.as_ref()?;
        let mark = TraceMark {
            index: tracing.report.events.len(),
            only: tracing.only,
        };
        self.trace_step(TraceStep::Internal);
        Some(mark)
    }

    /// Tells of a delivery to a client; the outcome if nothing is to be delivered.
    pub(crate) fn trace_to_client(
        &mut self,
        id: SubId,
        slot: u32,
        delivery: &Delivery<'_>,
    ) -> Option<bool> {
        let only = self.tracing.as_ref()?.only;
        let sub = self.subs.get(id)?;
        let session = self.conns.get(slot)?.session()?;
        let (subject, queue) = (delivery.shown.subject, sub.queue.as_deref());
        let denied =
            sub.filtered && permissions(session).is_some_and(|p| !p.may_receive(subject, queue));
        let error = if delivery.publication.origin == (Origin::Client { slot, echo: false }) {
            NO_ECHO
        } else if denied {
            SUBSCRIPTION_DENIES
        } else if !only && sub.max > 0 && sub.delivered >= sub.max {
            AUTO_UNSUBSCRIBED
        } else {
            ""
        };
        let step = TraceStep::Egress {
            peer: self.trace_peer(Origin::Client { slot, echo: true }),
            hop: String::new(),
            account: self.account_elsewhere(session.account),
            filter: sub.filter.to_string(),
            queue: sub.queue.as_deref().unwrap_or_default().to_owned(),
            error,
        };
        self.trace_step(step);
        match error {
            "" => only.then_some(true),
            _ => Some(false),
        }
    }

    /// Numbers the way to another server; the header that tells it.
    pub(crate) fn trace_hop(&mut self, header: &[u8]) -> Vec<u8> {
        let mut header = header.to_vec();
        if let Some(tracing) = &mut self.tracing {
            tracing.report.hops += 1;
            headers::set(&mut header, HOP, &tracing.next_hop());
        }
        header
    }

    /// Tells of a delivery to another server, after [`Broker::trace_hop`].
    pub(crate) fn trace_to_link(&mut self, link: LinkId, origin: Origin, sent: Sent) {
        let Some(bound) = self.links.get(&link).and_then(|link| link.bound.as_ref()) else {
            return;
        };
        let comes_from_there = match origin {
            Origin::Link(from) => bound.cluster.is_some() && self.cluster_of(from) == bound.cluster,
            Origin::Client { .. } | Origin::Internal => false,
        };
        let account = match bound.scope {
            Scope::One(account) => self.account_elsewhere(account),
            Scope::All => String::new(),
        };
        let Some(tracing) = &mut self.tracing else {
            return;
        };
        let error = match sent {
            Sent::Sent => "",
            Sent::Withheld if comes_from_there => {
                tracing.report.hops -= 1;
                return;
            }
            Sent::Withheld => PUBLISH_DENIED,
        };
        let hop = tracing.next_hop();
        let step = TraceStep::Egress {
            peer: self.trace_peer(Origin::Link(link)),
            hop,
            account,
            filter: String::new(),
            queue: String::new(),
            error,
        };
        self.trace_step(step);
    }

    pub(crate) fn traces_only(&self) -> bool {
        self.tracing.as_ref().is_some_and(|one| one.only)
    }

    /// Servers the message went to so far.
    pub(crate) fn traced_hops(&self) -> u32 {
        self.tracing.as_ref().map_or(0, |one| one.report.hops)
    }

    /// Another subject for the reports of other servers; the one before.
    pub(crate) fn retarget_trace(&mut self, dest: String) -> String {
        match &mut self.tracing {
            Some(tracing) => core::mem::replace(&mut tracing.dest, dest),
            None => String::new(),
        }
    }

    pub(crate) fn trace_dest(&self) -> Option<&str> {
        self.tracing.as_ref().map(|one| &*one.dest)
    }

    fn account_elsewhere(&self, account: AccountId) -> String {
        let name = self.name_of(account);
        let entered = self.tracing.as_ref().map(|one| &*one.account);
        if entered == Some(&*name) {
            String::new()
        } else {
            name
        }
    }

    fn trace_peer(&self, origin: Origin) -> TracePeer {
        match origin {
            Origin::Client { slot, .. } => {
                let connection = self.conns.get(slot);
                let options = connection
                    .and_then(|it| it.session())
                    .map(|it| &it.options.name);
                TracePeer {
                    kind: 0,
                    cid: connection.map_or(0, |connection| connection.conn.0),
                    name: options.cloned().unwrap_or_default(),
                }
            }
            Origin::Link(link) => {
                let link = self.links.get(&link);
                let connection = link
                    .and_then(|link| link.slot)
                    .and_then(|slot| self.conns.get(slot));
                let bound = link.and_then(|link| link.bound.as_ref());
                TracePeer {
                    kind: match link.map(|link| link.kind) {
                        Some(LinkKind::Route) => 1,
                        Some(LinkKind::Gateway) => 2,
                        Some(LinkKind::Leaf) | None => 4,
                    },
                    cid: connection.map_or(0, |connection| connection.conn.0),
                    name: bound.map_or_else(String::new, |bound| bound.peer.name.clone()),
                }
            }
            Origin::Internal => TracePeer::default(),
        }
    }

    fn log_origin(&mut self, origin: Origin, text: &str) {
        let slot = match origin {
            Origin::Client { slot, .. } => Some(slot),
            Origin::Link(link) => self.links.get(&link).and_then(|link| link.slot),
            Origin::Internal => None,
        };
        if let Some(slot) = slot {
            self.log_connection(slot, Level::Error, text);
        }
    }
}

impl Tracing {
    fn next_hop(&self) -> String {
        if self.hop.is_empty() {
            self.report.hops.to_string()
        } else {
            format!("{}.{}", self.hop, self.report.hops)
        }
    }
}

/// A message's headers, of which some ask for a trace.
struct Asked {
    header: BTreeMap<String, Vec<String>>,
    /// Whether only a `traceparent` asks.
    external: bool,
}

impl Asked {
    fn read(block: &[u8]) -> Option<Self> {
        if !names_a_trace(block) {
            return None;
        }
        let (mut by_name, mut by_context) = (false, false);
        for (key, value) in Headers::new(block).iter() {
            if key == DEST.as_bytes() {
                let value = value.trim_ascii();
                if value == DISABLED.as_bytes() {
                    return None;
                }
                by_name |= !value.is_empty();
            } else if key.eq_ignore_ascii_case(CONTEXT) {
                by_context |= is_sampled(&String::from_utf8_lossy(value.trim_ascii()));
            }
        }
        if !by_name && !by_context {
            return None;
        }
        let mut header = BTreeMap::new();
        for (key, value) in Headers::new(block).iter() {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let value = value.trim_ascii();
            if !(key.is_empty() || value.is_empty()) {
                let values: &mut Vec<_> = header.entry(text(key)).or_default();
                values.push(text(value));
            }
        }
        Some(Self {
            header,
            external: !by_name,
        })
    }

    fn first(&self, key: &str) -> Option<&str> {
        Some(self.header.get(key)?.first()?)
    }

    fn only(&self) -> bool {
        let value = self.first(ONLY).filter(|_| !self.external);
        value.is_some_and(|value| {
            ["1", "true", "on"]
                .iter()
                .any(|yes| value.eq_ignore_ascii_case(yes))
        })
    }
}

/// Whether some line begins as those do that ask for a trace: most messages have none, and a
/// header may be very long.
fn names_a_trace(block: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', block).any(|end| {
        let line = block.get(end + 1..).unwrap_or_default();
        let context = line.get(..CONTEXT.len()).unwrap_or_default();
        line.starts_with(DEST.as_bytes()) || context.eq_ignore_ascii_case(CONTEXT)
    })
}

/// A header block that starts no trace on any server.
pub(crate) fn untraced(header: &[u8]) -> Vec<u8> {
    redirected(header, DISABLED)
}

/// A header block whose trace goes to `dest`.
pub(crate) fn redirected(header: &[u8], dest: &str) -> Vec<u8> {
    let mut header = header.to_vec();
    headers::set(&mut header, DEST, dest);
    header
}

const DEST: &str = "Nats-Trace-Dest";
const CONTEXT: &[u8] = b"traceparent";
const ONLY: &str = "Nats-Trace-Only";
const HOP: &str = "Nats-Trace-Hop";
const ORIGIN_ACCOUNT: &str = "Nats-Trace-Origin-Account";
/// No subject.
const DISABLED: &str = "trace disabled";

const NO_ECHO: &str = "Not delivered because of no echo";
const PUBLISH_DENIED: &str = "Not delivered because publish denied for this subject";
const SUBSCRIPTION_DENIES: &str = "Not delivered because subscription denies this subject";
const AUTO_UNSUBSCRIBED: &str = "Not delivered because auto-unsubscribe exceeded";
