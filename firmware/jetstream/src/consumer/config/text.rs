//! How Go writes what serde writes otherwise.

/// Go's `omitempty` for the types a configuration has.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One RFC 3339 time.
pub(crate) fn write_time<S: serde::Serializer>(
    time: &frond_clock::Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}
