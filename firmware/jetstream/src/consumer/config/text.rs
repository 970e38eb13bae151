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

    /// Go's zero time counts as none.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else {
            return Ok(None);
        };
        if text == "0001-01-01T00:00:00Z" {
            return Ok(None);
        }
        Timestamp::parse_rfc3339(&text).map(Some).ok_or_else(|| {
            D::Error::custom(format!(
                "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": \
                 cannot parse {text:?} as \"2006\""
            ))
        })
    }
}

/// One RFC 3339 time.
pub(crate) fn write_time<S: serde::Serializer>(
    time: &frond_clock::Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}
