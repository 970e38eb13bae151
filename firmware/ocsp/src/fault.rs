use thiserror::Error;

/// Why an answer is not believed, in the words of Go's reader.
///
/// spec: golang.org/x/crypto/ocsp `ParseResponseForCert`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It is no DER of an answer.
    #[error("asn1: structure error: malformed OCSP response")]
    Malformed,
    /// It goes on after its end.
    #[error("trailing data in OCSP response")]
    Trailing,
    /// The responder gives none.
    #[error("ocsp: error from server: {}", refusal(*.0))]
    Refused(u8),
    /// It is of a kind that is not known.
    #[error("bad OCSP response type")]
    Kind,
    /// It says nothing.
    #[error("OCSP response contains bad number of responses")]
    Empty,
    /// It is about other certificates.
    #[error("no response matching the supplied certificate")]
    Other,
    /// It does not say who answers.
    #[error("invalid responder id tag")]
    Responder,
    /// It brings no good certificate of who signed it.
    #[error("bad signature on embedded certificate")]
    Embedded,
    /// It is not signed by whom it has to be.
    #[error("bad OCSP signature")]
    Signature,
    /// It says more that has to be understood.
    #[error("unsupported critical extension")]
    Critical,
}

fn refusal(status: u8) -> String {
    match status {
        1 => "malformed".to_owned(),
        2 => "internal error".to_owned(),
        3 => "try later".to_owned(),
        5 => "signature required".to_owned(),
        6 => "unauthorized".to_owned(),
        other => format!("unknown OCSP status: {other}"),
    }
}
