use frond_wire::go_json;

use crate::limits::JSON_DEPTH_MAX;

/// A JSON value with its members in the order they were sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As written.
    Number(Box<str>),
    String(String),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Reads one JSON document.
///
/// # Errors
/// In the words of Go's decoder.
pub(crate) fn parse(text: &[u8]) -> Result<Json, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.blanks();
    match parser.peek() {
        None => Ok(value),
        Some(found) => Err(parser.odd(found, "looking for beginning of value")),
    }
}

/// Reads JSON documents that follow each other, up to the first fault.
pub(crate) fn parse_each(text: &[u8]) -> impl Iterator<Item = Result<Json, String>> {
    let mut parser = Some(Parser { text, at: 0 });
    std::iter::from_fn(move || {
        let mut reader = parser.take()?;
        reader.blanks();
        reader.peek()?;
        let found = reader.value(0);
        if found.is_ok() {
            parser = Some(reader);
        }
        Some(found)
    })
}

impl Json {
    /// The value as JSON text.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let quoted = |text: &String| go_json::to_vec(text);
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Self::Number(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::String(text) => out.extend(quoted(text)),
            Self::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    out.extend((index > 0).then_some(b','));
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.extend((index > 0).then_some(b','));
                    out.extend(quoted(key));
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > JSON_DEPTH_MAX {
            return Err("exceeded max depth".to_owned());
        }
        self.blanks();
        match self.next()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Json::String),
            b't' => self.literal("true", Json::Bool(true)),
            b'f' => self.literal("false", Json::Bool(false)),
            b'n' => self.literal("null", Json::Null),
            found @ (b'-' | b'0'..=b'9') => self.number(found),
            found => Err(self.odd_before(found, "looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut members = Vec::new();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.blanks();
            match self.next()? {
                b'"' => {}
                found => {
                    return Err(
                        self.odd_before(found, "looking for beginning of object key string")
                    );
                }
            }
            let key = self.string()?;
            self.blanks();
            match self.next()? {
                b':' => {}
                found => return Err(self.odd_before(found, "after object key")),
            }
            members.push((key, self.value(depth + 1)?));
            self.blanks();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Json::Object(members)),
                found => return Err(self.odd_before(found, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Json::Array(items)),
                found => return Err(self.odd_before(found, "after array element")),
            }
        }
    }

    /// The rest of a string whose first quote is read.
    fn string(&mut self) -> Result<String, String> {
        let mut out: Vec<u8> = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Ok(String::from_utf8_lossy(&out).into_owned()),
                b'\\' => self.escape(&mut out)?,
                found if found < 0x20 => return Err(self.odd_before(found, "in string")),
                found => out.push(found),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let plain = match self.next()? {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            same @ (b'"' | b'\\' | b'/') => same,
            b'u' => {
                let mut buffer = [0; 4];
                let found = self.unicode()?;
                out.extend_from_slice(found.encode_utf8(&mut buffer).as_bytes());
                return Ok(());
            }
            found => {
                return Err(format!(
                    "invalid escape sequence `\\{}` in string at offset {}",
                    char::from(found),
                    self.at
                ));
            }
        };
        out.push(plain);
        Ok(())
    }

    /// One `\uXXXX`, or two that form a pair; a lone half is U+FFFD as in Go.
    fn unicode(&mut self) -> Result<char, String> {
        let high = self.hex4()?;
        if let Some(found) = char::from_u32(high) {
            return Ok(found);
        }
        let start = self.at;
        if self.text.get(start..start + 2) == Some(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) {
                let joined = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = start;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let mut value = 0;
        for _ in 0..4 {
            let found = self.next()?;
            let Some(digit) = char::from(found).to_digit(16) else {
                return Err(self.odd_before(found, "in \\u hexadecimal character escape"));
            };
            value = value * 16 + digit;
        }
        Ok(value)
    }

    fn literal(&mut self, word: &str, value: Json) -> Result<Json, String> {
        for expected in word.bytes().skip(1) {
            let found = self.next()?;
            if found != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.odd_before(found, &context));
            }
        }
        Ok(value)
    }

    fn number(&mut self, first: u8) -> Result<Json, String> {
        let start = self.at - 1;
        let first = if first == b'-' { self.next()? } else { first };
        match first {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            found => return Err(self.odd_before(found, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        Ok(Json::Number(String::from_utf8_lossy(digits).into()))
    }

    fn some_digits(&mut self, context: &str) -> Result<(), String> {
        match self.next()? {
            b'0'..=b'9' => {
                self.digits();
                Ok(())
            }
            found => Err(self.odd_before(found, context)),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, String> {
        let found = self.peek().ok_or_else(|| "unexpected EOF".to_owned())?;
        self.at += 1;
        Ok(found)
    }

    /// What Go says of a byte it has not taken yet.
    fn odd(&self, found: u8, context: &str) -> String {
        format!(
            "invalid character {} {context} at offset {}",
            quoted(found),
            self.at + 1
        )
    }

    /// The same for one that is taken.
    fn odd_before(&self, found: u8, context: &str) -> String {
        format!(
            "invalid character {} {context} at offset {}",
            quoted(found),
            self.at
        )
    }
}

fn quoted(found: u8) -> String {
    match found {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        found if found < 0x20 || found == 0x7f => format!("'\\x{found:02x}'"),
        found if found < 0x80 => format!("'{}'", char::from(found)),
        found => format!("'\\u{:04x}'", u32::from(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: nats-server v2.15.1, answers to `$JS.API.STREAM.CREATE.T`
    #[test]
    fn faults_are_named_as_go_names_them() {
        for (text, words) in [
            ("{", "unexpected EOF"),
            (
                r#"{"name":"T"} x"#,
                "invalid character 'x' looking for beginning of value at offset 14",
            ),
            (
                "nonsense",
                "invalid character 'o' in literal null (expecting 'u') at offset 2",
            ),
            (
                r#"{"name":"T",}"#,
                "invalid character '}' looking for beginning of object key string at offset 13",
            ),
            (
                r#"{"name":"T" "x":1}"#,
                "invalid character '\"' after object key:value pair at offset 13",
            ),
            (
                "{\"name\":\"T\u{1}\"}",
                "invalid character '\\x01' in string at offset 11",
            ),
            (
                r#"{"name":"T\q"}"#,
                "invalid escape sequence `\\q` in string at offset 12",
            ),
            (
                r#"{"name":tru}"#,
                "invalid character '}' in literal true (expecting 'e') at offset 12",
            ),
            (
                r#"{"name":-}"#,
                "invalid character '}' in numeric literal at offset 10",
            ),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(words.to_owned()), "{text}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(parse(deep.as_bytes()), Err("exceeded max depth".to_owned()));
    }

    #[test]
    fn values_are_read() {
        let value = parse(br#" {"a":[1,-2.5e3,null,true],"b":"x\n\u00e9\ud83d\ude00"} "#).unwrap();
        let Json::Object(members) = value else {
            panic!("no object")
        };
        assert_eq!(members[1].1, Json::String("x\né😀".into()));
        assert_eq!(
            members[0].1,
            Json::Array(vec![
                Json::Number("1".into()),
                Json::Number("-2.5e3".into()),
                Json::Null,
                Json::Bool(true)
            ])
        );
    }
}
