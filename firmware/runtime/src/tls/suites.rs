use frond_config::Tls;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion, version};

/// Which versions a block speaks.
pub(super) fn versions(tls: &Tls) -> &'static [&'static SupportedProtocolVersion] {
    if tls.only_tls13 { ONLY_13 } else { BOTH }
}

static ONLY_13: &[&SupportedProtocolVersion] = &[&version::TLS13];
static BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

/// The cipher suites and curves of a block, in its order. As in Go the suites of TLS 1.3 are
/// always there; what rustls leaves out (CBC, P-521) is left out.
pub(crate) fn provider(tls: &Tls) -> Result<CryptoProvider, String> {
    let mut provider = ring::default_provider();
    if !tls.cipher_suites.is_empty() {
        let all = std::mem::take(&mut provider.cipher_suites);
        let is_13 = |suite: &SupportedCipherSuite| matches!(suite, SupportedCipherSuite::Tls13(_));
        let (always, by_name): (Vec<_>, Vec<_>) = all.into_iter().partition(is_13);
        let wanted = tls
            .cipher_suites
            .iter()
            .filter_map(|name| by_name.iter().find(|suite| is_called(suite, name)).copied());
        provider.cipher_suites = always.into_iter().chain(wanted).collect();
    }
    if !tls.curve_preferences.is_empty() {
        let all = std::mem::take(&mut provider.kx_groups);
        let find = |name: &String| all.iter().find(|group| curve(**group) == name).copied();
        provider.kx_groups = tls.curve_preferences.iter().filter_map(find).collect();
        if provider.kx_groups.is_empty() {
            let names = tls.curve_preferences.join(", ");
            return Err(format!("none of these curves is supported: {names}"));
        }
    }
    Ok(provider)
}

fn is_called(suite: &SupportedCipherSuite, name: &str) -> bool {
    let own = format!("{:?}", suite.suite());
    own == name || own.strip_suffix("_SHA256") == Some(name)
}

fn curve(group: &dyn SupportedKxGroup) -> &'static str {
    const NAMES: &[(rustls::NamedGroup, &str)] = &[
        (rustls::NamedGroup::X25519, "X25519"),
        (rustls::NamedGroup::secp256r1, "CurveP256"),
        (rustls::NamedGroup::secp384r1, "CurveP384"),
    ];
    let found = NAMES.iter().find(|(known, _)| *known == group.name());
    found.map_or("", |(_, name)| name)
}
