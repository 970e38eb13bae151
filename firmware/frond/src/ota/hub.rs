//! What the hub's JetStream is asked, as subjects and JSON.

use frond_config::OtaSource;

/// Where requests to the hub's JetStream go.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    api: String,
    has_domain: bool,
}

impl Hub {
    pub(crate) fn new(source: &OtaSource) -> Self {
        let api = match &source.domain {
            Some(domain) => format!("$JS.{domain}.API"),
            None => "$JS.API".to_owned(),
        };
        Self {
            api,
            has_domain: source.domain.is_some(),
        }
    }

    /// A request of the API.
    pub(crate) fn api(&self, what: &str) -> String {
        format!("{}.{what}", self.api)
    }

    /// A key of a bucket, to be put.
    ///
    /// spec: nats-server v2.15.1 server/jetstream.go `generateJSMappingTable`
    pub(crate) fn key(&self, bucket: &str, key: &str) -> String {
        let subject = subject_of(bucket, key);
        if self.has_domain {
            format!("{}.{subject}", self.api)
        } else {
            subject
        }
    }
}

/// A key of a bucket, as its stream has it.
///
/// spec: ADR-8
pub(crate) fn subject_of(bucket: &str, key: &str) -> String {
    format!("$KV.{bucket}.{key}")
}

/// The code of an answer without a body: 503 is nobody, 100 is a sign of life.
pub(crate) fn status(header: &[u8]) -> Option<u16> {
    let line = header.strip_prefix(b"NATS/1.0 ")?;
    let code = std::str::from_utf8(line.get(..3)?).ok()?;
    code.parse().ok()
}

/// A header's value.
pub(crate) fn header(header: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(header).ok()?;
    text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?;
        Some(value.trim().to_owned())
    })
}
