//! Consumers: a position in a stream, what was delivered and what was acknowledged.
//!
//! A consumer sees its stream through [`Messages`] and knows nobody else: who listens is told
//! with each input. It is asked for deliveries and acks in terms of the protocol and answers
//! with messages to publish, bodies to fetch and progress to save.

mod ack;
mod acking;
mod advisory;
mod backlog;
mod backup;
mod config;
mod delivery;
mod duration;
mod idle;
mod info;
mod io;
mod limits;
mod machine;
mod memory;
mod outbox;
mod pausing;
mod pinning;
mod priority;
mod progress;
mod pull;
mod pulling;
mod pushing;
mod rate;
mod read_ahead;
mod redelivering;
mod redelivery;
mod saving;
mod scene;
mod start;
mod state;
mod status;
mod update;
mod waiting;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use backup::{config_of, state_of};
pub(crate) use config::{
    AckPolicy, ConsumerConfig, ConsumerLimits, CreateRequest, Retention, ServerLimits, StreamFacts,
    admit_change, admit_new, is_group_name, same, write_time,
};
pub(crate) use duration::{go_duration, parse_go_duration};
pub(crate) use info::ConsumerInfo;
pub(crate) use io::{
    Cause, ConsumerInput, ConsumerOutput, Gone, MessageHead, Messages, Resident, Saving,
};
pub(crate) use machine::{Consumer, Ending};
pub(crate) use pausing::text_or_zero;
pub(crate) use progress::Progress;
pub(crate) use scene::Listening;
