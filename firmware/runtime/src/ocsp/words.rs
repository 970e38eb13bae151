//! How nats-server names certificates and times.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64;
use frond_clock::Timestamp;
use frond_node::CertInfo;
use frond_ocsp::Cert;
use sha2::{Digest, Sha256};

use super::proof::name;

/// By what the cache knows a certificate.
pub(super) fn fingerprint(cert: &Cert<'_>) -> String {
    BASE64.encode(&Sha256::digest(cert.whole))
}

/// As events show it.
pub(super) fn info(cert: &Cert<'_>) -> CertInfo {
    CertInfo {
        subject: name(cert.subject),
        issuer: name(cert.issuer),
        fingerprint: fingerprint(cert),
        raw: BASE64.encode(cert.whole),
    }
}

/// Nanoseconds since 1970, by the system.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.unwrap_or_default().as_nanos();
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// A moment as RFC 3339 text; none is Go's zero.
pub(super) fn moment(ns: Option<i64>) -> String {
    ns.map_or_else(
        || "0001-01-01T00:00:00Z".to_owned(),
        |ns| Timestamp::from_nanos(ns).to_string(),
    )
}

/// As Go prints a duration, in whole seconds.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        (..) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_moments_are_printed_as_go_does() {
        let of = |seconds| span(Duration::from_secs(seconds));
        assert_eq!([of(59), of(61), of(86_400)], ["59s", "1m1s", "24h0m0s"]);
        assert_eq!(moment(None), "0001-01-01T00:00:00Z");
        assert_eq!(moment(Some(1_000_000_000)), "1970-01-01T00:00:01Z");
    }
}
