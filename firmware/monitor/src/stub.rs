use std::collections::BTreeMap;

use frond_node::View;

/// A document and how to send it.
#[derive(Debug)]
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// MIME type.
    pub content_type: &'static str,
    /// The document.
    pub body: String,
}

/// What a node can't know of its process.
#[derive(Debug)]
pub struct Process<'a> {
    /// Memory in use, in bytes.
    pub resident_bytes: u64,
    /// Processor use, in percent of one core.
    pub cpu_percent: f64,
    /// Cores the process may use.
    pub cores: usize,
    /// Requests answered so far, by path.
    pub http_req_stats: &'a BTreeMap<String, u64>,
    /// What the store did, when there is one.
    pub disk: Option<DiskCounts>,
}

/// What the store did since it was opened.
#[derive(Clone, Copy, Debug)]
pub struct DiskCounts {
    /// Syncs of the journal.
    pub syncs: u64,
    /// Bytes the journal wrote.
    pub journal_bytes: u64,
    /// Frames written.
    pub frames: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Bytes not yet folded.
    pub unfolded_bytes: u64,
    /// Messages made safe.
    pub messages: u64,
}

/// The document at a path; none yet.
#[must_use]
pub fn render(_: &View<'_>, _: &str, _: &str, _: &Process<'_>) -> Option<Page> {
    None
}

/// The name a request is counted by; none yet.
#[must_use]
pub fn counted_as(_: &str) -> Option<&'static str> {
    None
}
