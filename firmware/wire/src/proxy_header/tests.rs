use super::{BINARY_START, ProxyHeader};

fn v2(how: u8, what: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = BINARY_START.to_vec();
    bytes.extend([how, what]);
    bytes.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

fn from(text: &str) -> Result<ProxyHeader, String> {
    Ok(ProxyHeader::Whole {
        from: Some(text.parse().unwrap()),
        skip: 0,
    })
}

const ITSELF: ProxyHeader = ProxyHeader::Whole {
    from: None,
    skip: 0,
};

#[test]
fn lines_name_the_peer_or_are_refused() {
    let invalid = |why: &str| Err(format!("invalid PROXY protocol header: {why}"));
    let port = |which: &str, text: &str, why: &str| {
        let text = format!("invalid {which} port: strconv.ParseUint: parsing {text:?}: {why}");
        Err(text)
    };
    let cases = [
        (
            "PROXY TCP4 10.1.2.3 10.0.0.1 4242 4222\r\n",
            from("10.1.2.3:4242"),
        ),
        (
            "PROXY TCP6 fd00::7 fd00::1 4242 4222\r\nPING",
            from("[fd00::7]:4242"),
        ),
        (
            "PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n",
            from("192.0.2.1:1"),
        ),
        ("PROXY UNKNOWN\r\n", Ok(ITSELF)),
        ("PROXY UNKNOWN whatever\r\n", Ok(ITSELF)),
        ("PROXY \r\n", invalid("invalid v1 format")),
        (
            "PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
            invalid("invalid v1 format"),
        ),
        ("PROXY TCP4 x 2.2.2.2 1 2\r\n", invalid("invalid address")),
        (
            "PROXY TCP4 ::1 ::2 1 2\r\n",
            invalid("TCP4 with IPv6 address"),
        ),
        (
            "PROXY TCP6 1.1.1.1 ::2 1 2\r\n",
            invalid("TCP6 with IPv4 address"),
        ),
        (
            "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
            invalid("invalid protocol UDP4"),
        ),
        (
            "PROXY TCP4 1.1.1.1 2.2.2.2 70000 2\r\n",
            port("source", "70000", "value out of range"),
        ),
        (
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 -2\r\n",
            port("dest", "-2", "invalid syntax"),
        ),
        (
            "PROXY TCP4 1.1.1.1 2.2.2.2 +1 2\r\n",
            port("source", "+1", "invalid syntax"),
        ),
    ];
    for (text, want) in cases {
        assert_eq!(ProxyHeader::parse(text.as_bytes()), want, "{text:?}");
    }
    let long = format!("PROXY {}", "x".repeat(101));
    assert_eq!(
        ProxyHeader::parse(long.as_bytes()),
        invalid("v1 line too long")
    );
}

#[test]
fn binary_headers_name_the_peer_or_are_refused() {
    let four = [10, 1, 2, 3, 10, 0, 0, 1, 0x10, 0x92, 0x10, 0x7e];
    let mut six = [0; 36];
    (six[0], six[15], six[33]) = (0xfd, 7, 9);
    let cases = [
        (v2(0x21, 0x11, &four), from("10.1.2.3:4242")),
        (v2(0x21, 0x21, &six), from("[fd00::7]:9")),
        (
            v2(0x21, 0x11, &[&four[..], b"\x04\0\x01x"].concat()),
            from("10.1.2.3:4242"),
        ),
        (v2(0x20, 0x00, b"junk"), Ok(ITSELF)),
        (v2(0x21, 0x01, b"junk"), Ok(ITSELF)),
    ];
    for (bytes, want) in cases {
        assert_eq!(ProxyHeader::parse(&bytes), want, "{bytes:x?}");
    }
    let refused = [
        (
            v2(0x11, 0x11, &four),
            "invalid PROXY protocol header: invalid version 0x10",
        ),
        (
            v2(0x22, 0x11, &four),
            "unknown PROXY protocol command: 0x02",
        ),
        (
            v2(0x21, 0x12, &four),
            "unsupported PROXY protocol feature: only STREAM protocol supported",
        ),
        (
            v2(0x21, 0x31, &four),
            "unsupported PROXY protocol feature: unsupported address family 0x30",
        ),
        (
            v2(0x21, 0x11, b"1234"),
            "IPv4 address data too short: 4 bytes",
        ),
        (
            v2(0x21, 0x21, &four),
            "IPv6 address data too short: 12 bytes",
        ),
        (
            b"\r\n\r\n\0\r\nQUIT!".to_vec(),
            "invalid PROXY protocol header: invalid signature",
        ),
    ];
    for (bytes, want) in refused {
        assert_eq!(
            ProxyHeader::parse(&bytes),
            Err(want.to_owned()),
            "{bytes:x?}"
        );
    }
}

#[test]
fn no_header_is_known_by_its_first_other_byte() {
    for text in ["C", "PI", "PROXX", "\x16\x03", "\r\n\r\n-", "PROXY\r"] {
        assert_eq!(
            ProxyHeader::parse(text.as_bytes()),
            Ok(ProxyHeader::Absent),
            "{text:?}"
        );
    }
}

#[test]
fn a_header_in_parts_asks_for_what_is_missing_and_never_for_more() {
    let four = [10, 1, 2, 3, 10, 0, 0, 1, 0x10, 0x92, 0x10, 0x7e];
    let binary = v2(0x21, 0x11, &[&four[..], &[0; 40]].concat());
    let line = b"PROXY TCP4 10.1.2.3 10.0.0.1 4242 4222\r\n".to_vec();
    for (whole, is_line) in [(binary, false), (line, true)] {
        for cut in 0..whole.len() {
            match ProxyHeader::parse(&whole[..cut]).unwrap() {
                ProxyHeader::More(more) => {
                    assert!(more > 0 && (is_line || cut + more <= whole.len()), "{cut}");
                }
                ProxyHeader::Whole { from, skip } => {
                    assert_eq!(from, Some("10.1.2.3:4242".parse().unwrap()));
                    assert_eq!(cut + skip, whole.len());
                }
                ProxyHeader::Absent => panic!("{cut}"),
            }
        }
    }
}
