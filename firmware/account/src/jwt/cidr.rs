use std::net::IpAddr;

/// A range of addresses, `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    bits: u8,
}

impl Cidr {
    /// From its text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let network: IpAddr = address.parse().ok()?;
        if !bits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let bits: u8 = bits.parse().ok()?;
        (bits <= width(network)).then_some(Self { network, bits })
    }

    /// Whether `address` is in it. An IPv4 address in IPv6 clothes counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => same_head(
                network.to_bits().into(),
                address.to_bits().into(),
                32,
                self.bits,
            ),
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                same_head(network.to_bits(), address.to_bits(), 128, self.bits)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn same_head(network: u128, address: u128, width: u32, bits: u8) -> bool {
    (network ^ address)
        .checked_shr(width - u32::from(bits))
        .is_none_or(|differs| differs == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_addresses_and_no_others() {
        let holds = |range: &str, address: &str| {
            Cidr::parse(range)
                .unwrap()
                .contains(address.parse().unwrap())
        };
        assert!(holds("10.1.0.0/16", "10.1.255.255"));
        assert!(!holds("10.1.0.0/16", "10.2.0.0"));
        assert!(holds("127.0.0.1/32", "::ffff:127.0.0.1"));
        assert!(!holds("127.0.0.1/32", "127.0.0.2"));
        assert!(holds("0.0.0.0/0", "1.2.3.4"));
        assert!(holds("::/0", "2001:db8::1"));
        assert!(!holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("2001:db8::/32", "2001:db8:1::"));
        assert!(!holds("2001:db8::/32", "2001:db9::"));
    }

    #[test]
    fn what_is_no_range_is_none() {
        for text in [
            "",
            "10.0.0.1",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "x/8",
            "::/129",
            "10.0.0.0/",
        ] {
            assert_eq!(Cidr::parse(text), None, "{text}");
        }
    }
}
