/// How far a probe goes, and what becomes of its answers.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) subject: String,
    path: Path,
}

/// The way of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Published, stored, read back.
    Stored,
    /// Published and received: there are no streams.
    Passed,
}

/// What a probe needs next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It was stored as this sequence: read it back.
    Read(u64, u64),
    /// It came back whole.
    Returned(u64),
    /// Nothing to do.
    Nothing,
    /// Nobody stored it: the stream is gone.
    Missing,
}

impl Probe {
    /// `token` is no other box's: probes of one are of no matter to the others.
    pub(crate) fn new(prefix: &str, token: &str, has_streams: bool) -> Self {
        Self {
            subject: format!("{prefix}.probe.{token}"),
            path: if has_streams {
                Path::Stored
            } else {
                Path::Passed
            },
        }
    }

    pub(crate) fn is_stored(&self) -> bool {
        self.path == Path::Stored
    }

    pub(crate) fn payload(n: u64) -> Vec<u8> {
        format!("probe {n}").into_bytes()
    }

    /// There are no streams here after all.
    pub(crate) fn no_streams(&mut self) {
        self.path = Path::Passed;
    }

    /// The ack of the probe of that number.
    pub(crate) fn acked(&self, n: u64, is_unanswered: bool, payload: &[u8]) -> Next {
        if is_unanswered {
            return Next::Missing;
        }
        let json: Option<serde_json::Value> = serde_json::from_slice(payload).ok();
        match json.and_then(|json| json.get("seq")?.as_u64()) {
            Some(seq) => Next::Read(n, seq),
            // It was refused: the path is not sound, and nothing is fed.
            None => Next::Nothing,
        }
    }

    /// What was read back for the probe of that number; another may have taken its place since.
    pub(crate) fn read(n: u64, payload: &[u8]) -> Next {
        if payload == Self::payload(n) {
            Next::Returned(n)
        } else {
            Next::Nothing
        }
    }

    /// A probe was received, where none is stored.
    pub(crate) fn received(&self, payload: &[u8]) -> Next {
        let text = std::str::from_utf8(payload).ok();
        let n = text.and_then(|text| text.strip_prefix("probe ")?.parse().ok());
        match n {
            Some(n) if self.path == Path::Passed => Next::Returned(n),
            Some(_) | None => Next::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_stored_and_read_back_counts() {
        let probe = Probe::new("appliance", "x", true);
        assert_eq!(probe.received(b"probe 1"), Next::Nothing);
        assert_eq!(probe.acked(1, true, b""), Next::Missing);
        let ack = b"{\"stream\":\"FROND_PROBE\",\"seq\":9}";
        assert_eq!(probe.acked(1, false, ack), Next::Read(1, 9));
        assert_eq!(
            probe.acked(2, false, b"{\"error\":{\"code\":503}}"),
            Next::Nothing
        );
        assert_eq!(Probe::read(1, b"probe 1"), Next::Returned(1));
        assert_eq!(Probe::read(1, b"probe 2"), Next::Nothing);
        assert_eq!(Probe::read(1, b""), Next::Nothing);
    }

    #[test]
    fn without_streams_what_was_received_counts() {
        let mut probe = Probe::new("appliance", "x", true);
        probe.no_streams();
        assert!(!probe.is_stored());
        assert_eq!(probe.received(b"probe 2"), Next::Returned(2));
        assert_eq!(probe.received(b"hello"), Next::Nothing);
    }
}
