//! The broker driven with bytes in and bytes out.

mod bad_input;
mod delivery;
mod gone;
mod line_trace;
mod links;
mod log_lines;
mod memory;
mod msgtrace;
mod passed_on;
mod permissions;
mod plain_link;
mod refusals;
mod reload;
mod sessions;
mod sharing;
mod transcript;
mod turns;
mod websockets;
mod world;
