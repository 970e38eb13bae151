use super::*;
use crate::CloseCode;

const PLAIN: Style = Style {
    masking: Masking::Bare,
    compression: false,
    browser: Browser::No,
};

/// Everything a sender writes for these bytes, as one write each.
fn writes(sender: &mut Sender, payload: &[u8]) -> Vec<Vec<u8>> {
    let (mut deflater, mut at, mut writes) = (Deflater::new(), 0, Vec::new());
    while sender.wants_to_write(payload.len() - at) {
        let rest = &payload[at..];
        at += sender.prepare([rest].into_iter(), rest.len(), &mut deflater, || [0; 4]);
        let write = [sender.head(), &payload[at..at + sender.body()]].concat();
        at += sender.wrote(write.len());
        writes.push(write);
    }
    assert_eq!(at, payload.len());
    writes
}

#[test]
fn what_waits_is_one_frame_that_is_not_copied() {
    let mut sender = Sender::new(PLAIN);
    let payload = vec![b'x'; 300_000];
    let taken = sender.prepare(
        payload.chunks(1000),
        payload.len(),
        &mut Deflater::new(),
        || [0; 4],
    );
    assert_eq!((taken, sender.body()), (0, 300_000));
    assert_eq!(sender.head(), [0x82, 127, 0, 0, 0, 0, 0, 4, 0x93, 0xe0]);
}

#[test]
fn browsers_get_short_frames() {
    let style = Style {
        browser: Browser::Yes,
        ..PLAIN
    };
    let all = writes(&mut Sender::new(style), &[b'x'; 10_000]).concat();
    assert_eq!(all.len(), 10_000 + 3 * 4);
    assert_eq!(all[..4], [0x82, 126, 0x10, 0]);
    assert_eq!(all[4100..4104], [0x82, 126, 0x10, 0]);
}

#[test]
fn little_is_not_compressed_and_safari_gets_one_fragment() {
    let style = Style {
        compression: true,
        browser: Browser::Safari,
        ..PLAIN
    };
    let small = writes(&mut Sender::new(style), &[b'x'; 64]).concat();
    assert_eq!(small.len(), 66);
    let mut x = 1_u64;
    let noise: Vec<u8> = core::iter::repeat_with(|| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        x.to_be_bytes()[0]
    })
    .take(30_000)
    .collect();
    let one = writes(&mut Sender::new(style), &noise).concat();
    assert_eq!(one[0], 0xc2);
    let browser = Style {
        browser: Browser::Yes,
        ..style
    };
    let many = writes(&mut Sender::new(browser), &noise).concat();
    assert_eq!(many[..4], [0x42, 126, 0x10, 0]);
    assert_eq!(many[4100], 0x00);
    let text = writes(&mut Sender::new(style), &b"MSG a 1 5\r\n".repeat(1000)).concat();
    assert!(text.len() < 1000, "{}", text.len());
}

#[test]
fn the_last_word_comes_last_and_once() {
    let mut sender = Sender::new(PLAIN);
    sender.close(CloseFrame::new(CloseCode::POLICY, "no"));
    sender.close(CloseFrame::new(CloseCode::NORMAL, "later"));
    let all = writes(&mut sender, b"-ERR\r\n").concat();
    assert_eq!(all, b"\x82\x06-ERR\r\n\x88\x04\x03\xf0no");
    assert!(!sender.wants_to_write(0) && sender.is_closing());
}

#[test]
fn after_half_a_frame_whose_rest_is_gone_nothing_is_said() {
    let mut sender = Sender::new(PLAIN);
    let payload = [b'x'; 100];
    sender.prepare(
        [&payload[..]].into_iter(),
        100,
        &mut Deflater::new(),
        || [0; 4],
    );
    assert_eq!(sender.wrote(50), 48);
    sender.close(CloseFrame::new(CloseCode::POLICY, "slow"));
    assert!(!sender.wants_to_write(0));
}

#[test]
fn a_flood_of_pings_holds_little() {
    let mut sender = Sender::new(PLAIN);
    for _ in 0..100_000 {
        sender.pong(&[b'p'; 125], [0; 4]);
    }
    let all = writes(&mut sender, b"").concat();
    assert!(!all.is_empty() && all.len() < 2 * CONTROLS_WAITING_BYTES_MAX);
}
