//! Whether certificates are still good, asked of who made them (RFC 6960).

use crate::duration;
use crate::limits::{
    OCSP_CACHE_SAVE_SECONDS, OCSP_CLOCK_SKEW_SECONDS, OCSP_TIMEOUT_SECONDS, OCSP_TTL_SECONDS,
};
use crate::report::{Report, set};
use crate::value::{Entry, Kind, Value};
use std::time::Duration;

/// Stapling: this server's own certificates are shown with the answer of their responder.
///
/// spec: nats-server v2.15.1 server/opts.go `processConfigFileLine`, `ocsp`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ocsp {
    /// For which certificates, and what a bad answer does.
    pub mode: OcspMode,
    /// Responders to ask instead of those the certificate names; empty: those.
    pub urls: Vec<String>,
}

/// For which certificates there is a staple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OcspMode {
    /// For those that must have one; a revoked one is shown as such.
    #[default]
    Auto,
    /// For all; the server ends once one is revoked.
    Always,
    /// For none.
    Never,
    /// For those that must have one; the server ends once one is revoked.
    Must,
}

/// Where answers about peers are kept.
///
/// spec: nats-server v2.15.1 server/ocsp_responsecache.go `parseOCSPResponseCache`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OcspCache {
    /// They are kept at all.
    pub on: bool,
    /// Folder of the file they are saved in. `_rc_` by default.
    pub local_store: String,
    /// An answer "revoked" stays though it is out of date.
    pub preserve_revoked: bool,
    /// How often the file is written. 5 minutes by default, not below a second.
    pub save_interval: Duration,
}

/// Whether the certificates of peers are asked about.
///
/// spec: nats-server v2.15.1 server/ocsp_peer.go `parseOCSPPeer`, server/certidp/certidp.go
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OcspPeer {
    /// They are.
    pub verify: bool,
    /// How long a responder may take. 2 s by default.
    pub timeout: Duration,
    /// How far its clock may be from ours. 30 s by default.
    pub clock_skew: Duration,
    /// A bad answer is only told.
    pub warn_only: bool,
    /// "Unknown" is as good as "good".
    pub unknown_is_good: bool,
    /// Who cannot be asked about may pass, unless it was revoked when it last could.
    pub allow_when_ca_unreachable: bool,
    /// How long an answer is good that does not say so. 1 hour by default.
    pub ttl_unset_next_update: Duration,
}

impl Default for OcspCache {
    fn default() -> Self {
        Self {
            on: true,
            local_store: "_rc_".to_owned(),
            preserve_revoked: false,
            save_interval: Duration::from_secs(OCSP_CACHE_SAVE_SECONDS),
        }
    }
}

impl Default for OcspPeer {
    fn default() -> Self {
        Self {
            verify: false,
            timeout: Duration::from_secs(OCSP_TIMEOUT_SECONDS),
            clock_skew: Duration::from_secs(OCSP_CLOCK_SKEW_SECONDS),
            warn_only: false,
            unknown_is_good: false,
            allow_when_ca_unreachable: false,
            ttl_unset_next_update: Duration::from_secs(OCSP_TTL_SECONDS),
        }
    }
}

impl Ocsp {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut ocsp = Self::default();
        let map = match &value.kind {
            Kind::Bool(true) => return Some(ocsp),
            Kind::Bool(false) => {
                ocsp.mode = OcspMode::Never;
                return Some(ocsp);
            }
            Kind::Map(map) => map,
            Kind::String(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Date(_)
            | Kind::Array(_) => {
                let got = value.kind.go_name();
                let text = format!("error parsing ocsp config: unsupported type {got}");
                report.error(&value.at, text, "write true, false or { mode: ... }");
                return None;
            }
        };
        for entry in map {
            ocsp.read_entry(entry, report);
        }
        Some(ocsp)
    }

    fn read_entry(&mut self, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        match entry.key.as_str() {
            "mode" => {
                let Some(mode) = report.string(value) else {
                    return;
                };
                match mode.to_ascii_lowercase().as_str() {
                    "always" => self.mode = OcspMode::Always,
                    "must" => self.mode = OcspMode::Must,
                    "never" => self.mode = OcspMode::Never,
                    "auto" => self.mode = OcspMode::Auto,
                    _ => {
                        let text = "error parsing ocsp config: unsupported ocsp mode string";
                        report.error(&value.at, text, "write auto, always, must or never");
                    }
                }
            }
            "urls" => set(&mut self.urls, report.list_of_strings(value)),
            "url" => set(&mut self.urls, report.string(value).map(|url| vec![url])),
            _ => {
                let text = "error parsing ocsp config: unsupported field string";
                report.error(&value.at, text, "there are mode, url and urls");
            }
        }
    }
}

impl OcspCache {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut cache = Self::default();
        let map = match &value.kind {
            Kind::Bool(on) => {
                cache.on = *on;
                return Some(cache);
            }
            Kind::Map(map) => map,
            Kind::String(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Date(_)
            | Kind::Array(_) => {
                let got = value.kind.go_name();
                let text = format!("error parsing tags: unsupported type {got}");
                report.error(&value.at, text, "write true, false or { type: ... }");
                return None;
            }
        };
        for entry in map {
            cache.read_entry(entry, report);
        }
        Some(cache)
    }

    fn read_entry(&mut self, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        match (entry.key.to_lowercase().as_str(), &value.kind) {
            ("type", Kind::String(kind)) => match kind.to_lowercase().as_str() {
                "none" => self.on = false,
                "local" => self.on = true,
                _ => {
                    let text =
                        format!("error parsing OCSP peer cache config, unknown type [{kind}]");
                    report.error(&value.at, text, "write none or local");
                }
            },
            ("local_store", Kind::String(store)) => self.local_store.clone_from(store),
            ("preserve_revoked", Kind::Bool(on)) => self.preserve_revoked = *on,
            ("save_interval", _) => {
                let wrong = "error parsing OCSP peer cache config, conversion error";
                if let Some(every) = seconds(value, wrong, report) {
                    // As there, whole seconds, at least one.
                    self.save_interval = Duration::from_secs(every.as_secs().max(1));
                }
            }
            _ => {
                let key = &entry.key;
                let text = format!("error parsing OCSP peer cache config, unknown field [{key:?}]");
                report.error(&value.at, text, "");
            }
        }
    }
}

impl OcspPeer {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut peer = Self::default();
        let map = match &value.kind {
            Kind::Bool(on) => {
                peer.verify = *on;
                return Some(peer);
            }
            Kind::Map(map) => map,
            Kind::String(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Date(_)
            | Kind::Array(_) => {
                // There it is the type of the whole block that is told.
                let text =
                    "error parsing ocsp peer config: unsupported type map[string]interface {}";
                report.error(&value.at, text, "write true, false or { verify: ... }");
                return None;
            }
        };
        for entry in map {
            peer.read_entry(entry, report);
        }
        Some(peer)
    }

    fn read_entry(&mut self, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        let field = entry.key.to_lowercase();
        let flag = match field.as_str() {
            "verify" => &mut self.verify,
            "warn_only" => &mut self.warn_only,
            "unknown_is_good" => &mut self.unknown_is_good,
            "allow_when_ca_unreachable" => &mut self.allow_when_ca_unreachable,
            _ => return self.read_time(entry, &field, report),
        };
        match value.kind {
            Kind::Bool(on) => *flag = on,
            Kind::String(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Date(_)
            | Kind::Array(_)
            | Kind::Map(_) => unknown_peer_field(entry, report),
        }
    }

    fn read_time(&mut self, entry: &Entry, field: &str, report: &mut Report) {
        let time = match field {
            "allowed_clockskew" => &mut self.clock_skew,
            "ca_timeout" => &mut self.timeout,
            "cache_ttl_when_next_update_unset" => &mut self.ttl_unset_next_update,
            _ => return unknown_peer_field(entry, report),
        };
        let wrong = "error parsing tls peer config, conversion error";
        set(time, seconds(&entry.value, wrong, report));
    }
}

fn unknown_peer_field(entry: &Entry, report: &mut Report) {
    let key = &entry.key;
    let text = format!("error parsing tls peer config, unknown field [{key:?}]");
    report.error(&entry.value.at, text, "");
}

/// Seconds, or a duration in quotes; what is negative says nothing.
fn seconds(value: &Value, wrong: &str, report: &mut Report) -> Option<Duration> {
    match &value.kind {
        Kind::Integer(n) => u64::try_from(*n).ok().map(Duration::from_secs),
        Kind::Float(n) => Duration::try_from_secs_f64(*n).ok(),
        Kind::String(text) => match duration::parse(text) {
            Ok(nanos) => u64::try_from(nanos).ok().map(Duration::from_nanos),
            Err(why) => {
                report.error(&value.at, format!("{wrong}: {why}"), "write 2 or \"2s\"");
                None
            }
        },
        Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!("{wrong}: unexpected type");
            report.error(&value.at, text, "write 2 or \"2s\"");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Nothing, load_text};

    fn config(text: &str) -> Config {
        load_text(text, "x.conf", &Nothing)
            .unwrap_or_else(|errors| panic!("{text}: {errors}"))
            .config
    }

    #[test]
    fn stapling_is_a_switch_or_a_block() {
        let mode = |text: &str| config(text).ocsp.map(|ocsp| (ocsp.mode, ocsp.urls.len()));
        assert_eq!(mode(""), None);
        assert_eq!(mode("ocsp: true"), Some((OcspMode::Auto, 0)));
        assert_eq!(mode("ocsp: false"), Some((OcspMode::Never, 0)));
        let block = "ocsp { mode: ALWAYS, url: \"http://a\" }";
        assert_eq!(mode(block), Some((OcspMode::Always, 1)));
        let block = "ocsp { mode: must, urls: [\"http://a\", \"http://b\"] }";
        assert_eq!(mode(block), Some((OcspMode::Must, 2)));
    }

    #[test]
    fn the_cache_is_a_switch_or_a_block() {
        assert_eq!(config("").ocsp_cache, None);
        let cache = |text: &str| config(text).ocsp_cache.unwrap();
        assert_eq!(cache("ocsp_cache: true"), OcspCache::default());
        assert!(!cache("ocsp_cache: false").on && !cache("ocsp_cache { type: None }").on);
        let text = "ocsp_cache { local_store: a, preserve_revoked: true, save_interval: 0.1 }";
        let read = cache(text);
        assert_eq!(
            (read.local_store.as_str(), read.preserve_revoked),
            ("a", true)
        );
        assert_eq!(read.save_interval, Duration::from_secs(1));
        let read = cache("ocsp_cache { save_interval: \"2m30s\" }");
        assert_eq!(read.save_interval, Duration::from_secs(150));
    }

    #[test]
    fn peers_are_asked_about_by_a_switch_or_a_block() {
        let peer = |text: &str| {
            let config = config(&format!("tls {{ {text} }}"));
            config.tls.unwrap().ocsp_peer
        };
        assert_eq!(peer(""), None);
        assert!(peer("ocsp_peer: true").unwrap().verify);
        assert!(!peer("ocsp_peer {}").unwrap().verify);
        let text = "ocsp_peer { verify: true, ca_timeout: 1.5, allowed_clockskew: \"1m\", \
                    cache_ttl_when_next_update_unset: 7, Warn_Only: true }";
        let want = OcspPeer {
            verify: true,
            timeout: Duration::from_millis(1_500),
            clock_skew: Duration::from_secs(60),
            warn_only: true,
            ttl_unset_next_update: Duration::from_secs(7),
            ..OcspPeer::default()
        };
        assert_eq!(peer(text), Some(want));
    }

    #[test]
    fn what_is_no_good_is_told_in_nats_servers_words() {
        for (text, want) in [
            (
                "ocsp: 1",
                "error parsing ocsp config: unsupported type int64",
            ),
            ("ocsp { mode: x }", "unsupported ocsp mode string"),
            (
                "ocsp { a: 1 }",
                "error parsing ocsp config: unsupported field string",
            ),
            ("ocsp_cache { type: x }", "unknown type [x]"),
            (
                "ocsp_cache { a: 1 }",
                "peer cache config, unknown field [\"a\"]",
            ),
            (
                "ocsp_cache { save_interval: x }",
                "conversion error: time: invalid duration",
            ),
            (
                "tls { ocsp_peer { verify: 1 } }",
                "peer config, unknown field [\"verify\"]",
            ),
            (
                "tls { ocsp_peer { ca_timeout: [] } }",
                "conversion error: unexpected type",
            ),
            (
                "tls { ocsp_peer: 1 }",
                "error parsing ocsp peer config: unsupported type",
            ),
        ] {
            let errors = load_text(text, "x.conf", &Nothing).unwrap_err();
            assert!(errors.to_string().contains(want), "{text}: {errors}");
        }
    }
}
