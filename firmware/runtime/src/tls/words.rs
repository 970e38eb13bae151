//! Failures in the words of Go's crypto/tls: operators and their tools look for those in logs.
//! spec: Go crypto/tls alert.go, handshake_server.go `processCertsFromClient`; crypto/x509 verify.go

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use crate::ocsp::Refusal;

/// What became of a handshake.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what the library adds is told in its own words"
)]
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        Error::NoCertificatesPresented => "tls: client didn't provide a certificate".to_owned(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
                .to_owned()
        }
        Error::InvalidCertificate(CertificateError::Other(why)) if why.0.is::<Refusal>() => {
            why.0.to_string()
        }
        Error::AlertReceived(alert) => match of_alert(*alert) {
            Some(words) => format!("remote error: tls: {words}"),
            None => error.to_string(),
        },
        _ => error.to_string(),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "others are told in the library's words"
)]
const fn of_alert(alert: AlertDescription) -> Option<&'static str> {
    use AlertDescription as Alert;
    Some(match alert {
        Alert::CloseNotify => "close notify",
        Alert::UnexpectedMessage => "unexpected message",
        Alert::BadRecordMac => "bad record MAC",
        Alert::RecordOverflow => "record overflow",
        Alert::HandshakeFailure => "handshake failure",
        Alert::BadCertificate => "bad certificate",
        Alert::UnsupportedCertificate => "unsupported certificate",
        Alert::CertificateRevoked => "revoked certificate",
        Alert::CertificateExpired => "expired certificate",
        Alert::CertificateUnknown => "unknown certificate",
        Alert::IllegalParameter => "illegal parameter",
        Alert::UnknownCA => "unknown certificate authority",
        Alert::AccessDenied => "access denied",
        Alert::DecodeError => "error decoding message",
        Alert::DecryptError => "error decrypting message",
        Alert::ProtocolVersion => "protocol version not supported",
        Alert::InsufficientSecurity => "insufficient security level",
        Alert::InternalError => "internal error",
        Alert::InappropriateFallback => "inappropriate fallback",
        Alert::UserCanceled => "user canceled",
        Alert::NoRenegotiation => "no renegotiation",
        Alert::MissingExtension => "missing extension",
        Alert::UnsupportedExtension => "unsupported extension",
        Alert::UnrecognisedName => "unrecognized name",
        Alert::BadCertificateStatusResponse => "bad certificate status response",
        Alert::CertificateRequired => "certificate required",
        Alert::NoApplicationProtocol => "no application protocol",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_in_the_words_that_logs_are_searched_for() {
        for (error, words) in [
            (
                Error::AlertReceived(AlertDescription::UnknownCA),
                "remote error: tls: unknown certificate authority",
            ),
            (
                Error::NoCertificatesPresented,
                "tls: client didn't provide a certificate",
            ),
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            ),
        ] {
            assert_eq!(of(&error), words);
        }
    }
}
