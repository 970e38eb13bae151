//! Distinguished names, read and printed as Go does.
//! spec: Go crypto/x509/pkix `RDNSequence.String`, `Name.String`; RFC 2253

use frond_account::DnPart;

use frond_ocsp::der::{Der, Item, OID, SEQUENCE, dotted};

/// Types with a short name, and where Go's `Name` has a field for them: the place in which
/// `ToRDNSequence` writes it.
const TYPES: &[(&str, &str, Option<usize>)] = &[
    ("2.5.4.6", "C", Some(0)),
    ("2.5.4.10", "O", Some(1)),
    ("2.5.4.11", "OU", Some(2)),
    ("2.5.4.7", "L", Some(3)),
    ("2.5.4.8", "ST", Some(4)),
    ("2.5.4.9", "STREET", Some(5)),
    ("2.5.4.17", "POSTALCODE", Some(6)),
    ("2.5.4.3", "CN", Some(7)),
    ("2.5.4.5", "SERIALNUMBER", Some(8)),
    ("0.9.2342.19200300.100.1.25", "DC", None),
];

/// How many of those Go writes.
const FIELDS: usize = 9;

/// The parts of a name in the order of the certificate.
pub(crate) fn parts(name: Der<'_>) -> Vec<DnPart> {
    name.map(|set| {
        set.inside()
            .filter(|pair| pair.tag == SEQUENCE)
            .filter_map(pair)
            .collect()
    })
    .collect()
}

fn pair(item: Item<'_>) -> Option<(String, String)> {
    let mut inside = item.inside();
    let oid = dotted(inside.tagged(OID)?.value);
    let value = inside.next()?;
    let known = TYPES.iter().find(|(dots, ..)| *dots == oid);
    let kind = known.map_or(oid, |(_, short, _)| (*short).to_owned());
    let text = match value.tag {
        // BMPString
        0x1e => {
            let units = value
                .value
                .chunks_exact(2)
                .filter_map(|two| <[u8; 2]>::try_from(two).ok().map(u16::from_be_bytes));
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        _ => String::from_utf8_lossy(value.value).into_owned(),
    };
    Some((kind, text))
}

/// The last common name, as Go keeps it.
pub(crate) fn common_name(parts: &[DnPart]) -> String {
    let mut pairs = parts.iter().flatten();
    pairs
        .rfind(|(kind, _)| kind == "CN")
        .map(|(_, value)| value.clone())
        .unwrap_or_default()
}

/// Go's `Subject.String()`: its own fields in its own order, last first, then all others.
pub(crate) fn go_subject(parts: &[DnPart]) -> String {
    let place = |kind: &str| {
        let known = TYPES.iter().find(|(_, short, _)| *short == kind);
        known.and_then(|(_, _, place)| *place)
    };
    let pairs = || parts.iter().flatten();
    let mut sequence: Vec<Vec<&(String, String)>> = pairs()
        .filter(|(kind, _)| place(kind).is_none())
        .map(|pair| vec![pair])
        .collect();
    for field in 0..FIELDS {
        let same: Vec<_> = pairs()
            .filter(|(kind, _)| place(kind) == Some(field))
            .collect();
        // Of these Go keeps only the last.
        let single = field >= 7;
        let same = if single {
            same.into_iter().next_back().into_iter().collect()
        } else {
            same
        };
        if !same.is_empty() {
            sequence.push(same);
        }
    }
    let printed: Vec<String> = sequence
        .iter()
        .rev()
        .map(|set| {
            set.iter()
                .map(|pair| print(pair))
                .collect::<Vec<_>>()
                .join("+")
        })
        .collect();
    printed.join(",")
}

fn print((kind, value): &(String, String)) -> String {
    if TYPES
        .iter()
        .any(|(_, short, place)| short == kind && place.is_some())
    {
        return format!("{kind}={}", escaped(value));
    }
    let oid = TYPES
        .iter()
        .find(|(_, short, _)| short == kind)
        .map_or(kind.as_str(), |(dots, ..)| *dots);
    // As Go marshals a string: printable if it can be, else UTF-8.
    let printable = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
    let tag = if value.chars().all(printable) {
        0x13
    } else {
        0x0c
    };
    let mut der = vec![tag, u8::try_from(value.len()).unwrap_or(u8::MAX)];
    der.extend(value.bytes());
    format!("{oid}=#{}", super::cert::hex(&der))
}

fn escaped(value: &str) -> String {
    let mut out = String::new();
    let last = value.chars().count().saturating_sub(1);
    for (at, c) in value.chars().enumerate() {
        let escape = match c {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' => true,
            ' ' => at == 0 || at == last,
            '#' => at == 0,
            _ => false,
        };
        if escape {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pairs: &[(&str, &str)]) -> Vec<DnPart> {
        let one = |(kind, value): &(&str, &str)| vec![((*kind).to_owned(), (*value).to_owned())];
        pairs.iter().map(one).collect()
    }

    #[test]
    fn subjects_are_printed_as_go_does() {
        let subject = name(&[("C", "US"), ("O", "nats"), ("OU", "a, b"), ("CN", " x ")]);
        assert_eq!(go_subject(&subject), "CN=\\ x\\ ,OU=a\\, b,O=nats,C=US");
        let subject = name(&[("CN", "y"), ("O", "n"), ("DC", "com")]);
        let domain = "0.9.2342.19200300.100.1.25=#1303636f6d";
        assert_eq!(go_subject(&subject), format!("CN=y,O=n,{domain}"));
        let subject = name(&[("OU", "a"), ("OU", "b"), ("CN", "c")]);
        assert_eq!(go_subject(&subject), "CN=c,OU=a+OU=b");
        assert_eq!(common_name(&subject), "c");
    }
}
