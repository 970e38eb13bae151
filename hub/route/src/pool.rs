/// The place of an account's connection in a pool of `size`.
///
/// spec: nats-server v2.15.1 server/route.go `computeRoutePoolIdx`: FNV-1a of 32 bits
pub(crate) fn place_of(account: &str, size: u32) -> usize {
    if size <= 1 {
        return 0;
    }
    let hash = account.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash % size) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published values of FNV-1a: "" 811c9dc5, "a" e40c292c, "foobar" bf9cf968.
    #[test]
    fn accounts_are_hashed_as_the_peers_hash_them() {
        assert_eq!(place_of("a", u32::MAX), 0xe40c_292c_u32 as usize);
        assert_eq!(place_of("foobar", u32::MAX), 0xbf9c_f968_u32 as usize);
        assert_eq!(place_of("foobar", 3), (0xbf9c_f968_u32 % 3) as usize);
        assert_eq!((place_of("a", 1), place_of("a", 0)), (0, 0));
    }
}
