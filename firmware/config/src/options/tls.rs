mod suites;

use std::collections::BTreeSet;
use std::time::Duration;

use super::ocsp::OcspPeer;
use crate::duration;
use crate::limits::{TLS_FALLBACK_DELAY_MILLIS, TLS_TIMEOUT_SECONDS};
use crate::position::Position;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Entry, Kind, Map, Value};
use suites::{CURVES, INSECURE_SUITES, SUITES};

/// A `tls` block. Files are named here, not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Certificates with their keys; the first that fits a name is shown for it.
    pub certs: Vec<CertFiles>,
    /// They were written as a list.
    pub is_list: bool,
    /// Who may have signed the peer's certificate; `None`: whoever the system trusts.
    pub ca_file: Option<String>,
    /// The peer needs a certificate.
    pub verify: bool,
    /// The peer's certificate says which user it is.
    pub map: bool,
    /// The server's certificate isn't checked.
    pub insecure: bool,
    /// How long a handshake may take. 2 s by default.
    pub timeout: Duration,
    /// By Go's names, best first; empty: all good ones.
    pub cipher_suites: Vec<String>,
    /// By Go's names, best first; empty: all good ones.
    pub curve_preferences: Vec<String>,
    /// TLS 1.2 is not spoken.
    pub only_tls13: bool,
    /// SHA-256 of the public key info of certificates, 64 hex digits in lower case; empty: any.
    pub pinned_certs: BTreeSet<String>,
    /// Handshakes in a second; `None`: any number.
    pub connection_rate_limit: Option<u64>,
    /// Whether TLS comes before `INFO`.
    pub handshake_first: HandshakeFirst,
    /// Between servers: the peer's certificate must name the host of a configured URL.
    pub check_known_urls: bool,
    /// Whether the peer's certificate is asked about.
    pub ocsp_peer: Option<OcspPeer>,
    pub(crate) at: Place,
}

/// Where a block was written; equal to any other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place(Option<Position>);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

/// The files of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertFiles {
    /// The certificate and what leads up to a root, PEM.
    pub cert_file: String,
    /// Its key, PEM.
    pub key_file: String,
}

/// Whether TLS comes before `INFO`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HandshakeFirst {
    /// `INFO` comes first and says that TLS follows.
    #[default]
    No,
    /// TLS comes first.
    Yes,
    /// TLS comes first if the peer starts it within this time.
    Auto(Duration),
}

/// Where a `tls` block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// On a listener.
    Server,
    /// On a remote.
    Client,
    /// Between the servers of a cluster or of clusters: both ends at once.
    Peer,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            certs: Vec::new(),
            is_list: false,
            ca_file: None,
            verify: false,
            map: false,
            insecure: false,
            timeout: Duration::from_secs(TLS_TIMEOUT_SECONDS),
            cipher_suites: Vec::new(),
            curve_preferences: Vec::new(),
            only_tls13: false,
            pinned_certs: BTreeSet::new(),
            connection_rate_limit: None,
            handshake_first: HandshakeFirst::No,
            check_known_urls: false,
            ocsp_peer: None,
            at: Place::default(),
        }
    }
}

/// What is put together once the whole block is read.
#[derive(Default)]
struct Parts {
    cert_file: Option<String>,
    key_file: Option<String>,
    certs: Vec<CertFiles>,
    insecure_suites: bool,
}

impl Tls {
    /// Where the block was written, when a file has it.
    #[must_use]
    pub const fn position(&self) -> Option<&Position> {
        self.at.0.as_ref()
    }

    /// The same rules from the command line.
    #[must_use]
    pub fn from_flags(cert: &str, key: &str, ca: Option<&str>, verify: bool) -> Self {
        Self {
            certs: vec![CertFiles {
                cert_file: cert.to_owned(),
                key_file: key.to_owned(),
            }],
            ca_file: ca.map(str::to_owned),
            verify,
            ..Self::default()
        }
    }

    /// spec: nats-server v2.15.1 server/opts.go `parseTLS`
    pub(crate) fn read(value: &Value, side: Side, report: &mut Report) -> Option<Self> {
        let Some(map) = value.as_map() else {
            let got = value.kind.go_name();
            let text = format!(
                "interface conversion: interface {{}} is {got}, not map[string]interface {{}}"
            );
            report.error(&value.at, text, "write tls { ... }");
            return None;
        };
        let mut tls = Self {
            at: Place(Some(value.at.clone())),
            ..Self::default()
        };
        let mut parts = Parts::default();
        for entry in map {
            tls.read_entry(entry, side, &mut parts, report);
        }
        tls.put_together(parts, &value.at, report);
        // Servers always show each other who they are.
        tls.verify |= side == Side::Peer;
        Some(tls)
    }

    fn read_entry(&mut self, entry: &Entry, side: Side, parts: &mut Parts, report: &mut Report) {
        let value = &entry.value;
        let field = entry.key.to_lowercase();
        match field.as_str() {
            "cert_file" => parts.cert_file = file("cert_file", value, report).flatten(),
            "key_file" => parts.key_file = file("key_file", value, report).flatten(),
            "ca_file" => self.ca_file = file("ca_file", value, report).flatten(),
            "certs" | "certificates" => set(&mut parts.certs, read_certs(value, report)),
            "insecure" => set(&mut self.insecure, flag("insecure", value, report)),
            "verify" => set(&mut self.verify, flag("verify", value, report)),
            "verify_and_map" => {
                let on = flag("verify_and_map", value, report);
                self.verify |= on == Some(true);
                set(&mut self.map, on);
            }
            "verify_cert_and_check_known_urls" => {
                let on = flag("verify_cert_and_check_known_urls", value, report);
                if side == Side::Peer {
                    set(&mut self.check_known_urls, on);
                } else if on == Some(true) {
                    let text = "verify_cert_and_check_known_urls not supported in this context";
                    report.error(&value.at, text, "");
                }
            }
            "allow_insecure_cipher_suites" => {
                set(
                    &mut parts.insecure_suites,
                    flag("allow_insecure_cipher_suites", value, report),
                );
            }
            "cipher_suites" => set(&mut self.cipher_suites, read_suites(value, report)),
            "curve_preferences" => set(&mut self.curve_preferences, read_curves(value, report)),
            "timeout" => set(&mut self.timeout, read_timeout(value, report)),
            "connection_rate_limit" => {
                let rate = report.integer(value).and_then(|n| u64::try_from(n).ok());
                self.connection_rate_limit = rate.filter(|n| *n > 0);
            }
            "pinned_certs" => set(&mut self.pinned_certs, read_pins(value, report)),
            "handshake_first" | "first" | "immediate" => {
                let first = read_first(&entry.key, value, report);
                set(&mut self.handshake_first, first);
                if let (Side::Client, HandshakeFirst::Auto(_)) = (side, self.handshake_first) {
                    self.handshake_first = HandshakeFirst::Yes;
                }
            }
            "ocsp_peer" => self.ocsp_peer = OcspPeer::read(value, report),
            "min_version" | "minimum_version" => {
                set(&mut self.only_tls13, read_min_version(value, report));
            }
            "cert_store" => {
                let text = "cert_store not compatible with current operating system";
                report.error(&value.at, text, "name the files: cert_file and key_file");
            }
            "cert_match_by" | "cert_match" | "ca_certs_match" | "cert_match_skip_invalid" => {
                match value.kind {
                    Kind::Date(_) | Kind::Map(_) => {
                        let text = format!("error parsing tls config, {field:?} wrong type");
                        report.error(&value.at, text, "remove it");
                    }
                    Kind::Bool(_)
                    | Kind::String(_)
                    | Kind::Integer(_)
                    | Kind::Float(_)
                    | Kind::Array(_) => report.note(
                        &value.at,
                        format!("{field:?} has no effect: there is no Windows store here"),
                    ),
                }
            }
            _ => report.other(Block::Tls, entry),
        }
    }

    fn put_together(&mut self, parts: Parts, at: &Position, report: &mut Report) {
        let (cert, key) = (parts.cert_file, parts.key_file);
        if !parts.certs.is_empty() && cert.is_some() {
            let text =
                "error parsing tls config, cannot combine 'cert_file' option with 'certs' option";
            report.error(at, text, "remove one of them");
        }
        self.is_list = !parts.certs.is_empty();
        self.certs = parts.certs;
        match (cert, key) {
            (Some(cert_file), Some(key_file)) => self.certs.push(CertFiles {
                cert_file,
                key_file,
            }),
            (Some(_), None) => {
                report.error(at, "missing 'key_file' in TLS configuration", "name both");
            }
            (None, Some(_)) => {
                report.error(at, "missing 'cert_file' in TLS configuration", "name both");
            }
            (None, None) => {}
        }
        if !parts.insecure_suites {
            let weak: Vec<&str> = self
                .cipher_suites
                .iter()
                .map(String::as_str)
                .filter(|name| INSECURE_SUITES.contains(name))
                .collect();
            if !weak.is_empty() {
                let text = format!(
                    "insecure cipher suites configured without 'allow_insecure_cipher_suites' \
                     option set: {}",
                    weak.join(", ")
                );
                report.error(at, text, "remove them");
            }
        }
    }
}

fn file(field: &str, value: &Value, report: &mut Report) -> Option<Option<String>> {
    match value.as_str() {
        Some(text) => Some(Some(text.to_owned()).filter(|text| !text.is_empty())),
        None => {
            let text = format!("error parsing tls config, expected '{field}' to be filename");
            report.error(&value.at, text, "put it in quotes");
            None
        }
    }
}

fn flag(field: &str, value: &Value, report: &mut Report) -> Option<bool> {
    if let Kind::Bool(on) = value.kind {
        return Some(on);
    }
    let text = format!("error parsing tls config, expected '{field}' to be a boolean");
    report.error(&value.at, text, "write true or false, without quotes");
    None
}

fn read_certs(value: &Value, report: &mut Report) -> Option<Vec<CertFiles>> {
    let wrong = "error parsing certificates config: expected an array";
    let mut certs = Vec::new();
    for value in report.array(value, wrong)? {
        let wrong = "error parsing certificates config: expected a map";
        let Some(map) = report.map(value, wrong) else {
            continue;
        };
        if let Some(files) = read_cert(map, value, report) {
            certs.push(files);
        }
    }
    Some(certs)
}

fn read_cert(map: &Map, value: &Value, report: &mut Report) -> Option<CertFiles> {
    let (mut cert, mut key) = (None, None);
    for entry in map {
        let Some(text) = entry.value.as_str() else {
            let got = entry.value.kind.go_name();
            let text = format!("error parsing certificates config: unsupported type {got}");
            report.error(&entry.value.at, text, "");
            return None;
        };
        match entry.key.as_str() {
            "cert_file" => cert = Some(text.to_owned()),
            "key_file" => key = Some(text.to_owned()),
            other => {
                let text = format!("error parsing tls certs config, unknown field {other:?}");
                report.error(&entry.value.at, text, "");
                return None;
            }
        }
    }
    let files = cert.zip(key).map(|(cert_file, key_file)| CertFiles {
        cert_file,
        key_file,
    });
    if files.is_none() {
        let text = "error parsing certificates config: both 'cert_file' and 'cert_key' options are required";
        report.error(&value.at, text, "");
    }
    files
}

fn read_suites(value: &Value, report: &mut Report) -> Option<Vec<String>> {
    read_names(
        "cipher_suites",
        "unrecognized cipher",
        value,
        report,
        &|name| SUITES.contains(&name) || INSECURE_SUITES.contains(&name),
    )
}

fn read_curves(value: &Value, report: &mut Report) -> Option<Vec<String>> {
    let wrong = "unrecognized curve preference";
    read_names("curve_preferences", wrong, value, report, &|name| {
        CURVES.contains(&name)
    })
}

fn read_names(
    field: &str,
    wrong: &str,
    value: &Value,
    report: &mut Report,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let values = report.array(
        value,
        &format!("error parsing tls config, '{field}' wrong type"),
    )?;
    if values.is_empty() {
        let text = format!("error parsing tls config, '{field}' cannot be empty");
        report.error(&value.at, text, "");
        return None;
    }
    let mut names = Vec::new();
    for value in values {
        match value.as_str() {
            Some(name) if is_known(name) => names.push(name.to_owned()),
            other => {
                let text = format!("{wrong} {}", other.unwrap_or_default());
                report.error(&value.at, text, "");
            }
        }
    }
    Some(names)
}

fn read_timeout(value: &Value, report: &mut Report) -> Option<Duration> {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    match &value.kind {
        Kind::Integer(n) => u64::try_from(*n).ok().map(Duration::from_secs),
        Kind::Float(n) => seconds(*n),
        Kind::String(text) => match duration::parse(text) {
            Ok(nanos) => u64::try_from(nanos).ok().map(Duration::from_nanos),
            Err(why) => {
                let text = format!("error parsing tls config, 'timeout' {why}");
                report.error(&value.at, text, "write 2 or \"2s\"");
                None
            }
        },
        Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = "error parsing tls config, 'timeout' wrong type";
            report.error(&value.at, text, "write 2 or \"2s\"");
            None
        }
    }
}

fn read_pins(value: &Value, report: &mut Report) -> Option<BTreeSet<String>> {
    let wrong = "error parsing tls config, expected 'pinned_certs' to be a list of hex-encoded \
                 sha256 of DER encoded SubjectPublicKeyInfo";
    let mut pins = BTreeSet::new();
    for value in report.array(value, wrong)? {
        let pin = value.as_str().unwrap_or_default().to_lowercase();
        if pin.len() == 64 && pin.bytes().all(|b| b.is_ascii_hexdigit()) {
            pins.insert(pin);
        } else {
            let text = format!(
                "error parsing tls config, 'pinned_certs' key {pin} does not look like \
                 hex-encoded sha256 of DER encoded SubjectPublicKeyInfo"
            );
            report.error(&value.at, text, "");
        }
    }
    Some(pins)
}

fn read_first(key: &str, value: &Value, report: &mut Report) -> Option<HandshakeFirst> {
    match &value.kind {
        Kind::Bool(true) => Some(HandshakeFirst::Yes),
        Kind::Bool(false) => Some(HandshakeFirst::No),
        Kind::String(text) => match text.to_lowercase().as_str() {
            "true" | "on" => Some(HandshakeFirst::Yes),
            "false" | "off" => Some(HandshakeFirst::No),
            "auto" | "auto_fallback" => Some(HandshakeFirst::Auto(Duration::from_millis(
                TLS_FALLBACK_DELAY_MILLIS,
            ))),
            text => match duration::parse(text).map(u64::try_from) {
                Ok(Ok(nanos)) => Some(HandshakeFirst::Auto(Duration::from_nanos(nanos))),
                Ok(Err(_)) | Err(_) => {
                    let text = format!("field {key:?}'s value {text:?} is invalid");
                    report.error(&value.at, text, "write true, auto or \"50ms\"");
                    None
                }
            },
        },
        Kind::Integer(_) | Kind::Float(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let got = value.kind.go_name();
            let text = format!("field {key:?} should be a boolean or a string, got {got}");
            report.error(&value.at, text, "write true, auto or \"50ms\"");
            None
        }
    }
}

fn read_min_version(value: &Value, report: &mut Report) -> Option<bool> {
    let why = match &value.kind {
        Kind::String(text) => match text.as_str() {
            "1.2" => return Some(false),
            "1.3" => return Some(true),
            "1.0" | "1.1" => format!("unsupported TLS version: TLS {text}"),
            other => format!("unknown version: {other}"),
        },
        Kind::Integer(n) => format!("'min_version' wrong type: {n}"),
        Kind::Float(n) => format!("'min_version' wrong type: {n}"),
        Kind::Bool(b) => format!("'min_version' wrong type: {b}"),
        Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => "'min_version' wrong type".to_owned(),
    };
    let text = format!("error parsing tls config: {why}");
    report.error(&value.at, text, "write \"1.2\" or \"1.3\"");
    None
}
