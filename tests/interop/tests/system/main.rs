//! The system account, monitoring, traces, and the field reports of one server.

mod field_reports;
mod monitoring;
mod monitoring_http;
mod monitoring_tools;
mod system;
mod system_cli;
mod tracing;
