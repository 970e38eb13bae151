use super::*;
use crate::der::{BIT_STRING, GENERALIZED_TIME, put};
use crate::request;

/// A signature of these tests: the key, and how many bytes it is about.
fn sign(key: &[u8], message: &[u8]) -> Vec<u8> {
    let sum = message
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    [key, &[sum]].concat()
}

fn is_good(it: Signature<'_>) -> bool {
    sign(it.key, it.message) == it.signature
}

fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, tag, &parts.concat());
    out
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    value(BIT_STRING, &[&[0], bytes])
}

fn signed(message: &[u8], key: &[u8], rest: &[u8]) -> Vec<u8> {
    let algorithm = value(SEQUENCE, &[]);
    let signature = bits(&sign(key, message));
    value(SEQUENCE, &[message, &algorithm, &signature, rest])
}

fn extension(oid: &[u8], inner: &[u8]) -> Vec<u8> {
    let octets = value(OCTET_STRING, &[inner]);
    value(SEQUENCE, &[&value(OID, &[oid]), &octets])
}

fn cert(serial: u8, issuer: &[u8], subject: &[u8], by: &[u8], extensions: &[u8]) -> Vec<u8> {
    let name = |text: &[u8]| value(SEQUENCE, &[text]);
    let algorithm = value(SEQUENCE, &[]);
    let key = value(SEQUENCE, &[&algorithm, &bits(subject)]);
    let extensions = value(0xa3, &[&value(SEQUENCE, &[extensions])]);
    let number = value(INTEGER, &[&[serial]]);
    let tbs = [
        number,
        algorithm,
        name(issuer),
        value(SEQUENCE, &[]),
        name(subject),
        key,
        extensions,
    ];
    signed(&value(SEQUENCE, &[&tbs.concat()]), by, &[])
}

fn single(serial: u8, status: &[u8], this: &str, next: Option<&str>) -> Vec<u8> {
    let id = value(SEQUENCE, &[&value(INTEGER, &[&[serial]])]);
    let time = |text: &str| value(GENERALIZED_TIME, &[text.as_bytes()]);
    let next = next.map(|next| value(0xa0, &[&time(next)]));
    value(
        SEQUENCE,
        &[&id, status, &time(this), &next.unwrap_or_default()],
    )
}

fn answer(singles: &[u8], by: &[u8], certs: &[u8]) -> Vec<u8> {
    let who = value(BY_KEY, &[&value(OCTET_STRING, &[b"k"])]);
    let time = value(GENERALIZED_TIME, &[b"20260101000000Z"]);
    let data = value(SEQUENCE, &[&who, &time, &value(SEQUENCE, &[singles])]);
    let basic = signed(&data, by, certs);
    let octets = value(OCTET_STRING, &[&basic]);
    let body = value(SEQUENCE, &[&value(OID, &[BASIC]), &octets]);
    let status = value(ENUMERATED, &[&[0]]);
    value(SEQUENCE, &[&status, &value(0xa0, &[&body])])
}

const GOOD: &[u8] = &[0x80, 0];
const THIS: &str = "20260101000000Z";
const NEXT: &str = "20260102000000Z";

fn read(bytes: &[u8]) -> Result<(Status, bool), Fault> {
    let (ca, leaf) = (cert(1, b"ca", b"ca", b"ca", &[]), leaf());
    let (ca, leaf) = (Cert::read(&ca).unwrap(), Cert::read(&leaf).unwrap());
    let response = Response::read(bytes, &leaf, &ca, &is_good)?;
    Ok((response.status, response.is_authorized(&ca)))
}

fn leaf() -> Vec<u8> {
    cert(7, b"ca", b"leaf", b"ca", &[])
}

fn certs(list: &[u8]) -> Vec<u8> {
    value(0xa0, &[&value(SEQUENCE, &[list])])
}

#[test]
fn the_issuer_or_whom_it_charged_answers() {
    let good = single(7, GOOD, THIS, Some(NEXT));
    assert_eq!(read(&answer(&good, b"ca", &[])), Ok((Status::Good, true)));
    let forged = answer(&good, b"other", &[]);
    assert_eq!(read(&forged), Err(Fault::Signature));
    let usage = extension(
        &[0x55, 0x1d, 0x25],
        &value(SEQUENCE, &[&value(OID, &[&[0x2b, 6, 1, 5, 5, 7, 3, 9]])]),
    );
    for (extensions, is_authorized) in [(usage.as_slice(), true), (&[], false)] {
        let delegate = cert(9, b"ca", b"delegate", b"ca", extensions);
        let bytes = answer(&good, b"delegate", &certs(&delegate));
        assert_eq!(read(&bytes), Ok((Status::Good, is_authorized)));
        let bytes = answer(&good, b"other", &certs(&delegate));
        assert_eq!(read(&bytes), Err(Fault::Embedded));
    }
    let stranger = cert(9, b"ca", b"delegate", b"other", &usage);
    let bytes = answer(&good, b"delegate", &certs(&stranger));
    assert_eq!(read(&bytes), Err(Fault::Signature));
    let own = cert(1, b"ca", b"ca", b"ca", &[]);
    let bytes = answer(&good, b"ca", &certs(&own));
    assert_eq!(read(&bytes), Ok((Status::Good, true)));
}

#[test]
fn only_what_is_said_about_the_certificate_counts() {
    let revoked = single(7, &[0xa1, 0], THIS, None);
    let list = [single(6, GOOD, THIS, None), revoked].concat();
    let bytes = answer(&list, b"ca", &[]);
    assert_eq!(read(&bytes), Ok((Status::Revoked, true)));
    let bytes = answer(&single(7, &[0x82, 0], THIS, None), b"ca", &[]);
    assert_eq!(read(&bytes), Ok((Status::Unknown, true)));
    let bytes = answer(&single(6, GOOD, THIS, None), b"ca", &[]);
    assert_eq!(read(&bytes), Err(Fault::Other));
    assert_eq!(read(&answer(&[], b"ca", &[])), Err(Fault::Empty));
}

#[test]
fn a_refusal_is_named() {
    for (status, want) in [
        (3, "ocsp: error from server: try later"),
        (6, "ocsp: error from server: unauthorized"),
        (9, "ocsp: error from server: unknown OCSP status: 9"),
    ] {
        let bytes = value(SEQUENCE, &[&value(ENUMERATED, &[&[status]])]);
        assert_eq!(read(&bytes).unwrap_err().to_string(), want);
    }
}

#[test]
fn what_is_damaged_is_not_believed() {
    let whole = answer(&single(7, GOOD, THIS, Some(NEXT)), b"ca", &[]);
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "{end}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert_eq!(read(&longer), Err(Fault::Trailing));
}

#[test]
fn an_answer_is_good_for_a_while() {
    let (second, minute) = (1_000_000_000, Duration::from_secs(60));
    let of = |next| Response {
        status: Status::Good,
        this_update_ns: 1_000 * second,
        next_update_ns: next,
        signer: None,
    };
    let (with, without) = (of(Some(2_000 * second)), of(None));
    let ttl = Duration::from_secs(500);
    let at = |response: &Response<'_>, now: i64| response.currency(now * second, minute, ttl);
    for (now, want) in [
        (939, Currency::Future(1_000 * second)),
        (940, Currency::Current),
        (2_060, Currency::Current),
        (2_061, Currency::Expired(2_000 * second)),
    ] {
        assert_eq!(at(&with, now), want, "{now}");
    }
    assert_eq!(at(&without, 1_560), Currency::Current);
    assert_eq!(at(&without, 1_561), Currency::TtlExpired(1_500 * second));
}

#[test]
fn a_question_names_the_certificate_and_its_issuer() {
    let (ca, leaf) = (cert(1, b"ca", b"ca", b"ca", &[]), leaf());
    let (ca, leaf) = (Cert::read(&ca).unwrap(), Cert::read(&leaf).unwrap());
    let bytes = request(&leaf, &ca);
    let mut id = Der::new(&bytes);
    for _ in 0..5 {
        id = id.tagged(SEQUENCE).unwrap().inside();
    }
    let parts: Vec<(u8, usize)> = id.map(|item| (item.tag, item.value.len())).collect();
    let want = [
        (SEQUENCE, 9),
        (OCTET_STRING, 20),
        (OCTET_STRING, 20),
        (INTEGER, 1),
    ];
    assert_eq!(parts, want);
    assert!(leaf.is_signed_by(&ca, &is_good) && !ca.is_signed_by(&leaf, &is_good));
}

#[test]
fn a_certificate_says_where_to_ask_and_whether_it_must_be_stapled() {
    let at = [
        value(OID, &[&[0x2b, 6, 1, 5, 5, 7, 0x30, 1]]),
        value(0x86, &[b"http://a/x"]),
    ];
    let other = [value(OID, &[&[0x2b]]), value(0x86, &[b"http://b"])];
    let list = [
        value(SEQUENCE, &[&at.concat()]),
        value(SEQUENCE, &[&other.concat()]),
    ];
    let info = extension(
        &[0x2b, 6, 1, 5, 5, 7, 1, 1],
        &value(SEQUENCE, &[&list.concat()]),
    );
    let feature = value(SEQUENCE, &[&value(INTEGER, &[&[5]])]);
    let feature = extension(&[0x2b, 6, 1, 5, 5, 7, 1, 24], &feature);
    let is_ca = extension(
        &[0x55, 0x1d, 0x13],
        &value(SEQUENCE, &[&value(BOOLEAN, &[&[0xff]])]),
    );
    let all = [info, feature, is_ca].concat();
    let der = cert(7, b"ca", b"leaf", b"ca", &all);
    let read = Cert::read(&der).unwrap();
    assert_eq!(read.responders, ["http://a/x"]);
    assert!(read.must_staple && read.is_ca && !read.signs_answers);
    let der = leaf();
    let read = Cert::read(&der).unwrap();
    assert!(!read.must_staple && !read.is_ca && read.responders.is_empty());
}
