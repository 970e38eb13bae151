/// No bytes make the store's decoders panic or loop.
///
/// Input: one byte that picks the decoder, then what a disk gave back.
pub fn store(data: &[u8]) {
    frond_store::decode_any(data);
}
