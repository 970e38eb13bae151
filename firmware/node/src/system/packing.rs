//! How the body of an answer travels.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use frond_wire::Headers;
use snap::write::FrameEncoder;

/// How an answer is packed.
///
/// spec: nats-server v2.15.1 server/events.go `getAcceptEncoding`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// It wasn't asked about.
    Plain,
    /// Something unknown was asked for: plain, and said so.
    Identity,
    /// In Snappy's frames.
    Snappy,
    /// As a gzip file.
    Gzip,
}

impl Packing {
    /// What a request's header asks for.
    pub(crate) fn wanted(header: &[u8]) -> Self {
        Self::accepted(Headers::new(header).get("Accept-Encoding").unwrap_or(""))
    }

    /// What a value of `Accept-Encoding` asks for.
    pub(crate) fn accepted(value: &str) -> Self {
        let accepted = value.to_ascii_lowercase();
        if accepted.is_empty() {
            Self::Plain
        } else if accepted.contains("snappy") || accepted.contains("s2") {
            Self::Snappy
        } else if accepted.contains("gzip") {
            Self::Gzip
        } else {
            Self::Identity
        }
    }

    /// What the answer's header calls it.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Identity => Some("identity"),
            Self::Snappy => Some("snappy"),
            Self::Gzip => Some("gzip"),
        }
    }

    /// The body as it travels; `None` when the library fails, which writing to memory doesn't.
    pub(crate) fn pack(self, body: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Plain | Self::Identity => Some(body),
            Self::Snappy => {
                let mut frames = FrameEncoder::new(Vec::new());
                frames.write_all(&body).ok()?;
                frames.into_inner().ok()
            }
            Self::Gzip => {
                let mut file = GzEncoder::new(Vec::new(), Compression::default());
                file.write_all(&body).ok()?;
                file.finish().ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::Packing;

    fn wanted(value: &str) -> Packing {
        Packing::wanted(format!("NATS/1.0\r\nAccept-Encoding: {value}\r\n\r\n").as_bytes())
    }

    #[test]
    fn snappy_goes_before_gzip_before_nothing() {
        assert_eq!(wanted("gzip, S2"), Packing::Snappy);
        assert_eq!(wanted("GZIP"), Packing::Gzip);
        assert_eq!(wanted("br"), Packing::Identity);
        assert_eq!(wanted(""), Packing::Plain);
        assert_eq!(Packing::wanted(b""), Packing::Plain);
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let body = b"{\"server\":{}}".repeat(9000);
        let frames = Packing::Snappy.pack(body.clone()).unwrap();
        let mut got = Vec::new();
        let mut reader = snap::read::FrameDecoder::new(frames.as_slice());
        reader.read_to_end(&mut got).unwrap();
        assert!(got == body && frames.len() < body.len());
        let file = Packing::Gzip.pack(body.clone()).unwrap();
        got.clear();
        let mut reader = flate2::read::GzDecoder::new(file.as_slice());
        reader.read_to_end(&mut got).unwrap();
        assert!(got == body && file.len() < body.len());
    }
}
