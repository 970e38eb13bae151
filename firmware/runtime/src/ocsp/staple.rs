use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use data_encoding::BASE64;
use frond_config::{Ocsp, OcspMode, Tls};
use frond_ocsp::{Cert, Response, Status, request};
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};

use super::ask::{Method, ask};
use super::cache::write;
use super::proof::{is_good, issuer_of, name};
use super::words::{moment, now_ns, span};
use super::{News, Teller};
use crate::limits::{
    OCSP_CHECK_EVERY, OCSP_CHECK_PAUSE_MIN, OCSP_STAPLE_TIMEOUT, THREAD_STACK_BYTES,
};
use crate::tls::hex;

/// A certificate of ours with the answer about it.
///
/// spec: nats-server v2.15.1 server/ocsp.go `OCSPMonitor`
#[derive(Debug)]
pub(crate) struct Staple {
    kind: &'static str,
    cert_file: String,
    key: Arc<CertifiedKey>,
    issuer: Vec<u8>,
    /// Asked instead of those the certificate names.
    urls: Vec<String>,
    /// Where the answer is kept beyond a restart.
    dir: Option<PathBuf>,
    ends_when_revoked: bool,
    told: Mutex<Option<Told>>,
}

/// The last answer.
#[derive(Clone, Debug)]
struct Told {
    status: Status,
    this_update_ns: i64,
    next_update_ns: Option<i64>,
    raw: Vec<u8>,
    /// With it.
    key: Arc<CertifiedKey>,
}

/// Keeps a staple fresh until it is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    staple: Arc<Staple>,
    /// Dropped, the thread ends.
    _alive: Sender<()>,
}

/// Whether a certificate is to be stapled, and whether the server ends when it is revoked.
pub(crate) fn wanted(ocsp: Option<&Ocsp>, must_staple: bool) -> Option<bool> {
    match ocsp.map(|ocsp| ocsp.mode) {
        Some(OcspMode::Never) => None,
        Some(OcspMode::Always) => Some(true),
        Some(OcspMode::Must) => must_staple.then_some(true),
        Some(OcspMode::Auto) | None => must_staple.then_some(false),
    }
}

impl Staple {
    /// For the first certificate of a block, without an answer yet; `None` when it needs none.
    ///
    /// # Errors
    /// When nobody can be asked about it.
    pub(crate) fn of(
        kind: &'static str,
        tls: &Tls,
        key: &Arc<CertifiedKey>,
        roots: &dyn Fn() -> Result<Vec<CertificateDer<'static>>, String>,
        (ocsp, store_dir): (Option<&Ocsp>, Option<&Path>),
    ) -> Result<Option<Arc<Self>>, String> {
        let cert_file = tls
            .certs
            .first()
            .map_or("", |files| files.cert_file.as_str());
        let Some(cert) = key.cert.first().and_then(|der| Cert::read(der)) else {
            return Ok(None);
        };
        let Some(ends_when_revoked) = wanted(ocsp, cert.must_staple) else {
            if cert.must_staple {
                tracing::warn!("Certificate at '{cert_file}' has MustStaple but OCSP is disabled");
            }
            return Ok(None);
        };
        let staple = Self {
            kind,
            cert_file: cert_file.to_owned(),
            key: Arc::clone(key),
            issuer: issuer(&cert, &key.cert, roots)?,
            urls: ocsp.map(|ocsp| ocsp.urls.clone()).unwrap_or_default(),
            dir: store_dir.map(|dir| dir.join("ocsp")),
            ends_when_revoked,
            told: Mutex::new(None),
        };
        staple.read_kept();
        Ok(Some(Arc::new(staple)))
    }

    /// The certificate as it is shown now; `None`: its answer is out of date, and it must not be.
    pub(crate) fn shown(&self) -> Option<Arc<CertifiedKey>> {
        match self.told() {
            None => Some(Arc::clone(&self.key)),
            Some(told) => told.fault().is_none().then_some(told.key),
        }
    }

    /// Has an answer before the server starts.
    ///
    /// # Errors
    /// In nats-server's words: there is none, or it is bad and that counts.
    pub(crate) fn begin(&self) -> Result<(), String> {
        let file = &self.cert_file;
        if let Some(dir) = &self.dir {
            std::fs::create_dir_all(dir)
                .map_err(|error| format!("could not create OCSP storage directory - {error}"))?;
        }
        let told = match self.told().filter(|told| told.fault().is_none()) {
            Some(told) => told,
            None => self.fetch().map_err(|why| {
                format!("bad OCSP status update for certificate at '{file}': {why}")
            })?,
        };
        if told.status != Status::Good && self.ends_when_revoked {
            let status = told.status.name();
            return Err(format!(
                "found existing OCSP status for certificate at '{file}': {status}"
            ));
        }
        Ok(())
    }

    fn told(&self) -> Option<Told> {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn take(&self, told: Told) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }

    fn read(&self, raw: &[u8]) -> Result<Told, String> {
        let (cert, issuer) = self.certs().ok_or("no certificate found")?;
        let response =
            Response::read(raw, &cert, &issuer, &is_good).map_err(|why| why.to_string())?;
        let key = CertifiedKey {
            cert: self.key.cert.clone(),
            key: Arc::clone(&self.key.key),
            ocsp: Some(raw.to_vec()),
        };
        Ok(Told {
            status: response.status,
            this_update_ns: response.this_update_ns,
            next_update_ns: response.next_update_ns,
            raw: raw.to_vec(),
            key: Arc::new(key),
        })
    }

    fn certs(&self) -> Option<(Cert<'_>, Cert<'_>)> {
        let cert = Cert::read(self.key.cert.first()?)?;
        Some((cert, Cert::read(&self.issuer)?))
    }

    /// By the whole certificate, so that another one with the same key is not mistaken for it.
    fn kept_at(&self) -> Option<PathBuf> {
        let leaf = self.key.cert.first()?;
        Some(self.dir.as_ref()?.join(hex(&Sha256::digest(leaf))))
    }

    fn read_kept(&self) {
        let raw = self.kept_at().and_then(|path| std::fs::read(path).ok());
        let told = raw.and_then(|raw| self.read(&raw).ok());
        if let Some(told) = told.filter(|told| told.fault().is_none()) {
            self.take(told);
        }
    }

    /// Asks the responders.
    fn fetch(&self) -> Result<Told, String> {
        let (cert, issuer) = self.certs().ok_or("no certificate found")?;
        let question = request(&cert, &issuer);
        let urls = if self.urls.is_empty() {
            &cert.responders
        } else {
            &self.urls
        };
        let mut last = None;
        for url in urls {
            match ask_either_way(url.strip_suffix('/').unwrap_or(url), &question) {
                Ok(raw) => {
                    let told = self
                        .read(&raw)
                        .map_err(|why| format!("failed to get remote status: {why}"))?;
                    if let Some(why) = told.fault() {
                        return Err(why);
                    }
                    self.keep(&told)
                        .map_err(|why| format!("failed to write ocsp status: {why}"))?;
                    self.take(told.clone());
                    return Ok(told);
                }
                Err(why) => last = Some(why),
            }
        }
        Err(last.map_or_else(
            || "no available ocsp servers".to_owned(),
            |why| format!("exhausted ocsp servers: {why}"),
        ))
    }

    fn keep(&self, told: &Told) -> std::io::Result<()> {
        match (&self.dir, self.kept_at()) {
            (Some(dir), Some(path)) => write(dir, &path, &told.raw),
            _ => Ok(()),
        }
    }

    /// How long the last answer is relied on before the next is asked for: half of its time.
    fn next_in(&self) -> Duration {
        let Some(told) = self.told() else {
            return OCSP_CHECK_PAUSE_MIN;
        };
        let Some(next) = told.next_update_ns else {
            return OCSP_CHECK_EVERY;
        };
        let half = next.saturating_sub(now_ns()) / 2;
        u64::try_from(half).map_or(OCSP_CHECK_PAUSE_MIN, Duration::from_nanos)
    }

    /// Until `alive` is dropped, or it is revoked.
    fn run(&self, alive: &Receiver<()>, teller: &Teller) {
        let (kind, file) = (self.kind, &self.cert_file);
        let mut pause = Duration::ZERO;
        let first = self.told().filter(|told| told.fault().is_none());
        let first = first.map_or_else(|| self.fetch(), Ok);
        match first {
            Ok(told) if told.status == Status::Good => {
                pause = self.next_in();
                let (next, again) = (moment(told.next_update_ns), span(pause));
                tracing::info!(
                    "Found OCSP status for {kind} certificate at '{file}': good, next update \
                     {next}, checking again in {again}"
                );
            }
            Ok(told) if self.ends_when_revoked => {
                let status = told.status.name();
                tracing::error!("Found OCSP status for {kind} certificate at '{file}': {status}");
                return teller.tell(News::End);
            }
            Ok(_) | Err(_) => {}
        }
        while alive.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            match self.fetch() {
                Err(why) => {
                    pause = self.next_in().max(Duration::from_secs(1));
                    let again = span(pause);
                    tracing::error!(
                        "Bad OCSP status update for certificate '{file}': {why}, trying again in \
                         {again}"
                    );
                }
                Ok(told) if told.status == Status::Good => {
                    pause = self.next_in();
                    let (next, again) = (moment(told.next_update_ns), span(pause));
                    tracing::info!(
                        "Received OCSP status for {kind} certificate '{file}': good, next update \
                         {next}, checking again in {again}"
                    );
                }
                Ok(told) => {
                    let status = told.status.name();
                    tracing::error!(
                        "Received OCSP status for {kind} certificate '{file}': {status}"
                    );
                    if self.ends_when_revoked {
                        teller.tell(News::End);
                    }
                    return;
                }
            }
        }
    }
}

impl Told {
    /// spec: nats-server v2.15.1 server/ocsp.go `validOCSPResponse`
    fn fault(&self) -> Option<String> {
        let now = now_ns();
        if let Some(next) = self.next_update_ns.filter(|next| *next < now) {
            let next = moment(Some(next));
            return Some(format!("invalid ocsp NextUpdate, is past time: {next}"));
        }
        (self.this_update_ns > now).then(|| {
            let this = moment(Some(self.this_update_ns));
            format!("invalid ocsp ThisUpdate, is future time: {this}")
        })
    }
}

impl Keeper {
    /// From here on. What `before` knows of the same certificate is taken over.
    pub(crate) fn start(staple: Arc<Staple>, before: &[Self], teller: &Teller) -> Self {
        let same = before
            .iter()
            .find(|it| it.staple.key.cert == staple.key.cert);
        if let (Some(same), None) = (same, staple.told())
            && let Some(told) = same.staple.told()
        {
            staple.take(told);
        }
        tracing::info!("OCSP Stapling enabled for {} connections", staple.kind);
        let (alive, ended) = channel();
        let (own, teller) = (Arc::clone(&staple), teller.clone());
        let thread = thread::Builder::new().name("staple".to_owned());
        let run = move || own.run(&ended, &teller);
        if let Err(error) = thread.stack_size(THREAD_STACK_BYTES).spawn(run) {
            tracing::error!("Can't restart OCSP features: {error}");
        }
        Self {
            staple,
            _alive: alive,
        }
    }
}

/// With POST, and if that fails with GET.
fn ask_either_way(url: &str, question: &[u8]) -> Result<Vec<u8>, String> {
    let one = |name: &str, url: &str, method: Method<'_>, length: usize| {
        let answer = ask(url, method, OCSP_STAPLE_TIMEOUT)?;
        let status = answer.status;
        tracing::debug!("Received OCSP response (method={name}, status={status}, url={url})");
        if status > 299 {
            return Err(format!(
                "non-ok http status on {name} request (reqlen={length}): {status}"
            ));
        }
        Ok(answer.body)
    };
    one("POST", url, Method::Post(question), question.len()).or_else(|post| {
        let base64 = BASE64.encode(question);
        let long = format!("{url}/{base64}");
        let got = one("GET", &long, Method::Get, base64.len());
        got.map_err(|get| format!("{post}\n{get}"))
    })
}

/// spec: nats-server v2.15.1 server/ocsp.go `getOCSPIssuer`
fn issuer(
    cert: &Cert<'_>,
    chain: &[CertificateDer<'static>],
    roots: &dyn Fn() -> Result<Vec<CertificateDer<'static>>, String>,
) -> Result<Vec<u8>, String> {
    let roots = match chain.get(1) {
        Some(second) => vec![second.clone()],
        None => roots()?,
    };
    let issuer = issuer_of(cert, &roots).ok_or("no issuers found")?;
    if !issuer.is_ca {
        let subject = name(issuer.subject);
        return Err(format!("{subject} invalid ca basic constraints: is not ca"));
    }
    Ok(issuer.whole.to_vec())
}
