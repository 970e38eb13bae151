//! How Go writes what serde writes otherwise.

/// Go's `omitempty` for the types a configuration has.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Optional RFC 3339 times.
pub(crate) mod time {
    use frond_clock::Timestamp;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(time),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let time = Timestamp::parse_rfc3339(&text);
        time.map(Some).ok_or_else(|| D::Error::custom("not a time"))
    }
}

/// One RFC 3339 time.
pub(crate) fn write_time<S: serde::Serializer>(
    time: &frond_clock::Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}
