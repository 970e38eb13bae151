//! Whose certificates are good, and by what time that is judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore,
    SignatureScheme,
};

use super::cert::Certificate;
use crate::limits::CERT_TOLERANCE;
use crate::ocsp::{Extra, Refusal};

/// By what time certificates are judged: the system's, or, while that one is before a moment that
/// is certainly past, any time from then on within [`CERT_TOLERANCE`].
#[derive(Debug, Default)]
pub(crate) struct Season {
    /// Seconds since 1970; 0: the system's time is trusted.
    floor_seconds: AtomicI64,
}

impl Season {
    /// The system's time is not to be believed: it is later than this.
    pub(crate) fn distrust(&self, floor_seconds: i64) {
        self.floor_seconds.store(floor_seconds, Ordering::Relaxed);
    }

    /// It is to be believed.
    pub(crate) fn trust(&self) {
        self.floor_seconds.store(0, Ordering::Relaxed);
    }

    /// The time to judge this chain by.
    ///
    /// While time is untrusted that is the earliest one, not before the floor, at which all of it
    /// is valid already; a certificate that ended before the floor is expired in any case.
    fn judge_by(&self, now: UnixTime, chain: &[&CertificateDer<'_>]) -> Result<UnixTime, Error> {
        let floor = self.floor_seconds.load(Ordering::Relaxed);
        if floor <= 0 {
            return Ok(now);
        }
        let starts = chain
            .iter()
            .filter_map(|der| Certificate::parse(der))
            .map(|cert| cert.not_before_ns.div_euclid(1_000_000_000));
        let earliest = starts.fold(floor, i64::max);
        let latest = floor.saturating_add_unsigned(CERT_TOLERANCE.as_secs());
        if earliest > latest {
            return Err(Error::InvalidCertificate(CertificateError::NotValidYet));
        }
        let seconds = u64::try_from(earliest).unwrap_or(0);
        Ok(UnixTime::since_unix_epoch(std::time::Duration::from_secs(
            seconds,
        )))
    }
}

/// How far a peer's certificate is checked.
#[derive(Debug)]
enum Check<V: ?Sized> {
    /// Up to one of the roots.
    Chain(Arc<V>),
    /// Not at all (`insecure`).
    Nothing,
    /// Nobody can be trusted: there are no roots.
    Nobody,
}

/// Checks the certificates of servers.
#[derive(Debug)]
pub(crate) struct ServerTrust {
    check: Check<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    season: Arc<Season>,
    provider: Arc<CryptoProvider>,
    extra: Option<Extra>,
}

/// Checks the certificates of clients.
#[derive(Debug)]
pub(crate) struct ClientTrust {
    inner: Arc<dyn ClientCertVerifier>,
    roots: Vec<CertificateDer<'static>>,
    season: Arc<Season>,
    extra: Option<Extra>,
}

impl ServerTrust {
    /// Trusts what leads up to `roots`.
    ///
    /// # Errors
    /// When there are none.
    pub(crate) fn new(
        roots: Vec<CertificateDer<'static>>,
        store: RootCertStore,
        season: Arc<Season>,
        provider: Arc<CryptoProvider>,
        extra: Option<Extra>,
    ) -> Result<Arc<Self>, String> {
        if store.is_empty() {
            return Ok(Arc::new(Self {
                check: Check::Nobody,
                roots,
                season,
                provider,
                extra,
            }));
        }
        let store = Arc::new(store);
        let inner = WebPkiServerVerifier::builder_with_provider(store, Arc::clone(&provider))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            check: Check::Chain(inner),
            roots,
            season,
            provider,
            extra,
        }))
    }

    /// Trusts anybody.
    pub(crate) fn nothing(
        season: Arc<Season>,
        provider: Arc<CryptoProvider>,
        extra: Option<Extra>,
    ) -> Arc<Self> {
        Arc::new(Self {
            check: Check::Nothing,
            roots: Vec::new(),
            season,
            provider,
            extra,
        })
    }
}

impl ServerCertVerifier for ServerTrust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let inner = match &self.check {
            Check::Chain(inner) => inner,
            // Without a chain there is nothing to ask about.
            Check::Nothing if self.extra.is_some() => return Err(nobody()),
            Check::Nothing => return Ok(ServerCertVerified::assertion()),
            Check::Nobody => {
                return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
            }
        };
        let now = self
            .season
            .judge_by(now, &chain(end_entity, intermediates))?;
        let verdict =
            inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if is_root(&self.roots, end_entity) =>
            {
                own_root(end_entity, now)?;
                let cert = Certificate::parse(end_entity);
                let name = server_name.to_str();
                if cert.is_some_and(|cert| cert.is_for(&name)) {
                    judge(
                        self.extra.as_ref(),
                        end_entity,
                        intermediates,
                        Some(ocsp_response),
                    )?;
                    Ok(ServerCertVerified::assertion())
                } else {
                    Err(Error::InvalidCertificate(CertificateError::NotValidForName))
                }
            }
            verdict => {
                let verified = verdict.map_err(stranger)?;
                judge(
                    self.extra.as_ref(),
                    end_entity,
                    intermediates,
                    Some(ocsp_response),
                )?;
                Ok(verified)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl ClientTrust {
    /// Asks for a certificate that leads up to `roots`.
    ///
    /// # Errors
    /// When there are none.
    pub(crate) fn new(
        roots: Vec<CertificateDer<'static>>,
        store: RootCertStore,
        season: Arc<Season>,
        provider: Arc<CryptoProvider>,
        extra: Option<Extra>,
    ) -> Result<Arc<Self>, String> {
        let inner = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(Self {
            inner,
            roots,
            season,
            extra,
        }))
    }
}

impl ClientCertVerifier for ClientTrust {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let now = self
            .season
            .judge_by(now, &chain(end_entity, intermediates))?;
        match self
            .inner
            .verify_client_cert(end_entity, intermediates, now)
        {
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if is_root(&self.roots, end_entity) =>
            {
                own_root(end_entity, now)?;
                judge(self.extra.as_ref(), end_entity, intermediates, None)?;
                Ok(ClientCertVerified::assertion())
            }
            verdict => {
                let verified = verdict.map_err(stranger)?;
                judge(self.extra.as_ref(), end_entity, intermediates, None)?;
                Ok(verified)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// What is asked of a peer besides its chain.
fn judge(
    extra: Option<&Extra>,
    cert: &CertificateDer<'_>,
    shown: &[CertificateDer<'_>],
    staple: Option<&[u8]>,
) -> Result<(), Error> {
    extra.map_or(Ok(()), |extra| {
        extra.judge(cert, shown, staple).map_err(refused)
    })
}

/// An authority that is called like a known one and did not sign with its key is an unknown one:
/// the peer shall hear that, and not that its own messages could not be read.
// spec: Go crypto/tls handshake_server.go processCertsFromClient; crypto/x509 verify.go
fn stranger(error: Error) -> Error {
    #[expect(clippy::wildcard_enum_match_arm, reason = "rustls's enum is open")]
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            Error::InvalidCertificate(CertificateError::UnknownIssuer)
        }
        other => other,
    }
}

fn nobody() -> Error {
    tracing::error!("Peer certificate is nil, rejecting OCSP peer");
    refused(Refusal("server not OCSP valid".to_owned()))
}

fn refused(why: Refusal) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(why))))
}

fn chain<'a>(
    end_entity: &'a CertificateDer<'a>,
    intermediates: &'a [CertificateDer<'a>],
) -> Vec<&'a CertificateDer<'a>> {
    std::iter::once(end_entity).chain(intermediates).collect()
}

/// A certificate that signed itself and is named as root is good for Go; the verifier takes none
/// that is allowed to sign others.
fn is_root(roots: &[CertificateDer<'static>], der: &CertificateDer<'_>) -> bool {
    roots.iter().any(|root| root.as_ref() == der.as_ref())
}

fn own_root(der: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let cert = Certificate::parse(der);
    let cert = cert.ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let start = cert.not_before_ns.div_euclid(1_000_000_000);
    let end = cert.not_after_ns.div_euclid(1_000_000_000);
    if seconds < start {
        Err(Error::InvalidCertificate(CertificateError::NotValidYet))
    } else if seconds > end {
        Err(Error::InvalidCertificate(CertificateError::Expired))
    } else {
        Ok(())
    }
}
