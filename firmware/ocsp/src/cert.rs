use crate::der::{BIT_STRING, BOOLEAN, Der, INTEGER, Item, OCTET_STRING, OID, SEQUENCE};

/// What has to be known of a certificate to ask about it and to believe an answer (RFC 5280).
/// Nothing of it is verified.
#[derive(Clone, Debug)]
pub struct Cert<'a> {
    /// All of it.
    pub whole: &'a [u8],
    /// Its number, as the bytes of an `INTEGER`.
    pub serial: &'a [u8],
    /// The name of who signed it, in DER.
    pub issuer: &'a [u8],
    /// Its own name, in DER.
    pub subject: &'a [u8],
    /// It may sign certificates.
    pub is_ca: bool,
    /// It is only good with an answer of its responder (RFC 7633).
    pub must_staple: bool,
    /// It may sign answers about certificates of the same issuer.
    pub signs_answers: bool,
    /// Where to ask about it.
    pub responders: Vec<String>,
    /// Its own key.
    key: Key<'a>,
    /// What signed it.
    signed: Signed<'a>,
}

/// A public key.
#[derive(Clone, Copy, Debug)]
struct Key<'a> {
    algorithm: &'a [u8],
    bits: &'a [u8],
}

/// Bytes and who signed them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a> {
    pub(crate) message: &'a [u8],
    pub(crate) algorithm: &'a [u8],
    pub(crate) signature: &'a [u8],
}

/// A signature to check: whether it was made of `message` with `key`.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// The `AlgorithmIdentifier` of the key, without its own tag and length.
    pub key_algorithm: &'a [u8],
    /// The key.
    pub key: &'a [u8],
    /// The `AlgorithmIdentifier` of the signature, without its own tag and length.
    pub algorithm: &'a [u8],
    /// What was signed.
    pub message: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
}

const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const AUTHORITY_INFO: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 1];
const TLS_FEATURE: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 24];
const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];
const OCSP: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 0x30, 1];
/// The extension of TLS that asks for a staple (RFC 6066).
const STATUS_REQUEST: u8 = 5;
const URI: u8 = 0x86;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

impl<'a> Cert<'a> {
    /// Reads a certificate; `None` when it is none.
    #[must_use]
    pub fn read(der: &'a [u8]) -> Option<Self> {
        let mut outer = Der::new(der);
        let item = outer.tagged(SEQUENCE)?;
        let mut cert = item.inside();
        let tbs = cert.tagged(SEQUENCE)?;
        let signed = Signed::read(tbs, &mut cert)?;
        let mut tbs = tbs.inside();
        tbs.tagged(VERSION);
        let serial = tbs.tagged(INTEGER)?.value;
        tbs.tagged(SEQUENCE)?;
        let issuer = tbs.tagged(SEQUENCE)?.whole;
        tbs.tagged(SEQUENCE)?;
        let subject = tbs.tagged(SEQUENCE)?.whole;
        let key = Key::read(tbs.tagged(SEQUENCE)?)?;
        let mut read = Self {
            whole: item.whole,
            serial,
            issuer,
            subject,
            is_ca: false,
            must_staple: false,
            signs_answers: false,
            responders: Vec::new(),
            key,
            signed,
        };
        for extra in tbs.filter(|item| item.tag == EXTENSIONS) {
            for extension in extra.inside().tagged(SEQUENCE)?.inside() {
                read.extension(extension);
            }
        }
        Some(read)
    }

    fn extension(&mut self, extension: Item<'a>) {
        let mut inside = extension.inside();
        let Some(id) = inside.tagged(OID) else {
            return;
        };
        let value = inside.find(|item| item.tag == OCTET_STRING);
        let Some(mut list) =
            value.and_then(|value| Some(value.inside().tagged(SEQUENCE)?.inside()))
        else {
            return;
        };
        match id.value {
            BASIC_CONSTRAINTS => {
                let is_ca = list.tagged(BOOLEAN);
                self.is_ca = is_ca.is_some_and(|item| item.value == [0xff]);
            }
            EXTENDED_KEY_USAGE => {
                self.signs_answers = list.any(|id: Item<'_>| id.value == OCSP_SIGNING)
            }
            TLS_FEATURE => self.must_staple = list.any(|it: Item<'_>| it.value == [STATUS_REQUEST]),
            AUTHORITY_INFO => self.responders = list.filter_map(responder).collect(),
            _ => {}
        }
    }

    /// The bits of its public key.
    #[must_use]
    pub const fn key_bits(&self) -> &'a [u8] {
        self.key.bits
    }

    /// Whether `issuer` signed it: the name fits, and the signature does.
    #[must_use]
    pub fn is_signed_by(&self, issuer: &Cert<'_>, is_good: &dyn Fn(Signature<'_>) -> bool) -> bool {
        self.issuer == issuer.subject && issuer.signed(self.signed, is_good)
    }

    /// Whether its key made that signature.
    pub(crate) fn signed(
        &self,
        signed: Signed<'_>,
        is_good: &dyn Fn(Signature<'_>) -> bool,
    ) -> bool {
        is_good(Signature {
            key_algorithm: self.key.algorithm,
            key: self.key.bits,
            algorithm: signed.algorithm,
            message: signed.message,
            signature: signed.signature,
        })
    }

    pub(crate) const fn own_signature(&self) -> Signed<'a> {
        self.signed
    }
}

impl<'a> Key<'a> {
    fn read(item: Item<'a>) -> Option<Self> {
        let mut inside = item.inside();
        Some(Self {
            algorithm: inside.tagged(SEQUENCE)?.value,
            bits: inside.tagged(BIT_STRING)?.bits()?,
        })
    }
}

impl<'a> Signed<'a> {
    /// The algorithm and the signature come after what was signed.
    pub(crate) fn read(message: Item<'a>, after: &mut Der<'a>) -> Option<Self> {
        Some(Self {
            message: message.whole,
            algorithm: after.tagged(SEQUENCE)?.value,
            signature: after.tagged(BIT_STRING)?.bits()?,
        })
    }
}

fn responder(access: Item<'_>) -> Option<String> {
    let mut inside = access.inside();
    let is_ocsp = inside.tagged(OID)?.value == OCSP;
    let at = inside.tagged(URI).filter(|_| is_ocsp)?;
    Some(String::from_utf8_lossy(at.value).into_owned())
}
