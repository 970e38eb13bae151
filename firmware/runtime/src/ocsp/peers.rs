use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use frond_config::OcspPeer;
use frond_node::OcspNews;
use frond_ocsp::{Cert, Currency, Response, Status, request};
use rustls::pki_types::CertificateDer;

use super::ask::Method;
use super::cache::Cache;
use super::proof::{chain, is_good, name};
use super::words::{fingerprint, info, moment, now_ns};
use super::{Responders, Teller};

/// Asks about the certificates of peers while they shake hands; that waits for responders.
///
/// spec: nats-server v2.15.1 server/ocsp_peer.go
#[derive(Clone, Debug)]
pub(crate) struct PeerCheck {
    pub(crate) end: End,
    pub(crate) rules: OcspPeer,
    /// Whom the peer's certificate leads up to.
    pub(crate) roots: Vec<CertificateDer<'static>>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) responders: Arc<Responders>,
    pub(crate) teller: Teller,
}

/// Which end of the session the peer is, of what kind of connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It called us.
    Caller(&'static str),
    /// We called it.
    Called(&'static str),
}

/// What is asked of a peer besides a chain of certificates.
#[derive(Clone, Debug)]
pub(crate) enum Extra {
    /// Whether they are still good.
    Ask(PeerCheck),
    /// A staple; who called us cannot show one here, and is asked about.
    Staple(PeerCheck),
}

/// Why a peer is sent away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// A certificate about which can be asked.
struct Link<'c, 'a> {
    cert: &'c Cert<'a>,
    issuer: &'c Cert<'a>,
    urls: Vec<&'c str>,
}

impl Extra {
    /// Whether a peer with a good chain may come in; `staple` is what it showed, where it could.
    pub(crate) fn judge(
        &self,
        cert: &CertificateDer<'_>,
        shown: &[CertificateDer<'_>],
        staple: Option<&[u8]>,
    ) -> Result<(), Refusal> {
        match (self, staple) {
            (Self::Ask(check), _) => check.judge(cert, shown),
            (Self::Staple(check), Some(staple)) => {
                check.judge_staple(cert, shown, staple).map_err(Refusal)
            }
            (Self::Staple(check), None) => {
                let chain = chain(cert, shown, &check.roots);
                if links(&chain)
                    .first()
                    .is_none_or(|link| link.cert.whole != cert.as_ref())
                {
                    return Err(Refusal(format!(
                        "{} peer missing OCSP Staple",
                        check.end.kind()
                    )));
                }
                check.judge(cert, shown)
            }
        }
    }
}

impl End {
    const fn kind(self) -> &'static str {
        match self {
            Self::Caller(kind) | Self::Called(kind) => kind,
        }
    }
}

impl PeerCheck {
    fn judge(
        &self,
        cert: &CertificateDer<'_>,
        shown: &[CertificateDer<'_>],
    ) -> Result<(), Refusal> {
        let (side, reason) = match self.end {
            End::Caller(_) => ("client", "client not OCSP valid"),
            End::Called(_) => ("server", "server not OCSP valid"),
        };
        tracing::debug!("Peer OCSP enabled: 1 TLS {side} chain(s) will be evaluated");
        let chain = chain(cert, shown, &self.roots);
        if self.is_valid(&chain) {
            return Ok(());
        }
        if let Some(peer) = chain.first() {
            self.teller.tell_of(OcspNews::Rejected {
                kind: self.end.kind(),
                peer: info(peer),
                reason: reason.to_owned(),
            });
        }
        Err(Refusal(reason.to_owned()))
    }

    fn is_valid(&self, chain: &[Cert<'_>]) -> bool {
        let Some(peer) = chain.first() else {
            tracing::error!("Peer certificate is nil, rejecting OCSP peer");
            return false;
        };
        tracing::debug!("Chain [0]: {} total link(s)", chain.len());
        if chain.len() == 1 {
            tracing::debug!("Chain [0] is self-signed, thus peer is valid");
            return true;
        }
        let links = links(chain);
        if links.is_empty() {
            tracing::debug!("Chain [0] has no OCSP eligible links, thus peer is valid");
            return true;
        }
        tracing::debug!("Chain [0] has {} OCSP eligible link(s)", links.len());
        for link in links {
            if let Err(reason) = self.judge_link(&link) {
                tracing::debug!("{reason}");
                self.teller.tell_of(OcspNews::LinkInvalid {
                    link: info(link.cert),
                    peer: info(peer),
                    reason,
                });
                tracing::debug!("No OCSP valid chains, thus peer is invalid");
                return false;
            }
        }
        tracing::debug!("Chain [0] is OCSP valid for all eligible links, thus peer is valid");
        true
    }

    /// Whether one certificate is good, or as good as that by the rules.
    fn judge_link(&self, link: &Link<'_, '_>) -> Result<(), String> {
        let (key, subject) = (fingerprint(link.cert), name(link.cert.subject));
        tracing::debug!("Checking OCSP peer cache for [{subject}], key [{key}]");
        let (known, was_revoked) = self.look(link, &key, &subject);
        let status = match known {
            Some(status) => status,
            None => match self.ask(link, &key, &subject, was_revoked)? {
                Some(status) => status,
                None => return Ok(()),
            },
        };
        let is_good = match status {
            Status::Good => true,
            Status::Unknown => self.rules.unknown_is_good,
            Status::Revoked => false,
        };
        if is_good {
            tracing::debug!("OCSP verify pass for [{subject}]");
            return Ok(());
        }
        let status = status.name();
        tracing::warn!("OCSP verify fail for [{subject}] with CA status [{status}]");
        self.or_warn(&subject, format!("Invalid OCSP response status: {status}"))
    }

    /// What is kept of it, and whether that says that it was revoked, current or not.
    fn look(&self, link: &Link<'_, '_>, key: &str, subject: &str) -> (Option<Status>, bool) {
        let Some(bytes) = self.cache.get(key) else {
            return (None, false);
        };
        let response = Response::read(&bytes, link.cert, link.issuer, &is_good);
        let Some(response) = response.ok().filter(|it| it.is_authorized(link.issuer)) else {
            tracing::debug!(
                "Invalid cached OCSP response for [{subject}] with fingerprint [{key}]"
            );
            self.cache.delete(key);
            return (None, false);
        };
        let (status, was_revoked) = (response.status, response.status == Status::Revoked);
        if self.is_current(&response) {
            tracing::debug!(
                "Cached OCSP response is current, status [{}]",
                status.name()
            );
            return (Some(status), was_revoked);
        }
        tracing::debug!(
            "Cached OCSP response is expired, status [{}]",
            status.name()
        );
        self.cache.delete(key);
        (None, was_revoked)
    }

    /// What the responder says; `None`: nothing that can be used, and it may pass all the same.
    fn ask(
        &self,
        link: &Link<'_, '_>,
        key: &str,
        subject: &str,
        was_revoked: bool,
    ) -> Result<Option<Status>, String> {
        let bytes = match self.fetch(link) {
            Ok(bytes) => bytes,
            Err(why) => return self.unreachable(subject, &why, was_revoked).map(|()| None),
        };
        let response = match Response::read(&bytes, link.cert, link.issuer, &is_good) {
            Ok(response) => response,
            Err(why) => {
                tracing::error!("Could not parse OCSP CA response for [{subject}]: {why}");
                let reason = "Failed OCSP response parse".to_owned();
                return self.or_warn(subject, reason).map(|()| None);
            }
        };
        if !response.is_authorized(link.issuer) {
            let reason = format!("Invalid OCSP response delegation: {subject}");
            tracing::warn!("{reason}");
            return self.or_warn(subject, reason).map(|()| None);
        }
        if !self.is_current(&response) {
            tracing::warn!("New OCSP CA response obtained for [{subject}] but not current");
            let reason = "OCSP response not in effectivity window".to_owned();
            return self.or_warn(subject, reason).map(|()| None);
        }
        let told = (response.status, response.next_update_ns);
        self.cache.put(key, subject, told, &bytes);
        Ok(Some(response.status))
    }

    fn unreachable(&self, subject: &str, why: &str, was_revoked: bool) -> Result<(), String> {
        tracing::warn!(
            "Attempt to obtain OCSP response from CA responder for [{subject}] failed: {why}"
        );
        let reason = "Failed OCSP response fetch".to_owned();
        if self.rules.warn_only || !self.rules.allow_when_ca_unreachable {
            return self.or_warn(subject, reason);
        }
        let failed = format!(
            "Failed to obtain OCSP CA response for [{subject}] but AllowWhenCAUnreachable set"
        );
        if was_revoked {
            tracing::warn!("{failed}; cached revocation exists so rejecting");
            return Err(reason);
        }
        tracing::warn!("{failed}; no cached revocation so allowing");
        Ok(())
    }

    fn or_warn(&self, subject: &str, reason: String) -> Result<(), String> {
        if self.rules.warn_only {
            tracing::warn!("OCSP verify fail for [{subject}] but WarnOnly is true so allowing");
            Ok(())
        } else {
            Err(reason)
        }
    }

    fn fetch(&self, link: &Link<'_, '_>) -> Result<Vec<u8>, String> {
        let question = escaped(&BASE64.encode(&request(link.cert, link.issuer)));
        let timeout = match self.rules.timeout {
            Duration::ZERO => OcspPeer::default().timeout,
            timeout => timeout,
        };
        let mut last = "no available OCSP servers".to_owned();
        for url in &link.urls {
            tracing::debug!("Trying OCSP responder url [{url}]");
            let url = format!("{}/{question}", url.strip_suffix('/').unwrap_or(url));
            match self.responders.ask(&url, Method::Get, timeout) {
                Ok(answer) if answer.status == 200 => return Ok(answer.body),
                Ok(answer) => last = format!("bad OCSP responder http status: [{}]", answer.status),
                Err(why) => last = why,
            }
        }
        Err(format!("exhausted OCSP responders: {last}"))
    }

    fn is_current(&self, response: &Response<'_>) -> bool {
        let (skew, ttl) = (self.rules.clock_skew, self.rules.ttl_unset_next_update);
        let now = now_ns();
        let (what, at) = match response.currency(now, skew, ttl) {
            Currency::Current => return true,
            Currency::Expired(at) => ("NextUpdate", at),
            Currency::TtlExpired(at) => ("cache expiry", at),
            Currency::Future(at) => ("ThisUpdate", at),
        };
        let (at, now) = (moment(Some(at)), moment(Some(now)));
        tracing::debug!(
            "OCSP response {what} [{at}] is before now [{now}] with clockskew [{skew:?}]"
        );
        false
    }

    /// spec: nats-server v2.15.1 server/ocsp.go `NewOCSPMonitor`
    fn judge_staple(
        &self,
        cert: &CertificateDer<'_>,
        shown: &[CertificateDer<'_>],
        staple: &[u8],
    ) -> Result<(), String> {
        let kind = self.end.kind();
        if staple.is_empty() {
            return Err(format!("{kind} peer missing OCSP Staple"));
        }
        let chain = chain(cert, shown, &self.roots);
        let [leaf, issuer, ..] = chain.as_slice() else {
            return Err(format!("failed to get issuer certificate for {kind} peer"));
        };
        let response = Response::read(staple, leaf, issuer, &is_good)
            .map_err(|why| format!("failed to parse OCSP response from {kind} peer: {why}"))?;
        if !response.is_authorized(issuer) {
            let why = "OCSP staple's signer missing authorization by CA to act as OCSP signer";
            return Err(why.to_owned());
        }
        if !self.is_current(&response) {
            return Err(format!("OCSP staple from {kind} peer not current"));
        }
        match response.status {
            Status::Good => Ok(()),
            Status::Revoked | Status::Unknown => {
                let status = response.status.name();
                Err(format!(
                    "bad status for OCSP Staple from {kind} peer: {status}"
                ))
            }
        }
    }
}

/// Those of a chain that name a responder on the web, below the root.
fn links<'c, 'a>(chain: &'c [Cert<'a>]) -> Vec<Link<'c, 'a>> {
    let pairs = chain.iter().zip(chain.iter().skip(1));
    let links = pairs.map(|(cert, issuer)| {
        let urls = cert.responders.iter().map(String::as_str);
        let is_web = |url: &&str| url.starts_with("http://") || url.starts_with("https://");
        let urls = urls.filter(is_web).collect();
        Link { cert, issuer, urls }
    });
    links.filter(|link| !link.urls.is_empty()).collect()
}

/// Base64 as a part of a query.
fn escaped(base64: &str) -> String {
    let base64 = base64.replace('+', "%2B");
    base64.replace('/', "%2F").replace('=', "%3D")
}
