use sha1::{Digest, Sha1};

use crate::Cert;
use crate::der::{INTEGER, OCTET_STRING, SEQUENCE, put};

/// SHA-1, with the `NULL` that it has for parameters. Who answers has to find the issuer by it:
/// nothing is proven by this hash.
const SHA1: &[u8] = &[0x30, 9, 6, 5, 0x2b, 0x0e, 3, 2, 0x1a, 5, 0];

/// The question whether `cert`, which `issuer` signed, is still good (RFC 6960 4.1.1).
///
/// spec: golang.org/x/crypto/ocsp `CreateRequest`
#[must_use]
pub fn request(cert: &Cert<'_>, issuer: &Cert<'_>) -> Vec<u8> {
    let mut id = SHA1.to_vec();
    put(&mut id, OCTET_STRING, &Sha1::digest(issuer.subject));
    put(&mut id, OCTET_STRING, &Sha1::digest(issuer.key_bits()));
    put(&mut id, INTEGER, cert.serial);
    // CertID, Request, requestList, TBSRequest, OCSPRequest
    (0..5).fold(id, |inner, _| {
        let mut outer = Vec::new();
        put(&mut outer, SEQUENCE, &inner);
        outer
    })
}
