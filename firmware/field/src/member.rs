//! One number out of a JSON object, without keeping the rest.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The number that is the member of that name; of several the last, as everywhere.
pub(crate) fn number(json: &[u8], name: &str) -> Option<f64> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let found = reader.deserialize_map(Member(name)).ok()?;
    reader.end().ok()?;
    found
}

struct Member<'n>(&'n str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(self.0))? {
            if is_it {
                found = map.next_value::<Number>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a key is this one.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// A number, or nothing where something else is.
struct Number(Option<f64>);

impl<'de> serde::Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Any).map(Self)
    }
}

struct Any;

#[expect(clippy::cast_precision_loss, reason = "as JSON has it")]
impl<'de> Visitor<'de> for Any {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number as f64))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn one_member_is_read_and_the_rest_is_not_kept() {
        let json = br#"{"a":{"value":1,"b":[2]},"value":-3.5,"c":"value","d":null}"#;
        assert_eq!(number(json, "value"), Some(-3.5));
        assert_eq!(number(br#"{"value":7}"#, "value"), Some(7.0));
        assert_eq!(number(br#"{"v\u0061lue":7}"#, "value"), Some(7.0));
        for none in [
            &b"{}"[..],
            br#"{"value":"7"}"#,
            br#"{"value":[7]}"#,
            br#"{"value":7"#,
            br#"{"value":7} x"#,
            b"7",
            b"[7]",
            b"",
        ] {
            assert_eq!(number(none, "value"), None, "{none:?}");
        }
    }
}
