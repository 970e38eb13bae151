/// A document that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Root,
    Varz,
    Connz,
    Subsz,
    Leafz,
    Jsz,
    Healthz,
    Accountz,
    Accstatz,
    Routez,
    Gatewayz,
    Raftz,
    Ipqueuesz,
    Expvarz,
    Stacksz,
    Statsz,
    /// Only asked for over the system account.
    Profilez,
    /// Ours: all numbers as Prometheus reads them.
    Metrics,
    /// Ours: a page for whoever looks after this box.
    Status,
    /// What that page shows.
    StatusJson,
}

/// All that have a path, in the order they are listed in. What is not described is not listed.
pub(crate) const ENDPOINTS: [(&str, Endpoint, &str); 18] = [
    ("/", Endpoint::Root, ""),
    ("/status", Endpoint::Status, "this box at a glance"),
    ("/status.json", Endpoint::StatusJson, ""),
    ("/varz", Endpoint::Varz, "the server as a whole"),
    ("/jsz", Endpoint::Jsz, "streams and consumers"),
    ("/connz", Endpoint::Connz, "connections"),
    ("/leafz", Endpoint::Leafz, "links to other servers"),
    ("/subsz", Endpoint::Subsz, "subscriptions"),
    ("/accountz", Endpoint::Accountz, "accounts"),
    (
        "/accstatz",
        Endpoint::Accstatz,
        "what accounts send and get",
    ),
    ("/healthz", Endpoint::Healthz, "whether all is well"),
    ("/metrics", Endpoint::Metrics, "numbers for Prometheus"),
    ("/routez", Endpoint::Routez, "servers of this cluster"),
    ("/gatewayz", Endpoint::Gatewayz, "other clusters"),
    ("/raftz", Endpoint::Raftz, ""),
    ("/ipqueuesz", Endpoint::Ipqueuesz, ""),
    ("/debug/vars", Endpoint::Expvarz, ""),
    ("/stacksz", Endpoint::Stacksz, ""),
];

/// Those that the system account is asked for, by the last token of the subject.
const CALLED: [(&str, Endpoint); 14] = [
    ("VARZ", Endpoint::Varz),
    ("CONNZ", Endpoint::Connz),
    ("SUBSZ", Endpoint::Subsz),
    ("LEAFZ", Endpoint::Leafz),
    ("JSZ", Endpoint::Jsz),
    ("HEALTHZ", Endpoint::Healthz),
    ("ACCOUNTZ", Endpoint::Accountz),
    ("ROUTEZ", Endpoint::Routez),
    ("GATEWAYZ", Endpoint::Gatewayz),
    ("RAFTZ", Endpoint::Raftz),
    ("IPQUEUESZ", Endpoint::Ipqueuesz),
    ("EXPVARZ", Endpoint::Expvarz),
    ("PROFILEZ", Endpoint::Profilez),
    ("STATSZ", Endpoint::Statsz),
];

/// Another name of `/subsz`.
const SUBSCRIPTIONS: &str = "/subscriptionsz";

impl Endpoint {
    /// The document that the last token of a `$SYS.REQ` subject names.
    pub(crate) fn called(name: &str) -> Option<Self> {
        let found = CALLED.iter().find(|(called, _)| *called == name);
        found.map(|(_, endpoint)| *endpoint)
    }

    /// nats-server does not count requests for the others.
    const fn is_counted(self) -> bool {
        match self {
            Self::Root
            | Self::Varz
            | Self::Connz
            | Self::Subsz
            | Self::Leafz
            | Self::Jsz
            | Self::Healthz
            | Self::Accountz
            | Self::Accstatz
            | Self::Routez
            | Self::Gatewayz => true,
            Self::Raftz
            | Self::Ipqueuesz
            | Self::Expvarz
            | Self::Stacksz
            | Self::Statsz
            | Self::Profilez
            | Self::Metrics
            | Self::Status
            | Self::StatusJson => false,
        }
    }

    /// The document at a path below the configured base path.
    pub(crate) fn find(base: &str, path: &str) -> Option<(&'static str, Self)> {
        let base = base.trim_matches('/');
        let rest = path.strip_prefix('/')?;
        let rest = match base {
            "" => Some(path),
            base => rest
                .strip_prefix(base)
                .filter(|rest| rest.is_empty() || rest.starts_with('/')),
        }?;
        let wanted = match rest {
            "" => "/",
            SUBSCRIPTIONS => "/subsz",
            other => other,
        };
        let found = ENDPOINTS.iter().find(|(name, ..)| *name == wanted)?;
        Some((found.0, found.1))
    }
}

/// The key under which `/varz` counts a request for `path` in `http_req_stats`, whatever the
/// configured base path; `None` when no document is called so.
#[must_use]
pub fn counted_as(path: &str) -> Option<&'static str> {
    let name = path.rfind('/').and_then(|at| path.get(at..))?;
    let (name, endpoint) = Endpoint::find("", name)?;
    endpoint.is_counted().then_some(name)
}

/// Whether what is at `path` is for those who are known here, besides for who sits at the box:
/// it names people's devices.
#[must_use]
pub fn is_private(base: &str, path: &str) -> bool {
    match Endpoint::find(base, path) {
        Some((_, Endpoint::Status | Endpoint::StatusJson)) => true,
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_live_below_the_base_path() {
        for (base, path, name) in [
            ("/", "/varz", Some("/varz")),
            ("", "/", Some("/")),
            ("/", "/subscriptionsz", Some("/subsz")),
            ("/mon", "/mon/varz", Some("/varz")),
            ("mon/", "/mon", Some("/")),
            ("/mon", "/mon/", Some("/")),
            ("/mon", "/varz", None),
            ("/mon", "/monvarz", None),
            ("/", "/varz/", None),
            ("/", "varz", None),
            ("/", "/other", None),
        ] {
            let found = Endpoint::find(base, path).map(|(name, _)| name);
            assert_eq!(found, name, "{base} {path}");
        }
    }

    #[test]
    fn requests_are_counted_by_document() {
        for (path, name) in [
            ("/varz", Some("/varz")),
            ("/mon/subscriptionsz", Some("/subsz")),
            ("/", Some("/")),
            ("/other", None),
            ("varz", None),
        ] {
            assert_eq!(counted_as(path), name, "{path}");
        }
    }
}
