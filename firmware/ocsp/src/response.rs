use std::time::Duration;

use crate::cert::Signed;
use crate::der::{BOOLEAN, Der, ENUMERATED, INTEGER, Item, OCTET_STRING, OID, SEQUENCE};
use crate::{Cert, Fault, Signature};

/// What a responder says about one certificate.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// Whether it is good.
    pub status: Status,
    /// Since when that is known, in nanoseconds since 1970.
    pub this_update_ns: i64,
    /// When more will be known.
    pub next_update_ns: Option<i64>,
    /// Who signed it, unless that is only said by its key.
    signer: Option<Cert<'a>>,
}

/// Whether a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is.
    Good,
    /// It was taken back.
    Revoked,
    /// The responder does not know it.
    Unknown,
}

/// Whether an answer is to be relied on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Currency {
    /// It is.
    Current,
    /// More has been known since then.
    Expired(i64),
    /// It is older, since then, than one that says nothing of the next may be.
    TtlExpired(i64),
    /// It is from later than now.
    Future(i64),
}

/// `id-pkix-ocsp-basic`
const BASIC: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];
const BY_NAME: u8 = 0xa1;
const BY_KEY: u8 = 0xa2;

impl Status {
    /// `good`, `revoked` or `unknown`
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Revoked => "revoked",
            Self::Unknown => "unknown",
        }
    }
}

impl<'a> Response<'a> {
    /// What `bytes` say about `cert`, when `issuer`, who signed that, or somebody it charged with
    /// it, signed them. `is_good` tells whether a signature is.
    ///
    /// # Errors
    /// Why that is not believed.
    ///
    /// spec: golang.org/x/crypto/ocsp `ParseResponseForCert`
    pub fn read(
        bytes: &'a [u8],
        cert: &Cert<'_>,
        issuer: &Cert<'_>,
        is_good: &dyn Fn(Signature<'_>) -> bool,
    ) -> Result<Self, Fault> {
        let mut basic = basic(bytes)?;
        let data = basic.tagged(SEQUENCE).ok_or(Fault::Malformed)?;
        let signed = Signed::read(data, &mut basic).ok_or(Fault::Malformed)?;
        let certs = basic.tagged(0xa0);
        let single = about(data, cert)?;
        let signer = match certs.and_then(|certs| certs.inside().tagged(SEQUENCE)) {
            Some(list) => list.inside().next(),
            None => None,
        };
        let signer = match signer {
            Some(item) => Some(Cert::read(item.whole).ok_or(Fault::Malformed)?),
            None => None,
        };
        match &signer {
            Some(signer) if !signer.signed(signed, is_good) => return Err(Fault::Embedded),
            Some(signer) if !issuer.signed(signer.own_signature(), is_good) => {
                return Err(Fault::Signature);
            }
            None if !issuer.signed(signed, is_good) => return Err(Fault::Signature),
            Some(_) | None => {}
        }
        let mut read = Self::single(single)?;
        read.signer = signer;
        Ok(read)
    }

    fn single(mut single: Der<'_>) -> Result<Self, Fault> {
        let status = match single.next().ok_or(Fault::Malformed)?.tag {
            0x80 => Status::Good,
            0xa1 => Status::Revoked,
            0x82 => Status::Unknown,
            _ => return Err(Fault::Malformed),
        };
        let time = |item: Item<'_>| item.time_ns().ok_or(Fault::Malformed);
        let this_update_ns = time(single.next().ok_or(Fault::Malformed)?)?;
        let next = single.tagged(0xa0).map(|next| next.inside().next());
        let next_update_ns = match next {
            Some(next) => Some(time(next.ok_or(Fault::Malformed)?)?),
            None => None,
        };
        let more = single.tagged(0xa1);
        let extensions = more.and_then(|more| more.inside().tagged(SEQUENCE));
        if extensions.is_some_and(|list| list.inside().any(|one| is_critical(&one))) {
            return Err(Fault::Critical);
        }
        Ok(Self {
            status,
            this_update_ns,
            next_update_ns,
            signer: None,
        })
    }

    /// Whether it is signed by the issuer itself or by somebody whom that charged with answers
    /// (RFC 6960 4.2.2.2).
    #[must_use]
    pub fn is_authorized(&self, issuer: &Cert<'_>) -> bool {
        let signer = self.signer.as_ref();
        signer.is_none_or(|signer| signer.whole == issuer.whole || signer.signs_answers)
    }

    /// Whether it is to be relied on `now`, with clocks that are apart by up to `skew`; one that
    /// does not tell of a next one is for `ttl`.
    ///
    /// spec: nats-server v2.15.1 server/certidp/certidp.go `OCSPResponseCurrent`
    #[must_use]
    pub fn currency(&self, now_ns: i64, skew: Duration, ttl: Duration) -> Currency {
        let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        let (skew, ttl) = (nanos(skew), nanos(ttl));
        let past = now_ns.saturating_sub(skew);
        match self.next_update_ns {
            Some(next) if next < past => return Currency::Expired(next),
            None if self.this_update_ns.saturating_add(ttl) < past => {
                return Currency::TtlExpired(self.this_update_ns.saturating_add(ttl));
            }
            Some(_) | None => {}
        }
        if self.this_update_ns > now_ns.saturating_add(skew) {
            return Currency::Future(self.this_update_ns);
        }
        Currency::Current
    }
}

/// The part that is signed, and with what.
fn basic(bytes: &[u8]) -> Result<Der<'_>, Fault> {
    let mut whole = Der::new(bytes);
    let response = whole.tagged(SEQUENCE).ok_or(Fault::Malformed)?;
    if !whole.is_empty() {
        return Err(Fault::Trailing);
    }
    let mut response = response.inside();
    let status = response.tagged(ENUMERATED).ok_or(Fault::Malformed)?;
    match status.value {
        [0] => {}
        [status] => return Err(Fault::Refused(*status)),
        _ => return Err(Fault::Malformed),
    }
    let body = response.tagged(0xa0).ok_or(Fault::Kind)?;
    let mut body = body.inside().tagged(SEQUENCE).ok_or(Fault::Kind)?.inside();
    let kind = body.tagged(OID).ok_or(Fault::Kind)?;
    if kind.value != BASIC {
        return Err(Fault::Kind);
    }
    let octets = body.tagged(OCTET_STRING).ok_or(Fault::Malformed)?;
    let mut octets = octets.inside();
    let basic = octets.tagged(SEQUENCE).ok_or(Fault::Malformed)?;
    if octets.is_empty() {
        Ok(basic.inside())
    } else {
        Err(Fault::Trailing)
    }
}

/// What is said about the certificate with that number.
fn about<'a>(data: Item<'a>, cert: &Cert<'_>) -> Result<Der<'a>, Fault> {
    let mut data = data.inside();
    data.tagged(0xa0);
    let who = data.next().ok_or(Fault::Malformed)?;
    if who.tag != BY_NAME && who.tag != BY_KEY {
        return Err(Fault::Responder);
    }
    data.next().ok_or(Fault::Malformed)?;
    let list = data.tagged(SEQUENCE).ok_or(Fault::Malformed)?;
    let mut any = false;
    for single in list.inside() {
        any = true;
        let mut inside = single.inside();
        let id = inside.tagged(SEQUENCE).ok_or(Fault::Malformed)?;
        let serial = id.inside().find(|item| item.tag == INTEGER);
        if serial.is_some_and(|serial| serial.value == cert.serial) {
            return Ok(inside);
        }
    }
    Err(if any { Fault::Other } else { Fault::Empty })
}

fn is_critical(extension: &Item<'_>) -> bool {
    let mut inside = extension.inside();
    inside.tagged(OID);
    inside
        .tagged(BOOLEAN)
        .is_some_and(|critical| critical.value != [0])
}

#[cfg(test)]
mod tests;
