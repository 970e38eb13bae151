//! Certificates and keys from files, with the words Go has for what is wrong with them.

use std::path::Path;
use std::sync::Arc;

use frond_config::Tls;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore};

use super::cert::Certificate;
use crate::ocsp::{self, Staple};
use crate::options::plain;

/// A certificate with its key, and the names it is for.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) key: Arc<CertifiedKey>,
    pub(crate) leaf: Certificate,
    /// With what it is shown.
    pub(crate) staple: Option<Arc<Staple>>,
}

impl Pair {
    /// As it is shown now; `None`: it must not be.
    fn shown(&self) -> Option<Arc<CertifiedKey>> {
        match &self.staple {
            Some(staple) => staple.shown(),
            None => Some(Arc::clone(&self.key)),
        }
    }
}

/// Picks the certificate for whom a client asks: the first that it can check and that bears the
/// name, else the first that it can check, else the first.
///
/// spec: Go crypto/tls `Config.getCertificate`
#[derive(Debug)]
pub(crate) struct Choice(Vec<Pair>);

impl ResolvesServerCert for Choice {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        let can = |pair: &&Pair| pair.key.key.choose_scheme(schemes).is_some();
        let named = |pair: &&Pair| {
            hello
                .server_name()
                .is_none_or(|name| pair.leaf.is_for(name))
        };
        let pairs = || self.0.iter();
        let found = pairs()
            .filter(can)
            .find(named)
            .or_else(|| pairs().find(can));
        found.or_else(|| pairs().next())?.shown()
    }
}

/// The pairs a block names.
///
/// # Errors
/// In Go's words, without the place.
pub(crate) fn pairs(tls: &Tls, provider: &CryptoProvider) -> Result<Vec<Pair>, String> {
    let all = tls.certs.len();
    let read = |(nth, files): (usize, &frond_config::CertFiles)| {
        let nth = tls.is_list.then(|| format!(" {}/{all}", nth + 1));
        let nth = nth.unwrap_or_default();
        let named = |why| format!("error parsing X509 certificate/key pair{nth}: {why}");
        pair(&files.cert_file, &files.key_file, provider).map_err(named)
    };
    tls.certs.iter().enumerate().map(read).collect()
}

/// Whether the first certificate of a block is to be shown with an answer about it.
pub(crate) fn is_stapled(tls: &Tls, ocsp: Option<&frond_config::Ocsp>) -> bool {
    let file = tls.certs.first().map(|files| files.cert_file.as_str());
    let pem = file.and_then(|file| read(file).ok()).unwrap_or_default();
    let der = CertificateDer::from_pem_slice(&pem);
    let cert = der
        .as_ref()
        .ok()
        .and_then(|der| frond_ocsp::Cert::read(der));
    cert.is_some_and(|cert| ocsp::wanted(ocsp, cert.must_staple).is_some())
}

pub(crate) fn choice(pairs: Vec<Pair>) -> Arc<Choice> {
    Arc::new(Choice(pairs))
}

fn pair(cert_file: &str, key_file: &str, provider: &CryptoProvider) -> Result<Pair, String> {
    let (cert_pem, key_pem) = (read(cert_file)?, read(key_file)?);
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&cert_pem)
        .collect::<Result<_, _>>()
        .map_err(|_| NO_CERT_PEM)?;
    let leaf = chain.first().ok_or(NO_CERT_PEM)?;
    let leaf = Certificate::parse(leaf).ok_or("x509: malformed certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&key_pem)
        .map_err(|_| "tls: failed to find any PEM data in key input")?;
    let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| {
        if error == Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
            "tls: private key does not match public key".to_owned()
        } else {
            format!("tls: failed to parse private key: {error}")
        }
    })?;
    Ok(Pair {
        key: Arc::new(key),
        leaf,
        staple: None,
    })
}

/// Whom a block trusts: its `ca_file`, else whoever the system does.
///
/// # Errors
/// In Go's words, without the place.
pub(crate) fn roots(tls: &Tls) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    for der in root_certs(tls)? {
        // One that is no good must not keep the others from being used.
        let _ = store.add(der);
    }
    if store.is_empty() && tls.ca_file.is_some() {
        return Err(NO_ROOTS.to_owned());
    }
    Ok(store)
}

/// The certificates themselves.
///
/// # Errors
/// As [`roots`].
pub(crate) fn root_certs(tls: &Tls) -> Result<Vec<CertificateDer<'static>>, String> {
    let Some(path) = &tls.ca_file else {
        return Ok(rustls_native_certs::load_native_certs().certs);
    };
    let pem = read(path)?;
    let certs: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .filter_map(Result::ok)
        .collect();
    if certs.is_empty() {
        return Err(NO_ROOTS.to_owned());
    }
    Ok(certs)
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(Path::new(path)).map_err(|error| format!("open {path}: {}", plain(&error)))
}

const NO_CERT_PEM: &str = "tls: failed to find any PEM data in certificate input";
const NO_ROOTS: &str = "failed to parse root ca certificate";
