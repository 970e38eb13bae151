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
}

/// All of them by path, in the order they are listed in.
pub(crate) const ENDPOINTS: [(&str, Endpoint, &str); 11] = [
    ("/", Endpoint::Root, ""),
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
    ("/routez", Endpoint::Routez, "routes: none"),
    ("/gatewayz", Endpoint::Gatewayz, "gateways: none"),
];

/// Another name of `/subsz`.
const SUBSCRIPTIONS: &str = "/subscriptionsz";

impl Endpoint {
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
    Endpoint::find("", name).map(|(name, _)| name)
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
