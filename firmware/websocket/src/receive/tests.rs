use super::*;
use crate::{Browser, Deflater, FrameHead, Sender, Style};
use proptest::prelude::*;

const SETTINGS: Settings = Settings {
    masking: Masking::Masked,
    compression: true,
    payload_bytes_max: 1024 * 1024,
};

/// What a reader saw.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    stream: Vec<u8>,
    pings: Vec<Vec<u8>>,
    closes: Vec<CloseFrame>,
}

/// Reads `raw` as it comes in pieces.
fn read(settings: Settings, raw: &[u8], pieces: &[usize]) -> Result<Seen, Fault> {
    let (mut receiver, mut inflater) = (Receiver::new(settings), Inflater::new());
    let (mut seen, mut rest) = (Seen::default(), raw);
    let mut sizes = pieces.iter().copied().chain(core::iter::repeat(usize::MAX));
    while !rest.is_empty() {
        let (now, later) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
        let (mut now, mut at) = (now.to_vec(), 0);
        while let Some(event) = receiver.next(&mut now, &mut at, &mut inflater)? {
            match event {
                Event::Data(bytes) => seen.stream.extend_from_slice(bytes),
                Event::Ping(payload) => seen.pings.push(payload),
                Event::Pong => {}
                Event::Close(frame) => seen.closes.push(frame),
            }
        }
        assert_eq!(at, now.len());
        rest = later;
    }
    Ok(seen)
}

fn frame(head: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let key = [7, 130, 9, 255];
    FrameHead::whole(Opcode::Binary, Some(key), payload.len() as u64).encode(&mut out);
    out[0] = head;
    let start = out.len();
    out.extend_from_slice(payload);
    Mask::new(key).apply(&mut out[start..]);
    out
}

fn deflated(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(Deflater::new().deflate(&[payload], &mut out));
    out
}

fn refused(raw: &[u8]) -> String {
    read(SETTINGS, raw, &[]).unwrap_err().to_string()
}

proptest! {
    #[test]
    fn the_stream_comes_out_however_it_is_framed_and_cut(
        parts in proptest::collection::vec((any::<bool>(), 0_u8..4, proptest::collection::vec(any::<u8>(), 0..400)), 1..12),
        pieces in proptest::collection::vec(1_usize..60, 0..80),
    ) {
        let (mut raw, mut expected) = (Vec::new(), Seen::default());
        for (compressed, cuts, payload) in parts {
            let (flag, body) = if compressed { (0x40, deflated(&payload)) } else { (0, payload.clone()) };
            let size = (body.len() / (usize::from(cuts) + 1)).max(1);
            let mut chunks: Vec<&[u8]> = body.chunks(size).collect();
            if chunks.is_empty() {
                chunks.push(&[]);
            }
            let count = chunks.len();
            for (i, chunk) in chunks.into_iter().enumerate() {
                let last = if i + 1 == count { 0x80 } else { 0 };
                raw.extend(frame(last | if i == 0 { flag | 2 } else { 0 }, chunk));
                raw.extend(frame(0x89, &[cuts, 1]));
                expected.pings.push(vec![cuts, 1]);
            }
            expected.stream.extend(payload);
        }
        raw.extend(frame(0x88, &[3, 0xe8, b'b', b'y', b'e']));
        expected.closes.push(CloseFrame::new(CloseCode::NORMAL, "bye"));
        prop_assert_eq!(read(SETTINGS, &raw, &pieces).unwrap(), expected);
    }

    #[test]
    fn anything_at_all_is_read_or_refused(
        raw: Vec<u8>,
        pieces in proptest::collection::vec(1_usize..20, 0..20),
    ) {
        let _ = read(SETTINGS, &raw, &pieces);
        let _ = read(Settings { masking: Masking::Bare, ..SETTINGS }, &raw, &pieces);
    }

    #[test]
    fn what_a_sender_frames_a_receiver_reads(
        payload in proptest::collection::vec(any::<u8>(), 0..200_000),
        masked: bool,
        compression: bool,
        browser in prop_oneof![Just(Browser::No), Just(Browser::Yes), Just(Browser::Safari)],
        writes in proptest::collection::vec(1_usize..9000, 1..200),
    ) {
        let masking = if masked { Masking::Masked } else { Masking::Bare };
        let mut sender = Sender::new(Style { masking, compression, browser });
        let mut deflater = Deflater::new();
        let (mut wire, mut at) = (Vec::new(), 0);
        sender.pong(b"hi", [1, 2, 3, 4]);
        sender.close(CloseFrame::new(CloseCode::GOING_AWAY, "over"));
        let mut writes = writes.into_iter().cycle();
        while sender.wants_to_write(payload.len() - at) {
            let stream = &payload[at..];
            at += sender.prepare(stream.chunks(5000), stream.len(), &mut deflater, || [9, 8, 7, 6]);
            let body = &payload[at..at + sender.body()];
            let whole = [sender.head(), body].concat();
            let now = writes.next().unwrap_or(1).min(whole.len());
            wire.extend_from_slice(&whole[..now]);
            at += sender.wrote(now);
        }
        let settings = Settings { masking, ..SETTINGS };
        let seen = read(settings, &wire, &[]).unwrap();
        prop_assert!(seen.stream == payload);
        prop_assert_eq!(seen.pings.len(), 0);
        prop_assert_eq!(seen.closes, [CloseFrame::new(CloseCode::GOING_AWAY, "over")]);
    }
}

#[test]
fn broken_frames_are_told_what_is_wrong_in_nats_servers_words() {
    for (raw, text) in [
        (vec![0xa2], "RSV2 and RSV3 must be clear"),
        (vec![0x82, 0x05], "mask bit missing"),
        (frame(0x83, b""), "unknown opcode 3"),
        (frame(0x80, b""), "invalid continuation frame"),
        (
            frame(0x09, b""),
            "control frame does not have final bit set",
        ),
        (frame(0xc9, b""), "control frame must not be compressed"),
        (
            frame(0x89, &[0; 126]),
            "control frame length bigger than maximum allowed of 125 bytes",
        ),
        (
            [frame(0x02, b"a"), frame(0x82, b"b")].concat(),
            "new message started before final frame for previous message was received",
        ),
        (frame(0x88, b"x"), "close frame payload cannot be 1 byte"),
        (frame(0x88, &[3, 0xed]), "invalid close status code 1005"),
        (
            vec![0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1],
            "invalid 64-bit payload length",
        ),
    ] {
        assert_eq!(refused(&raw), text);
    }
    let plain = Settings {
        compression: false,
        ..SETTINGS
    };
    assert_eq!(
        read(plain, &[0xc2], &[]).unwrap_err().to_string(),
        "compressed frame received without negotiated permessage-deflate"
    );
}

#[test]
fn a_close_is_answered_in_kind() {
    let answer = |payload: &[u8]| {
        let mut seen = read(SETTINGS, &frame(0x88, payload), &[]).unwrap();
        seen.closes.remove(0)
    };
    assert_eq!(answer(&[]).payload(), []);
    assert_eq!(answer(&[3, 0xe9]).payload(), [3, 0xe9]);
    let bad = answer(&[3, 0xe8, 0xff]);
    assert_eq!(bad.code, Some(CloseCode::INVALID_PAYLOAD));
    assert_eq!(bad.reason, "invalid utf8 body in close frame");
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let bomb = deflated(&vec![0; 64 * 1024 * 1024]);
    assert!(bomb.len() < 1024 * 1024);
    let whole = frame(0xc2, &bomb);
    assert_eq!(read(SETTINGS, &whole, &[]), Err(Fault::TooBig));
    // In fragments it is no better.
    let mut fragments = frame(0x42, &[]);
    for chunk in bomb.chunks(100) {
        fragments.extend(frame(0x00, chunk));
    }
    assert_eq!(read(SETTINGS, &fragments, &[333]), Err(Fault::TooBig));
    let fits = deflated(&vec![0; 1024 * 1024]);
    let seen = read(SETTINGS, &frame(0xc2, &fits), &[]).unwrap();
    assert_eq!(seen.stream.len(), 1024 * 1024);
}

#[test]
fn what_is_not_deflated_is_refused() {
    let mut broken = deflated(b"PUB a 5\r\nhello\r\n");
    broken[0] = 0xff;
    assert_eq!(
        read(SETTINGS, &frame(0xc2, &broken), &[]),
        Err(Fault::Corrupt)
    );
    let half = deflated(&[b"x".repeat(100), b"y".repeat(100)].concat());
    assert_eq!(
        read(SETTINGS, &frame(0xc2, &half[..half.len() / 2]), &[]),
        Err(Fault::Corrupt)
    );
}

#[test]
fn half_received_messages_are_limited_over_all_connections() {
    let mut inflater = Inflater::new();
    let start = |receiver: &mut Receiver, inflater: &mut Inflater| {
        let (mut raw, mut at) = (frame(0x42, &deflated(b"abc")), 0);
        while receiver.next(&mut raw, &mut at, inflater)?.is_some() {}
        Ok(())
    };
    let mut receivers: Vec<Receiver> = (0..crate::limits::INFLATIONS_MAX)
        .map(|_| Receiver::new(SETTINGS))
        .collect();
    for receiver in &mut receivers {
        start(receiver, &mut inflater).unwrap();
    }
    let mut late = Receiver::new(SETTINGS);
    assert_eq!(start(&mut late, &mut inflater), Err(Fault::Busy));
    receivers[0].end(&mut inflater);
    let mut later = Receiver::new(SETTINGS);
    start(&mut later, &mut inflater).unwrap();
}
