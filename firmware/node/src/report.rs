/// A document that the system account was asked for. The node does not render it: it wishes for
/// it with [`crate::Output::Report`] and gets it with [`crate::Input::Reported`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// The part of the subject after `$SYS.REQ.` that counts: `CONNZ`, `ACCOUNT.A.CONNZ`.
    pub what: String,
    /// The request's body: a JSON object, or empty.
    pub options: Vec<u8>,
}

/// Why there is no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportError {
    /// The request is not for this server: nobody gets an answer.
    Silence,
    /// It can't be had.
    Refused {
        /// 400: the options can't be read; 500: they ask for what isn't there.
        code: u16,
        /// In nats-server's words.
        description: String,
    },
}

impl ReportRequest {
    /// The figures of the server's heartbeat.
    pub const STATSZ: &str = "STATSZ";
}
