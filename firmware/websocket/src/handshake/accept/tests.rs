use super::*;
use crate::HeadError;

const GOOD: &str = "GET / HTTP/1.1\r\nHost: localhost:8080\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

fn judge(rules: &Rules, request: &str) -> Result<Accepted, Refusal> {
    match Head::parse(format!("{request}\r\n").as_bytes()) {
        Ok((head, _)) => rules.judge(&head, false),
        Err(HeadError::Refused(refusal)) => Err(refusal),
        Err(HeadError::Partial) => panic!("half a request: {request}"),
    }
}

fn refused(rules: &Rules, request: &str) -> (u16, String) {
    let refusal = judge(rules, request).unwrap_err();
    (refusal.status, refusal.reason.into_owned())
}

#[test]
fn the_key_of_the_standard_gets_its_answer() {
    assert_eq!(
        accept_key("dGhlIHNhbXBsZSBub25jZQ=="),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
    let accepted = judge(&Rules::default(), GOOD).unwrap();
    assert_eq!(accepted.endpoint, Endpoint::Client);
    assert_eq!(accepted.masking, Masking::Masked);
    assert_eq!(
        String::from_utf8(accepted.answer).unwrap(),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    );
}

#[test]
fn each_missing_point_is_refused_by_its_name() {
    let rules = Rules::default();
    for (from, to, status, reason) in [
        ("GET", "POST", 405, "request method must be GET"),
        (
            "Upgrade: websocket\r\nC",
            "C",
            400,
            "invalid value for header 'Upgrade'",
        ),
        (
            "keep-alive, Upgrade",
            "close",
            400,
            "invalid value for header 'Connection'",
        ),
        ("dGhlIHNhbXBsZSBub25jZQ==", "", 400, "key missing"),
        (
            "dGhlIHNhbXBsZSBub25jZQ==",
            "c2hvcnQ=",
            400,
            "invalid websocket key",
        ),
        ("Version: 13", "Version: 8", 400, "invalid version"),
        (
            "GET /",
            "GET /mqtt",
            404,
            "mqtt websocket endpoint not enabled",
        ),
        ("localhost:8080", "", 400, "'Host' missing in request"),
        (
            "Host: localhost:8080\r\n",
            "",
            400,
            "400 Bad Request: missing required Host header",
        ),
        (
            "1.1\r\nHost: localhost:8080",
            "1.0",
            400,
            "'Host' missing in request",
        ),
        (" HTTP/1.1", " FTP/1", 400, "400 Bad Request"),
    ] {
        let got = refused(&rules, &GOOD.replace(from, to));
        assert_eq!(got, (status, reason.to_owned()), "{from} -> {to}");
    }
}

#[test]
fn a_head_that_never_ends_is_refused() {
    let endless = format!("{GOOD}X: {}", "x".repeat(128 * 1024));
    let Err(HeadError::Refused(refusal)) = Head::parse(endless.as_bytes()) else {
        panic!("waits for more");
    };
    assert_eq!(refusal.status, 431);
    for cut in 0..GOOD.len() {
        assert_eq!(
            Head::parse(&GOOD.as_bytes()[..cut]),
            Err(HeadError::Partial)
        );
    }
}

#[test]
fn pages_from_elsewhere_stay_out() {
    let same = Rules {
        same_origin: true,
        ..Rules::default()
    };
    let listed = Rules {
        allowed_origins: vec![Origin::allowed("https://shop.example").unwrap()],
        ..Rules::default()
    };
    let from = |origin: &str| format!("{GOOD}Origin: {origin}\r\n");
    assert!(judge(&same, GOOD).is_ok() && judge(&listed, GOOD).is_ok());
    assert!(judge(&same, &from("http://LOCALHOST:8080")).is_ok());
    for elsewhere in ["https://localhost:8080", "http://localhost", "http://evil"] {
        let why = "origin not allowed: not same origin".to_owned();
        assert_eq!(refused(&same, &from(elsewhere)), (403, why), "{elsewhere}");
    }
    assert!(judge(&listed, &from("https://Shop.example:443")).is_ok());
    for elsewhere in ["http://shop.example", "https://shop.example:8443", "null/"] {
        assert_eq!(refused(&listed, &from(elsewhere)).0, 403, "{elsewhere}");
    }
    let (_, why) = refused(&listed, &from("null"));
    assert_eq!(
        why,
        "origin not allowed: parse \"null\": invalid URI for request"
    );
}

#[test]
fn what_was_agreed_is_in_the_answer() {
    let rules = Rules {
        compression: true,
        headers: vec![("X-Shop".to_owned(), "7".to_owned())],
        ..Rules::default()
    };
    let asks = format!(
        "{}Sec-WebSocket-Extensions: x-other, permessage-deflate; client_max_window_bits\r\nNats-No-Masking: true\r\nX-Forwarded-For: 10.1.2.3\r\n",
        GOOD.replace("GET /", "GET /site/leafnode?x=1")
    );
    let accepted = judge(&rules, &asks).unwrap();
    assert_eq!(accepted.endpoint, Endpoint::Leaf);
    assert!(accepted.compression);
    assert_eq!(accepted.masking, Masking::Bare);
    assert_eq!(accepted.forwarded_for, Some("10.1.2.3".parse().unwrap()));
    let answer = String::from_utf8(accepted.answer).unwrap();
    assert!(answer.ends_with("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\nNats-No-Masking: true\r\nX-Shop: 7\r\n\r\n"));
    assert!(!judge(&Rules::default(), &asks).unwrap().compression);
}

#[test]
fn browsers_are_known_by_their_agent() {
    let rules = Rules {
        compression: true,
        ..Rules::default()
    };
    let browser = |agent: &str, deflate: bool| {
        let offer = if deflate {
            "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        } else {
            ""
        };
        let request = format!("{GOOD}{offer}User-Agent: {agent}\r\n");
        judge(&rules, &request).unwrap().browser
    };
    let safari = "Mozilla/5.0 (Macintosh) Version/14.0 Safari/605";
    assert_eq!(browser("curl/8", true), Browser::No);
    assert_eq!(
        browser("Mozilla/5.0 Chrome/90 Safari/5", true),
        Browser::Yes
    );
    assert_eq!(browser(safari, true), Browser::Safari);
    assert_eq!(browser(safari, false), Browser::Yes);
}

#[test]
fn cookies_mean_what_the_operator_says() {
    let rules = Rules {
        cookies: CookieNames {
            jwt: Some("session".to_owned()),
            user: Some("who".to_owned()),
            ..CookieNames::default()
        },
        ..Rules::default()
    };
    let request = format!("{GOOD}Cookie: a=b; session=\"e.y.j\"; token=t\r\nCookie: who=ann\r\n");
    let cookies = judge(&rules, &request).unwrap().cookies;
    assert_eq!(cookies.jwt.as_deref(), Some("e.y.j"));
    assert_eq!(cookies.user.as_deref(), Some("ann"));
    assert_eq!((cookies.password, cookies.token), (None, None));
    assert!(judge(&rules, GOOD).unwrap().cookies.is_empty());
}
