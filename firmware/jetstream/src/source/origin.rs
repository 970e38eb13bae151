use frond_subject::Transform;
use sha2::{Digest, Sha256};

use crate::stream::config::{StreamSource, SubjectTransform};

/// Characters of the names nats-server makes from a hash.
const HASH_LEN: usize = 8;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What the messages of another stream become here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The same messages under the same sequences.
    Mirror,
    /// New messages among others.
    Source,
}

/// Another stream, and which of its messages come here under which subjects.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) kind: Kind,
    pub(crate) config: StreamSource,
    renames: Vec<Rename>,
}

#[derive(Debug)]
struct Rename {
    from: Box<str>,
    to: Option<Transform>,
}

impl Origin {
    /// As configured.
    pub(crate) fn new(kind: Kind, config: StreamSource) -> Self {
        let rename = |t: &SubjectTransform| Rename {
            from: if t.src.is_empty() { ">" } else { &t.src }.into(),
            to: Transform::new(&t.src, &t.dest)
                .ok()
                .filter(|_| !t.dest.is_empty()),
        };
        Self {
            kind,
            renames: config.subject_transforms.iter().map(rename).collect(),
            config,
        }
    }

    /// The filters of the consumer that brings the messages; none: all messages.
    pub(crate) fn filters(&self) -> Vec<&str> {
        let one = Some(self.config.filter_subject.as_str()).filter(|f| !f.is_empty());
        one.into_iter()
            .chain(self.renames.iter().map(|rename| rename.from.as_ref()))
            .collect()
    }

    /// A subject of the origin's API: `CONSUMER.CREATE.…`.
    pub(crate) fn api(&self, rest: &str) -> String {
        let external = self.config.external.as_ref().map(|e| e.api.as_str());
        let prefix = external.filter(|api| !api.is_empty()).unwrap_or("$JS.API");
        format!("{prefix}.{rest}")
    }

    /// A subject for deliveries, of which nobody else knows.
    pub(crate) fn deliver_subject(&self, random: &str) -> String {
        let external = self.config.external.as_ref().map(|e| e.deliver.as_str());
        let prefix = external.filter(|d| !d.is_empty()).unwrap_or("$JS");
        match self.kind {
            Kind::Mirror => format!("{prefix}.M.{random}"),
            Kind::Source => format!("{prefix}.S.{random}"),
        }
    }

    /// The subject a message has here.
    pub(crate) fn renamed(&self, subject: &str, random: u64) -> Option<String> {
        let names = |rename: &&Rename| frond_subject::matches(&rename.from, subject);
        let rename = self.renames.iter().find(names)?;
        rename.to.as_ref()?.apply(subject, random)
    }

    /// What tells this source from the others of its stream.
    ///
    /// spec: nats-server v2.15.1 server/stream.go `composeIName`
    pub(crate) fn index_name(&self) -> String {
        format!("{} {}", self.name(), self.filter_and_destination())
    }

    /// The value of `Nats-Stream-Source`.
    pub(crate) fn header(&self, seq: u64, subject: &str, identity: &str) -> String {
        let rest = self.filter_and_destination();
        let mut value = format!("{} {seq} {rest} {subject}", self.name());
        if !identity.is_empty() {
            value.push(' ');
            value.push_str(identity);
        }
        value
    }

    fn name(&self) -> String {
        let mut name = self.config.name.clone();
        if let Some(external) = &self.config.external {
            name.push(':');
            name.push_str(&hash(&external.api));
        }
        if let Some(consumer) = &self.config.consumer {
            name.push_str(":C=");
            name.push_str(&hash(&consumer.name));
        }
        name
    }

    fn filter_and_destination(&self) -> String {
        if self.renames.is_empty() {
            let filter = self.config.filter_subject.as_str();
            let filter = if filter.is_empty() { ">" } else { filter };
            return format!("{filter} >");
        }
        let mut sources = Vec::new();
        let mut destinations = Vec::new();
        for rename in &self.renames {
            sources.push(rename.from.as_ref());
            let to = rename.to.as_ref().map(Transform::destination);
            destinations.push(to.unwrap_or(">"));
        }
        format!("{} {}", sources.join("\u{c}"), destinations.join("\u{c}"))
    }
}

/// The short names nats-server makes of long ones.
///
/// spec: nats-server v2.15.1 server/util.go `getHash`
pub(crate) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let letter = |byte: &u8| {
        ALPHABET
            .get(usize::from(*byte) % 62)
            .copied()
            .map(char::from)
    };
    digest.iter().take(HASH_LEN).filter_map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::config::ExternalStream;

    fn orders() -> StreamSource {
        StreamSource {
            name: "ORDERS".into(),
            external: Some(ExternalStream {
                api: "$JS.shop-1.API".into(),
                deliver: String::new(),
            }),
            ..StreamSource::default()
        }
    }

    #[test]
    fn headers_are_those_of_nats_server() {
        let whole = Origin::new(Kind::Source, orders());
        assert_eq!(
            whole.header(1, "orders.0", "udm485Cd"),
            "ORDERS:vCSic1A5 1 > > orders.0 udm485Cd"
        );
        let filtered = Origin::new(
            Kind::Source,
            StreamSource {
                filter_subject: "orders.1".into(),
                ..orders()
            },
        );
        assert_eq!(
            filtered.header(2, "orders.1", "udm485Cd"),
            "ORDERS:vCSic1A5 2 orders.1 > orders.1 udm485Cd"
        );
        let near = StreamSource {
            external: None,
            name: "ALL".into(),
            ..orders()
        };
        let near = Origin::new(Kind::Source, near);
        assert_eq!(near.header(2, "orders.1", ""), "ALL 2 > > orders.1");
    }

    #[test]
    fn the_first_rename_that_fits_counts() {
        let pair = |src: &str, dest: &str| SubjectTransform {
            src: src.into(),
            dest: dest.into(),
        };
        let origin = Origin::new(
            Kind::Source,
            StreamSource {
                subject_transforms: vec![pair("orders.1", "o.one"), pair("orders.2", "")],
                ..orders()
            },
        );
        assert_eq!(
            origin.header(2, "orders.1", "udm485Cd"),
            "ORDERS:vCSic1A5 2 orders.1\u{c}orders.2 o.one\u{c}> orders.1 udm485Cd"
        );
        assert_eq!(origin.filters(), ["orders.1", "orders.2"]);
        assert_eq!(origin.renamed("orders.1", 0).as_deref(), Some("o.one"));
        assert_eq!(origin.renamed("orders.2", 0), None);
    }
}
