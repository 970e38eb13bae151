//! Certificates and answers, checked with the algorithms that TLS has.

use frond_ocsp::der::{Der, SEQUENCE};
use frond_ocsp::{Cert, Signature};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;

use crate::limits::CERT_CHAIN_MAX;
use crate::tls::names;

/// Whether that key made the signature.
pub(super) fn is_good(it: Signature<'_>) -> bool {
    let algorithms = ring::default_provider().signature_verification_algorithms;
    let mut fitting = algorithms.all.iter().filter(|algorithm| {
        algorithm.public_key_alg_id().as_ref() == it.key_algorithm
            && algorithm.signature_alg_id().as_ref() == it.algorithm
    });
    fitting.any(|algorithm| {
        let verified = algorithm.verify_signature(it.key, it.message, it.signature);
        verified.is_ok()
    })
}

/// The way from a certificate up to a root, itself first, over those a peer showed.
pub(super) fn chain<'a>(
    cert: &'a CertificateDer<'a>,
    shown: &'a [CertificateDer<'a>],
    roots: &'a [CertificateDer<'static>],
) -> Vec<Cert<'a>> {
    let read = |der: &'a CertificateDer<'a>| Cert::read(der.as_ref());
    let known: Vec<Cert<'a>> = shown.iter().chain(roots).filter_map(read).collect();
    let mut chain: Vec<Cert<'a>> = read(cert).into_iter().collect();
    while let Some(last) = chain.last()
        && chain.len() < CERT_CHAIN_MAX
        && last.issuer != last.subject
    {
        let issuer = known.iter().find(|one| last.is_signed_by(one, &is_good));
        match issuer {
            Some(issuer) => chain.push(issuer.clone()),
            None => break,
        }
    }
    chain
}

/// Who signed it, of those.
pub(super) fn issuer_of<'a>(
    cert: &Cert<'_>,
    known: &'a [CertificateDer<'static>],
) -> Option<Cert<'a>> {
    let mut known = known.iter().filter_map(|der| Cert::read(der.as_ref()));
    known.find(|one| cert.is_signed_by(one, &is_good))
}

/// A name in DER as Go prints it.
pub(super) fn name(der: &[u8]) -> String {
    let sequence = Der::new(der).tagged(SEQUENCE);
    sequence.map_or_else(String::new, |name| {
        names::go_subject(&names::parts(name.inside()))
    })
}
