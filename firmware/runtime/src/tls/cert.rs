use std::net::IpAddr;

use frond_account::{DnPart, PeerCert};
use sha2::{Digest, Sha256};

use super::names;
use frond_ocsp::der::{Der, Item, OCTET_STRING, OID, SEQUENCE};

/// What this server wants to know of a certificate (RFC 5280); nothing of it is verified here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Certificate {
    /// First to last as written.
    pub(crate) subject: Vec<DnPart>,
    /// Nanoseconds since 1970 from which it is good.
    pub(crate) not_before_ns: i64,
    /// Nanoseconds since 1970 until which it is good.
    pub(crate) not_after_ns: i64,
    pub(crate) emails: Vec<String>,
    pub(crate) dns_names: Vec<String>,
    pub(crate) uris: Vec<String>,
    pub(crate) ips: Vec<IpAddr>,
    pub(crate) spki_sha256: String,
    pub(crate) sha256: String,
}

const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const RFC822_NAME: u8 = 0x81;
const DNS_NAME: u8 = 0x82;
const URI: u8 = 0x86;
const IP_ADDRESS: u8 = 0x87;

impl Certificate {
    /// Reads a certificate; `None` when it is none.
    pub(crate) fn parse(der: &[u8]) -> Option<Self> {
        let whole = Der::new(der).tagged(SEQUENCE)?;
        let mut tbs = whole.inside().tagged(SEQUENCE)?.inside();
        tbs.tagged(0xa0);
        let (_serial, _algorithm, _issuer) =
            (tbs.next()?, tbs.tagged(SEQUENCE)?, tbs.tagged(SEQUENCE)?);
        let mut validity = tbs.tagged(SEQUENCE)?.inside();
        let subject = tbs.tagged(SEQUENCE)?;
        let spki = tbs.tagged(SEQUENCE)?;
        let mut read = Self {
            subject: names::parts(subject.inside()),
            not_before_ns: validity.next()?.time_ns()?,
            not_after_ns: validity.next()?.time_ns()?,
            spki_sha256: hex(&Sha256::digest(spki.whole)),
            sha256: hex(&Sha256::digest(der)),
            ..Self::default()
        };
        for extra in tbs.filter(|item| item.tag == 0xa3) {
            let list = extra.inside().tagged(SEQUENCE)?;
            for extension in list.inside() {
                read.extension(extension);
            }
        }
        Some(read)
    }

    fn extension(&mut self, extension: Item<'_>) {
        let mut inside = extension.inside();
        let is_names = inside
            .tagged(OID)
            .is_some_and(|id| id.value == SUBJECT_ALT_NAME);
        let value = inside.find(|item| item.tag == OCTET_STRING);
        let Some(list) = value.and_then(|value| value.inside().tagged(SEQUENCE)) else {
            return;
        };
        for name in list.inside().filter(|_| is_names) {
            let text = || String::from_utf8_lossy(name.value).into_owned();
            match name.tag {
                RFC822_NAME => self.emails.push(text()),
                DNS_NAME => self.dns_names.push(text()),
                URI => self.uris.push(text()),
                IP_ADDRESS => self.ips.extend(ip(name.value)),
                _ => {}
            }
        }
    }

    /// As sessions show it.
    pub(crate) fn peer(self, der: Vec<u8>) -> PeerCert {
        PeerCert {
            subject: names::go_subject(&self.subject),
            common_name: names::common_name(&self.subject),
            dn: self.subject,
            emails: self.emails,
            dns_names: self.dns_names,
            uris: self.uris,
            subject_pk_sha256: self.spki_sha256,
            cert_sha256: self.sha256,
            der,
        }
    }

    /// Whether it is for this name, by its alternative names.
    pub(crate) fn is_for(&self, name: &str) -> bool {
        if let Ok(ip) = name.parse::<IpAddr>() {
            return self.ips.contains(&ip);
        }
        let matches = |pattern: &String| match pattern.strip_prefix("*.") {
            Some(domain) => name
                .split_once('.')
                .is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain)),
            None => pattern.eq_ignore_ascii_case(name),
        };
        self.dns_names.iter().any(matches)
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_is_no_certificate() {
        for bytes in [&[][..], &[0x30, 0x02, 0x30, 0x00], &[0xff; 64]] {
            assert!(Certificate::parse(bytes).is_none());
        }
    }
}
