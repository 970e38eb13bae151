use crate::error::ConfigError;
use crate::position::Position;
use crate::value::Kind;
use std::sync::Arc;

/// Characters of one file, its position, and the forms that have no inner values:
/// keys, strings, numbers, comments, include paths.
/// spec: nats-server v2.15.1 conf/lex.go
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    file: Arc<str>,
    at: usize,
    line: u32,
    line_start: usize,
}

/// What an unquoted word turned out to be.
#[derive(Debug)]
pub(crate) enum Word {
    Value(Kind),
    Variable(String),
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str, file: Arc<str>) -> Self {
        Self {
            text,
            file,
            at: 0,
            line: 1,
            line_start: 0,
        }
    }

    pub(crate) fn position(&self) -> Position {
        let column = self.at.saturating_sub(self.line_start).saturating_add(1);
        Position {
            file: Arc::clone(&self.file),
            line: self.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
        }
        Some(c)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or("")
    }

    /// An error of the language, at the character that was just taken.
    pub(crate) fn error(&self, text: &str, remedy: &str) -> ConfigError {
        let at = self.position();
        let text = format!("Parse error on line {}: '{text}'", at.line);
        ConfigError::language(&at, text, remedy)
    }

    /// Takes the next character for an error's sake and shows it as nats-server does.
    pub(crate) fn take_shown(&mut self) -> String {
        match self.bump() {
            None => "EOF".to_owned(),
            Some('\n') => "\\n".to_owned(),
            Some(c) => c.to_string(),
        }
    }

    pub(crate) fn skip_space(&mut self) {
        self.skip_while(char::is_whitespace);
    }

    pub(crate) fn skip_blanks(&mut self) {
        self.skip_while(is_blank);
    }

    fn skip_while(&mut self, keep: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&keep) {
            self.bump();
        }
    }

    /// Skips a comment up to its line's end; false if none starts here.
    pub(crate) fn skip_comment(&mut self) -> bool {
        let comment = self.rest().starts_with('#') || self.rest().starts_with("//");
        if comment {
            self.skip_while(|c| !is_newline(c));
        }
        comment
    }

    /// A bare key: its first character may be anything.
    pub(crate) fn bare_key(&mut self) -> String {
        let start = self.at;
        self.bump();
        self.skip_while(|c| !c.is_whitespace() && !is_separator(c));
        self.since(start).to_owned()
    }

    /// A quoted key or a single-quoted string, its opening quote not taken yet. No escapes.
    pub(crate) fn quoted(&mut self, at_end: &str) -> Result<String, ConfigError> {
        let quote = self.bump();
        let start = self.at;
        self.skip_while(|c| Some(c) != quote);
        let text = self.since(start).to_owned();
        match self.bump() {
            Some(_) => Ok(text),
            None => Err(self.error(at_end, "close the quote")),
        }
    }

    /// A double-quoted string with escapes, its opening quote not taken yet.
    pub(crate) fn double_quoted(&mut self) -> Result<String, ConfigError> {
        self.bump();
        let mut bytes = Vec::new();
        loop {
            match self.bump() {
                None => return Err(self.error("Unexpected EOF.", "close the quote")),
                Some('"') => return self.utf8(bytes),
                Some('\\') => bytes.push(self.escape()?),
                Some(c) => push_char(&mut bytes, c),
            }
        }
    }

    /// An unquoted word: a string, a boolean or a variable. `taken` is what was read of it already.
    pub(crate) fn word(&mut self, taken: &str) -> Result<Word, ConfigError> {
        let mut bytes = taken.as_bytes().to_vec();
        let mut escaped = false;
        loop {
            match self.peek() {
                Some('\\') => {
                    self.bump();
                    bytes.push(self.escape()?);
                    escaped = true;
                }
                // A single quote ends the word and belongs to it.
                Some('\'') => {
                    self.bump();
                    return Ok(Word::Value(Kind::String(self.utf8(bytes)?)));
                }
                Some(c) if !ends_word(c) => {
                    self.bump();
                    push_char(&mut bytes, c);
                }
                Some(_) | None => break,
            }
        }
        let text = self.utf8(bytes)?;
        Ok(match (escaped, boolean(&text), text.strip_prefix('$')) {
            (false, Some(value), _) => Word::Value(Kind::Bool(value)),
            (false, None, Some(name)) => Word::Variable(name.to_owned()),
            _ => Word::Value(Kind::String(text)),
        })
    }

    /// A string between `(` and a `)` alone on its line.
    pub(crate) fn block(&mut self) -> Result<String, ConfigError> {
        self.bump();
        let start = self.at;
        let mut before = None;
        loop {
            let end = self.at;
            match self.bump() {
                None => {
                    let remedy = "end the block with a ')' alone on its line";
                    return Err(self.error("Unexpected EOF processing block.", remedy));
                }
                Some(')') if before == Some('\n') && matches!(self.peek(), None | Some('\n')) => {
                    return Ok(self.text.get(start..end).unwrap_or("").to_owned());
                }
                Some(c) => before = Some(c),
            }
        }
    }

    /// The path after `include`.
    pub(crate) fn include_path(&mut self) -> Result<String, ConfigError> {
        self.skip_blanks();
        let found = match self.peek() {
            Some('\'') => return self.quoted("Unexpected EOF in quoted include"),
            Some('"') => return self.quoted("Unexpected EOF in double quoted include"),
            Some('[') => "start of an array",
            Some('{') => "start of a map",
            Some('(') => "start of a block",
            Some('\\') => "escape sequence",
            Some(c) if is_newline(c) => "new line",
            Some(c) if c.is_ascii_digit() || c == '-' => "start of a number",
            Some(_) | None => {
                let start = self.at;
                self.skip_while(|c| {
                    !is_newline(c) && !is_blank(c) && !matches!(c, ';' | '}' | '\'')
                });
                let path = self.since(start).to_owned();
                if self.peek() == Some('\'') {
                    self.bump();
                }
                return Ok(path);
            }
        };
        self.bump();
        let text = format!("Expected include value but found {found}");
        Err(self.error(&text, "write include \"file.conf\""))
    }

    /// A value that starts with a digit: a number, a date, an address or a word.
    pub(crate) fn number(&mut self) -> Result<Word, ConfigError> {
        let start = self.at;
        self.skip_while(|c| c.is_ascii_digit());
        match self.peek() {
            Some('-') if self.at - start == 4 => self.date(start),
            Some('-') => {
                self.bump();
                let remedy = "put the value in quotes if it is no date";
                Err(self.error("All ISO8601 dates must be in full Zulu form.", remedy))
            }
            Some('.') => self.float(start),
            Some(c) if is_size_suffix(c) => {
                self.bump();
                self.skip_while(|c| matches!(c, 'b' | 'B' | 'i' | 'I'));
                match self.peek() {
                    Some(c) if !ends_word(c) && !c.is_ascii_digit() => self.word(self.since(start)),
                    Some(_) | None => self.integer(start),
                }
            }
            Some(c) if !ends_word(c) => self.word(self.since(start)),
            Some(_) | None => self.integer(start),
        }
    }

    /// A value that starts with a minus sign: an integer or a float.
    pub(crate) fn negative(&mut self) -> Result<Word, ConfigError> {
        let start = self.at;
        self.bump();
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {}
            Some('.') => {
                self.bump();
                return Err(self.error("Floats must start with a digit, not '.'.", ""));
            }
            Some(_) | None => {
                let shown = self.take_shown();
                let remedy = "put the value in quotes if it is no number";
                return Err(self.error(&format!("Expected a digit but got '{shown}'."), remedy));
            }
        }
        self.skip_while(|c| c.is_ascii_digit());
        match self.peek() {
            Some('.') => self.float(start),
            Some(c) if is_size_suffix(c) => {
                self.bump();
                self.skip_while(|c| matches!(c, 'b' | 'B' | 'i' | 'I'));
                match self.peek() {
                    Some(c) if !ends_word(c) && !c.is_ascii_digit() => self.word(self.since(start)),
                    Some(_) | None => self.integer(start),
                }
            }
            Some(_) | None => self.integer(start),
        }
    }

    fn integer(&self, start: usize) -> Result<Word, ConfigError> {
        let text = self.since(start);
        let digits_end = text
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(text.len());
        let (digits, suffix) = text.split_at(digits_end);
        let value = size_multiplier(suffix)
            .ok_or_else(|| format!("expected integer, but got '{text}'"))
            .and_then(|scale| {
                let value = digits
                    .parse::<i64>()
                    .ok()
                    .and_then(|n| n.checked_mul(scale));
                value.ok_or_else(|| format!("integer '{text}' is out of the range"))
            });
        value
            .map(|n| Word::Value(Kind::Integer(n)))
            .map_err(|text| ConfigError::language(&self.position(), text, ""))
    }

    fn float(&mut self, start: usize) -> Result<Word, ConfigError> {
        self.bump();
        if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
            let shown = self.take_shown();
            let text =
                format!("Floats must have a digit after the '.', but got '{shown}' instead.");
            return Err(self.error(&text, "put the value in quotes if it is no number"));
        }
        self.skip_while(|c| c.is_ascii_digit());
        if self.peek() == Some('.') {
            self.skip_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':' | '-'));
            return Ok(Word::Value(Kind::String(self.since(start).to_owned())));
        }
        let text = self.since(start);
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Word::Value(Kind::Float(value))),
            Ok(_) | Err(_) => {
                let text = format!("float '{text}' is out of the range");
                Err(ConfigError::language(&self.position(), text, ""))
            }
        }
    }

    fn date(&mut self, start: usize) -> Result<Word, ConfigError> {
        for want in "-00-00T00:00:00Z".chars() {
            let got = self.peek();
            let shown = self.take_shown();
            let text = match want {
                '0' if got.is_some_and(|c| c.is_ascii_digit()) => continue,
                '0' => format!("Expected digit in ISO8601 datetime, but found '{shown}' instead."),
                want if got == Some(want) => continue,
                want => {
                    format!("Expected '{want}' in ISO8601 datetime, but found '{shown}' instead.")
                }
            };
            return Err(self.error(&text, "put the value in quotes if it is no date"));
        }
        let text = self.since(start);
        if is_date(text) {
            Ok(Word::Value(Kind::Date(text.to_owned())))
        } else {
            let text = format!("expected Zulu formatted DateTime, but got '{text}'");
            Err(ConfigError::language(&self.position(), text, ""))
        }
    }

    /// The byte that an escape means; its backslash has been taken.
    fn escape(&mut self) -> Result<u8, ConfigError> {
        let shown = match self.peek() {
            Some('t') => return self.taken(b'\t'),
            Some('n') => return self.taken(b'\n'),
            Some('r') => return self.taken(b'\r'),
            Some('"') => return self.taken(b'"'),
            Some('\\') => return self.taken(b'\\'),
            Some('x') => {
                self.bump();
                return self.hex();
            }
            Some(_) | None => self.take_shown(),
        };
        let text = format!(
            "Invalid escape character '{shown}'. Only the following escape characters are \
             allowed: \\xXX, \\t, \\n, \\r, \\\", \\\\."
        );
        Err(self.error(&text, "use single quotes for text with backslashes"))
    }

    fn taken(&mut self, byte: u8) -> Result<u8, ConfigError> {
        self.bump();
        Ok(byte)
    }

    fn hex(&mut self) -> Result<u8, ConfigError> {
        let start = self.at;
        for _ in 0..2 {
            if self.bump().is_none_or(is_newline) {
                let text = "Expected two hexadecimal digits after '\\x', but hit end of line";
                return Err(self.error(text, ""));
            }
        }
        let digits = self.since(start);
        let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
        match u8::from_str_radix(digits, 16) {
            Ok(byte) if plain => Ok(byte),
            Ok(_) | Err(_) => {
                let text = "Expected two hexadecimal digits after '\\x', but got";
                Err(self.error(&format!("{text} '{digits}'"), ""))
            }
        }
    }

    fn utf8(&self, bytes: Vec<u8>) -> Result<String, ConfigError> {
        String::from_utf8(bytes)
            .map_err(|_| self.error("String is not UTF-8.", "its \\x escapes must form UTF-8"))
    }
}

fn push_char(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

pub(crate) fn is_newline(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

pub(crate) fn is_separator(c: char) -> bool {
    matches!(c, '=' | ':')
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn ends_word(c: char) -> bool {
    is_newline(c) || is_blank(c) || matches!(c, ',' | ';' | ']' | '}')
}

fn is_size_suffix(c: char) -> bool {
    matches!(c.to_ascii_lowercase(), 'k' | 'm' | 'g' | 't' | 'p' | 'e')
}

fn boolean(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// `k` is 1000 but `kb`, `ki` and `kib` are 1024, and so on to `e`.
pub(crate) fn size_multiplier(suffix: &str) -> Option<i64> {
    let suffix = suffix.to_ascii_lowercase();
    let mut chars = suffix.chars();
    let Some(letter) = chars.next() else {
        return Some(1);
    };
    let power = u32::try_from("kmgtpe".find(letter)?).ok()? + 1;
    match chars.as_str() {
        "" => 1000_i64.checked_pow(power),
        "b" | "i" | "ib" => 1024_i64.checked_pow(power),
        _ => None,
    }
}

/// Whether `2006-01-02T15:04:05Z`, known to have its digits in place, is a day and a time.
fn is_date(text: &str) -> bool {
    let number = |from: usize, to: usize| text.get(from..to).and_then(|t| t.parse::<u32>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
        && number(11, 13).is_some_and(|h| h < 24)
        && number(14, 16).is_some_and(|m| m < 60)
        && number(17, 19).is_some_and(|s| s < 60)
}
