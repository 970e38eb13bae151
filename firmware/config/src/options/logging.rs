use crate::report::{Report, set};
use crate::value::Value;

/// What is logged, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The log file; `None` is standard error.
    pub file: Option<String>,
    /// Size in bytes at which the file is rotated; `None` never.
    pub size_limit: Option<u64>,
    /// How many files rotation keeps, the current one included; `None` keeps all.
    pub max_num: Option<u64>,
    /// To the system's log, unless there is a file.
    pub syslog: bool,
    /// To the system's log at this URL, unless there is a file.
    pub remote_syslog: Option<String>,
    /// Lines carry the time.
    pub time: bool,
    /// The time is UTC, not local.
    pub time_utc: bool,
    /// Debug lines.
    pub debug: bool,
    /// Protocol trace lines.
    pub trace: bool,
    /// Trace the system account too.
    pub trace_verbose: bool,
    /// Trace headers only.
    pub trace_headers: bool,
    /// Bytes of a message that a trace line shows; `None` all.
    pub max_traced_msg_len: Option<u64>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            file: None,
            size_limit: None,
            max_num: None,
            syslog: false,
            remote_syslog: None,
            time: true,
            time_utc: false,
            debug: false,
            trace: false,
            trace_verbose: false,
            trace_headers: false,
            max_traced_msg_len: None,
        }
    }
}

impl Log {
    /// Reads a top-level option; false if it is not one of logging.
    pub(crate) fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "debug" => set(&mut self.debug, report.boolean(value)),
            "trace" => set(&mut self.trace, report.boolean(value)),
            "trace_verbose" => {
                set(&mut self.trace_verbose, report.boolean(value));
                self.trace = self.trace_verbose;
            }
            "trace_headers" => {
                set(&mut self.trace_headers, report.boolean(value));
                self.trace = self.trace_headers;
            }
            "logtime" => set(&mut self.time, report.boolean(value)),
            "logtime_utc" => set(&mut self.time_utc, report.boolean(value)),
            "logfile" | "log_file" => set(&mut self.file, report.text(value)),
            "syslog" => set(&mut self.syslog, report.boolean(value)),
            "remote_syslog" => set(&mut self.remote_syslog, report.text(value)),
            "logfile_size_limit" | "log_size_limit" => {
                set(&mut self.size_limit, report.limit(value));
            }
            "logfile_max_num" | "log_max_num" => set(&mut self.max_num, report.limit(value)),
            "max_traced_msg_len" => set(&mut self.max_traced_msg_len, report.limit(value)),
            _ => return false,
        }
        true
    }
}
