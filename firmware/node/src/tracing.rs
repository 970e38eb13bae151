//! Traced messages, told to whoever asked.
//! spec: nats-server v2.15.1 server/msgtrace.go `MsgTraceEvent`, `sendEvent`

use std::collections::BTreeMap;

use frond_broker::{TraceEvent, TraceMark, TracePeer, TraceReport, TraceStep};
use frond_clock::Now;
use frond_jetstream::{SubId, Trial};
use frond_wire::{Message, MessageBuf, go_json, headers};
use serde::Serialize;

use crate::Node;
use crate::system::packing::Packing;
use crate::system::server_info::{ServerInfo, When};

/// What the streams say about a message whose trace is still to be told.
#[derive(Debug)]
pub(crate) struct Kept {
    index: usize,
    trial: Trial,
}

#[derive(Serialize)]
struct Report<'a> {
    server: ServerInfo,
    request: Request<'a>,
    #[serde(skip_serializing_if = "is_zero")]
    hops: u32,
    events: Vec<Event<'a>>,
}

#[derive(Serialize)]
struct Request<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    header: &'a BTreeMap<String, Vec<String>>,
    msgsize: usize,
}

#[derive(Serialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    ts: When,
    #[serde(flatten)]
    step: Step<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Step<'a> {
    Ingress {
        #[serde(flatten)]
        peer: Peer<'a>,
        acc: &'a str,
        subj: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
    Mapped {
        to: &'a str,
    },
    StreamExport {
        acc: &'a str,
        to: &'a str,
    },
    ServiceImport {
        acc: &'a str,
        from: &'a str,
        to: &'a str,
    },
    Stream {
        stream: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        subject: &'a str,
        #[serde(skip_serializing_if = "is_false")]
        nointerest: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    },
    Egress {
        #[serde(flatten)]
        peer: Peer<'a>,
        #[serde(skip_serializing_if = "str::is_empty")]
        hop: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        acc: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        sub: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        queue: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        error: &'a str,
    },
}

#[derive(Serialize)]
struct Peer<'a> {
    kind: u8,
    cid: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

impl Node {
    /// A traced message for a stream: what the stream makes of it is kept for the trace. The
    /// message to go on with; `None` when it is only traced.
    pub(crate) fn traced_for_stream(
        &mut self,
        id: u64,
        message: MessageBuf,
        mark: TraceMark,
    ) -> Option<MessageBuf> {
        let streams = self.streams.as_mut();
        let trial = streams.and_then(|streams| streams.machine.try_on(SubId(id), &message));
        let Some(trial) = trial else {
            return Some(message);
        };
        let index = mark.index;
        self.traced.push(Kept { index, trial });
        if mark.only {
            return None;
        }
        let view = message.message();
        // Its deliveries to consumers are messages of their own.
        let mut header = view.header.to_vec();
        headers::set(&mut header, "Nats-Trace-Dest", "trace disabled");
        Some(MessageBuf::copy_of(&Message {
            header: &header,
            ..view
        }))
    }

    /// The way of a traced message is over.
    pub(crate) fn tell_trace(&mut self, now: Now, report: &TraceReport) {
        let kept = core::mem::take(&mut self.traced);
        if self.system.is_none() {
            return;
        }
        let events = report.events.iter().enumerate();
        let events = events
            .filter_map(|(index, event)| {
                let kept = kept.iter().find(|kept| kept.index == index);
                Event::of(event, kept.map(|kept| &kept.trial))
            })
            .collect();
        let body = Report {
            server: self.told(now.wall),
            request: Request {
                header: &report.header,
                msgsize: report.bytes,
            },
            hops: report.hops,
            events,
        };
        let accepted = report.header.get("Accept-Encoding");
        let accepted = accepted.and_then(|values| values.first());
        let packing = accepted.map_or(Packing::Plain, |value| Packing::accepted(value));
        let mut header = Vec::new();
        if let Some(name) = packing.name() {
            headers::set(&mut header, "Content-Encoding", name);
        }
        if let Some(body) = packing.pack(go_json::to_vec(&body)) {
            self.send_bytes(now, report.account, &report.subject, &header, &body);
        }
    }
}

impl<'a> Event<'a> {
    /// Deliveries to this server itself are told only of streams.
    fn of(event: &'a TraceEvent, trial: Option<&'a Trial>) -> Option<Self> {
        let (kind, step) = match &event.step {
            TraceStep::Ingress {
                peer,
                account,
                subject,
                error,
            } => (
                "in",
                Step::Ingress {
                    peer: Peer::of(peer),
                    acc: account,
                    subj: subject,
                    error: error.as_deref(),
                },
            ),
            TraceStep::Mapped { to } => ("sm", Step::Mapped { to }),
            TraceStep::StreamExport { account, to } => {
                ("se", Step::StreamExport { acc: account, to })
            }
            TraceStep::ServiceImport { account, from, to } => (
                "si",
                Step::ServiceImport {
                    acc: account,
                    from,
                    to,
                },
            ),
            TraceStep::Internal => {
                let trial = trial?;
                let step = Step::Stream {
                    stream: &trial.stream,
                    subject: &trial.subject,
                    nointerest: trial.no_interest,
                    error: trial.error.as_deref(),
                };
                ("js", step)
            }
            TraceStep::Egress {
                peer,
                hop,
                account,
                filter,
                queue,
                error,
            } => (
                "eg",
                Step::Egress {
                    peer: Peer::of(peer),
                    hop,
                    acc: account,
                    sub: filter,
                    queue,
                    error,
                },
            ),
        };
        Some(Self {
            kind,
            ts: When(event.at),
            step,
        })
    }
}

impl<'a> Peer<'a> {
    fn of(peer: &'a TracePeer) -> Self {
        Self {
            kind: peer.kind,
            cid: peer.cid,
            name: &peer.name,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}
