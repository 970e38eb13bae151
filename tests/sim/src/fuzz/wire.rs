use frond_wire::{Dialect, Headers, Limits, Op, Parser, Step, headers};

/// Small, so that short inputs reach them.
const LIMITS: Limits = Limits {
    control_line_bytes_max: 64,
    payload_bytes_max: Some(256),
};

/// Where a connection's bytes are cut changes nothing about what they say.
///
/// Input: one byte that seeds the cuts, then the bytes of a connection.
pub fn wire(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first() else {
        return;
    };
    for dialect in [Dialect::Client, Dialect::Leaf] {
        let whole = said(dialect, core::iter::once(bytes));
        assert_eq!(said(dialect, bytes.chunks(1)), whole, "byte by byte");
        assert_eq!(said(dialect, pieces(bytes, *seed)), whole, "in pieces");
    }
    let mut block = bytes.to_vec();
    headers::set(&mut block, "Key", "value");
    assert!(Headers::new(&block).iter().count() <= block.len());
}

/// What the parser makes of bytes that arrive in pieces.
fn said<'a>(dialect: Dialect, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut parser = Parser::new(dialect, LIMITS);
    let (mut buf, mut said) = (Vec::new(), Vec::new());
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            match parser.parse(&buf) {
                Ok(Step::Op { op, consumed }) => {
                    check(&op);
                    said.push(format!("{op:?}"));
                    buf.drain(..consumed);
                }
                Ok(Step::Need(total)) => {
                    assert!(total > buf.len(), "asks for what is there");
                    break;
                }
                Err(error) => {
                    said.push(error.to_string());
                    return said;
                }
            }
        }
    }
    said
}

fn check(op: &Op<'_>) {
    if let Op::Publish(message) | Op::LeafMessage { message, .. } = op {
        assert!(message.body_bytes() <= 256 && !message.subject.contains([' ', '\t', '\n']));
        let headers = Headers::new(message.header);
        let _ = (
            headers.status(),
            headers.description(),
            headers.get("Nats-Msg-Id"),
        );
    }
}

/// Pieces of lengths that follow from the seed.
fn pieces(bytes: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let (mut rest, mut state) = (bytes, u32::from(seed));
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let len = (state >> 24) as usize % 23 + 1;
        let (piece, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        Some(piece)
    })
}
