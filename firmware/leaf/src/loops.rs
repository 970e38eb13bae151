use frond_clock::Rng;

/// How loop detection subjects begin.
pub(crate) const LOOP_PREFIX: &str = "$LDS.";

/// The subject by which this server finds its own interest coming back to it: one per account
/// and server, the same on all its links.
///
/// It follows from names instead of being kept anywhere; a server id is unique.
pub(crate) fn loop_subject(server_id: &str, account: &str) -> String {
    let mut seed = FNV_OFFSET;
    for byte in server_id.bytes().chain([0]).chain(account.bytes()) {
        seed = (seed ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    }
    format!("{LOOP_PREFIX}{}", Rng::seeded(seed).nuid())
}

/// Whether interest in `subject` is loop detection, of whatever server.
pub(crate) fn is_loop_subject(subject: &str) -> bool {
    subject.starts_with(LOOP_PREFIX)
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_subject_belongs_to_one_server_and_account() {
        let own = loop_subject("NA", "A");
        assert_eq!(own, loop_subject("NA", "A"));
        assert_eq!(own.len(), LOOP_PREFIX.len() + 22);
        assert!(is_loop_subject(&own) && !is_loop_subject("$LDSX"));
        for other in [
            loop_subject("NB", "A"),
            loop_subject("NA", "B"),
            loop_subject("N", "AA"),
        ] {
            assert_ne!(own, other);
        }
    }
}
