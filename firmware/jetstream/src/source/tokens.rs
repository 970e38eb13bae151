use frond_clock::Timestamp;

/// What a delivered message's reply subject tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// Sequence in the origin.
    pub(crate) stream_seq: u64,
    /// Number of the delivery, from 1.
    pub(crate) consumer_seq: u64,
    /// When the origin took the message.
    pub(crate) time: Timestamp,
    /// How many more there are.
    pub(crate) pending: u64,
}

/// Reads `$JS.ACK.<stream>.<consumer>.<count>.<stream seq>.<consumer seq>.<time>.<pending>`,
/// or the newer form with a domain and an account hash before the stream.
///
/// spec: ADR-15
pub(crate) fn tokens(reply: &str) -> Option<Tokens> {
    let mut parts = reply.strip_prefix("$JS.ACK.")?.split('.');
    let count = reply.split('.').count();
    let before = match count {
        9 => 3,
        11.. => 5,
        _ => return None,
    };
    let number = |part: Option<&str>| part?.parse::<u64>().ok();
    let stream_seq = number(parts.nth(before))?;
    let consumer_seq = number(parts.next())?;
    let time = parts.next()?.parse().ok()?;
    let pending = number(parts.next())?;
    Some(Tokens {
        stream_seq,
        consumer_seq,
        time: Timestamp::from_nanos(time),
        pending,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_tell_the_same() {
        let expected = Tokens {
            stream_seq: 12,
            consumer_seq: 7,
            time: Timestamp::from_nanos(1_795_983_409_240_786_564),
            pending: 4,
        };
        for reply in [
            "$JS.ACK.ORDERS.JS_SRC_x-y.1.12.7.1795983409240786564.4",
            "$JS.ACK.shop-1.hash.ORDERS.JS_SRC_x-y.1.12.7.1795983409240786564.4",
            "$JS.ACK.shop-1.hash.ORDERS.JS_SRC_x-y.1.12.7.1795983409240786564.4.random",
        ] {
            assert_eq!(tokens(reply), Some(expected), "{reply}");
        }
        for reply in [
            "",
            "$JS.ACK.a.b.1.2.3",
            "$JS.ACK.S.C.1.x.7.17.4",
            "_INBOX.1",
        ] {
            assert_eq!(tokens(reply), None);
        }
    }
}
