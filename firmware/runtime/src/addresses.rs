use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// The addresses of this machine that others may find it by, whether or not it has a way to the
/// world.
///
/// spec: nats-server v2.15.1 server/server.go `getNonLocalIPsIfHostIsIPAny`
pub(crate) fn own() -> Vec<IpAddr> {
    let all = match getifaddrs() {
        Ok(all) => all,
        Err(error) => {
            tracing::warn!("the addresses of this machine are not known: {error}");
            return Vec::new();
        }
    };
    let addresses = all.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())))
    });
    addresses.filter(leads_here).collect()
}

/// Whether others can use an address: Go's "global unicast", which private ones are as well.
fn leads_here(address: &IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !is_local && !address.is_loopback() && !address.is_multicast() && !address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_others_can_use_are_told() {
        for (text, is_told) in [
            ("10.9.0.1", true),
            ("192.168.1.7", true),
            ("203.0.113.9", true),
            ("fd00::1", true),
            ("2001:db8::1", true),
            ("127.0.0.1", false),
            ("::1", false),
            ("169.254.3.4", false),
            ("fe80::1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("0.0.0.0", false),
            ("::", false),
        ] {
            assert_eq!(leads_here(&text.parse().unwrap()), is_told, "{text}");
        }
    }
}
