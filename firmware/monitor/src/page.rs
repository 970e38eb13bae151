/// An answer to an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The status code.
    pub status: u16,
    /// The content type. With [`JSON`] nats-server also sends `Access-Control-Allow-Origin: *`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

/// The content type of a document.
pub const JSON: &str = "application/json";

/// What the variables of a Go program come as.
pub(crate) const VARIABLES: &str = "application/json; charset=utf-8";

/// The text format of Prometheus.
pub(crate) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
/// The content type of a page for people.
pub const HTML: &str = "text/html; charset=utf-8";

impl Page {
    /// A document.
    pub(crate) const fn json(body: String) -> Self {
        Self {
            status: 200,
            content_type: JSON,
            body,
        }
    }

    /// What is wrong with the request.
    pub(crate) const fn refused(body: String) -> Self {
        Self {
            status: 400,
            content_type: TEXT,
            body,
        }
    }

    /// Plain text.
    pub(crate) fn text(body: String) -> Self {
        Self {
            status: 200,
            content_type: TEXT,
            body,
        }
    }

    /// There is no such document.
    pub(crate) fn missing(text: &str) -> Self {
        Self {
            status: 404,
            content_type: TEXT,
            body: text.to_owned(),
        }
    }
}
