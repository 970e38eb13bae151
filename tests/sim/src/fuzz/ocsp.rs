use std::time::Duration;

use frond_ocsp::{Cert, Response, Signature, Status, request};

/// A certificate, whoever made it, and an answer about it, whoever signed that: what is believed
/// was signed, and says something of that certificate.
///
/// Input: a length in two bytes, a certificate of that length, an answer.
pub fn ocsp(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk::<2>() else {
        return;
    };
    let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
    let (cert, answer) = rest.split_at(length);
    let Some(cert) = Cert::read(cert) else {
        return;
    };
    assert!(cert.whole.len() <= length, "no longer than what is there");
    let question = request(&cert, &cert);
    assert!(
        question.len() > cert.serial.len(),
        "it names the certificate"
    );
    let any = |_: Signature<'_>| true;
    let nobody = |_: Signature<'_>| false;
    assert!(Response::read(answer, &cert, &cert, &nobody).is_err());
    let Ok(response) = Response::read(answer, &cert, &cert, &any) else {
        return;
    };
    let name = response.status.name();
    assert_eq!(name == "good", response.status == Status::Good);
    for now in [i64::MIN, response.this_update_ns, i64::MAX] {
        let _ = response.currency(now, Duration::from_secs(30), Duration::MAX);
    }
    let _ = response.is_authorized(&cert);
}
