//! What clients meet: libraries, the command-line tool, raw bytes good and bad.

mod abuse;
mod bad_input;
mod cli;
mod clients;
mod drop_in;
mod options;
mod proxy_protocol;
mod python;
mod requests;
mod schemas;
mod story;
mod user_info;
