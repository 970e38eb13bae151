use frond_websocket::{
    CookieNames, Event, Fault, Head, HeadError, Inflater, Masking, Origin, Receiver, Rules,
    Settings,
};

/// What a message may inflate to here.
const PAYLOAD_BYTES_MAX: u64 = 64 * 1024;

/// The first byte says how to cut, the rest is read as a request and as frames.
///
/// However it is cut, the same stream and the same control frames come out before the same
/// fault, and a request is refused, waited for, or answered.
pub fn websocket(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    request(rest);
    let settings = Settings {
        masking: if first & 1 == 0 {
            Masking::Masked
        } else {
            Masking::Bare
        },
        compression: first & 2 == 0,
        payload_bytes_max: PAYLOAD_BYTES_MAX,
    };
    let whole = read(settings, rest, rest.len());
    let pieces = read(settings, rest, usize::from(first >> 2) + 1);
    assert_eq!(whole.1, pieces.1, "the fault");
    assert!(whole.0.controls == pieces.0.controls, "the control frames");
    // A fault in a message leaves it open how much of that message came out before.
    let common = whole.0.stream.len().min(pieces.0.stream.len());
    assert!(
        whole.0.stream.get(..common) == pieces.0.stream.get(..common),
        "the stream"
    );
    assert!(whole.1.is_some() || whole.0.stream.len() == pieces.0.stream.len());
}

#[derive(Default)]
struct Seen {
    stream: Vec<u8>,
    controls: Vec<Vec<u8>>,
}

fn read(settings: Settings, raw: &[u8], piece: usize) -> (Seen, Option<Fault>) {
    let (mut receiver, mut inflater) = (Receiver::new(settings), Inflater::new());
    let mut seen = Seen::default();
    for now in raw.chunks(piece.max(1)) {
        let (mut now, mut at) = (now.to_vec(), 0);
        loop {
            match receiver.next(&mut now, &mut at, &mut inflater) {
                Ok(None) => break,
                Ok(Some(Event::Data(bytes))) => {
                    assert!(!bytes.is_empty(), "no empty data");
                    seen.stream.extend_from_slice(bytes);
                }
                Ok(Some(Event::Ping(payload))) => seen.controls.push(payload),
                Ok(Some(Event::Pong)) => seen.controls.push(Vec::new()),
                Ok(Some(Event::Close(frame))) => seen.controls.push(frame.payload()),
                Err(fault) => return (seen, Some(fault)),
            }
        }
        assert_eq!(at, now.len(), "everything is used");
    }
    (seen, None)
}

fn request(bytes: &[u8]) {
    let rules = Rules {
        same_origin: true,
        allowed_origins: Origin::allowed("https://shop.example")
            .into_iter()
            .collect(),
        compression: true,
        cookies: CookieNames {
            jwt: Some("jwt".to_owned()),
            ..CookieNames::default()
        },
        ..Rules::default()
    };
    match Head::parse(bytes) {
        Ok((head, length)) => {
            assert!(length <= bytes.len(), "no longer than what is there");
            match rules.judge(&head, bytes.len().is_multiple_of(2)) {
                Ok(accepted) => assert!(accepted.answer.ends_with(b"\r\n\r\n")),
                Err(refusal) => assert!(!refusal.answer().is_empty()),
            }
        }
        Err(HeadError::Partial) => {}
        Err(HeadError::Refused(refusal)) => assert!(refusal.status >= 400),
    }
}
