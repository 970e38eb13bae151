use std::cmp::Reverse;
use std::time::Duration;

use frond_clock::Timestamp;

use super::State;
use crate::query::Refusal;
use crate::rows::Connection;

/// What connections are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Cid,
    Subs,
    Pending,
    OutMsgs,
    InMsgs,
    OutBytes,
    InBytes,
    Last,
    Idle,
    Uptime,
    Stop,
    Reason,
    Rtt,
}

impl Sort {
    /// spec: nats-server v2.15.1 server/monitor_sort_opts.go
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        Ok(match text {
            "" | "cid" | "start" => Self::Cid,
            "subs" => Self::Subs,
            "pending" => Self::Pending,
            "msgs_to" => Self::OutMsgs,
            "msgs_from" => Self::InMsgs,
            "bytes_to" => Self::OutBytes,
            "bytes_from" => Self::InBytes,
            "last" => Self::Last,
            "idle" => Self::Idle,
            "uptime" => Self::Uptime,
            "stop" => Self::Stop,
            "reason" => Self::Reason,
            "rtt" => Self::Rtt,
            other => return Err(Refusal(format!("invalid sorting option: {other}"))),
        })
    }

    /// Only what is closed has a time and a reason of its end.
    pub(crate) fn check(self, state: State) -> Result<(), Refusal> {
        let name = match self {
            Self::Stop => "stop",
            Self::Reason => "reason",
            Self::Cid
            | Self::Subs
            | Self::Pending
            | Self::OutMsgs
            | Self::InMsgs
            | Self::OutBytes
            | Self::InBytes
            | Self::Last
            | Self::Idle
            | Self::Uptime
            | Self::Rtt => return Ok(()),
        };
        match state {
            State::Closed => Ok(()),
            State::Open | State::Any | State::Neither => Err(Refusal(format!(
                "sort by {name} only valid on closed connections"
            ))),
        }
    }
}

/// The most of everything comes first, except by number, uptime and reason; among equals the
/// older one.
pub(crate) fn sort(rows: &mut [Connection], by: Sort, now: Timestamp) {
    rows.sort_by_key(|row| row.cid);
    match by {
        Sort::Cid => {}
        Sort::Subs => rows.sort_by_key(|row| Reverse(row.subscriptions)),
        Sort::Pending => rows.sort_by_key(|row| Reverse(row.pending_bytes)),
        Sort::OutMsgs => rows.sort_by_key(|row| Reverse(row.traffic.out_msgs)),
        Sort::InMsgs => rows.sort_by_key(|row| Reverse(row.traffic.in_msgs)),
        Sort::OutBytes => rows.sort_by_key(|row| Reverse(row.traffic.out_bytes)),
        Sort::InBytes => rows.sort_by_key(|row| Reverse(row.traffic.in_bytes)),
        Sort::Last => rows.sort_by_key(|row| Reverse(row.last_activity)),
        Sort::Idle => rows.sort_by_key(|row| row.last_activity),
        Sort::Uptime => rows.sort_by_key(|row| lifetime(row, now)),
        Sort::Stop => rows.sort_by_key(|row| Reverse(row.end.as_ref().map(|(stop, _)| *stop))),
        Sort::Reason => {
            rows.sort_by(|a, b| {
                a.end
                    .as_ref()
                    .map(|end| &end.1)
                    .cmp(&b.end.as_ref().map(|end| &end.1))
            });
        }
        Sort::Rtt => rows.sort_by_key(|row| Reverse(row.rtt)),
    }
}

fn lifetime(row: &Connection, now: Timestamp) -> Duration {
    row.end
        .as_ref()
        .map_or(now, |(stop, _)| *stop)
        .since(row.start)
}
