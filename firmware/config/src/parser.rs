use crate::error::ConfigError;
use crate::lexer::{Lexer, Word, is_newline, is_separator};
use crate::limits::{INPUT_BYTES_MAX, NESTING_DEPTH_MAX};
use crate::outside::Shared;
use crate::position::Position;
use crate::source::Source;
use crate::value::{Entry, Kind, Map, Value};
use std::sync::Arc;

/// Reads the file at `path` and everything it includes.
///
/// # Errors
/// The first thing that is not the language, or a file that cannot be read.
pub fn parse_file(path: &str, source: &dyn Source) -> Result<Map, ConfigError> {
    let text = source
        .read(path)
        .map_err(|why| ConfigError::language(&Position::start(path), why, ""))?;
    parse(&text, path, source)
}

/// Reads `text`, which came from `path`, and everything it includes.
///
/// # Errors
/// The first thing that is not the language, or an included file that cannot be read.
pub fn parse(text: &str, path: &str, source: &dyn Source) -> Result<Map, ConfigError> {
    let mut shared = Shared::new(source);
    shared.files.push(path.to_owned());
    Parser::new(text, path, &mut shared)?.run()
}

/// What may follow a value.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Top,
    /// The braces around a whole file.
    Braces,
    Map,
}

/// Recursive descent over one file.
/// spec: nats-server v2.15.1 conf/lex.go, conf/parse.go
pub(crate) struct Parser<'a, 's> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) path: &'a str,
    pub(crate) shared: &'a mut Shared<'s>,
    /// Maps under construction, outermost first: where variables are looked up.
    pub(crate) scopes: Vec<Map>,
}

impl<'a, 's> Parser<'a, 's> {
    pub(crate) fn new(
        text: &'a str,
        path: &'a str,
        shared: &'a mut Shared<'s>,
    ) -> Result<Self, ConfigError> {
        shared.input_bytes = shared.input_bytes.saturating_add(text.len());
        let mut lexer = Lexer::new(text, Arc::from(path));
        if shared.input_bytes > INPUT_BYTES_MAX {
            return Err(lexer.error("Configuration is too long.", ""));
        }
        // nats-server takes a NUL for the end of the file and stops there.
        if let Some(nul) = text.find('\0') {
            for _ in text.get(..nul).unwrap_or("").chars() {
                lexer.bump();
            }
            return Err(lexer.error("Unexpected EOF.", "the file holds a NUL byte"));
        }
        Ok(Self {
            lexer,
            path,
            shared,
            scopes: vec![Map::default()],
        })
    }

    pub(crate) fn run(mut self) -> Result<Map, ConfigError> {
        let mut braces = 0_usize;
        loop {
            self.lexer.skip_space();
            match self.lexer.peek() {
                None if braces > 0 => {
                    let remedy = "close the brace around the file";
                    return Err(self.lexer.error("Unexpected EOF processing block.", remedy));
                }
                None => return Ok(self.scopes.pop().unwrap_or_default()),
                Some('{') => {
                    self.lexer.bump();
                    braces += 1;
                }
                Some('}') if braces > 0 => {
                    self.lexer.bump();
                    braces -= 1;
                }
                Some(',' | ';') if braces > 0 => {
                    self.lexer.bump();
                }
                Some('#' | '/') => {
                    if !self.lexer.skip_comment() {
                        self.lexer.bump();
                        return Err(self
                            .lexer
                            .error("Unexpected EOF.", "a comment starts with //"));
                    }
                }
                Some(_) => {
                    self.item(if braces > 0 {
                        Inside::Braces
                    } else {
                        Inside::Top
                    })?;
                }
            }
        }
    }

    /// A key with its value, or an include, and what ends it.
    fn item(&mut self, inside: Inside) -> Result<(), ConfigError> {
        let mut at = self.lexer.position();
        let key = match self.lexer.peek() {
            Some(c) if is_separator(c) => {
                self.lexer.bump();
                let dot = if inside == Inside::Map { "." } else { "" };
                let text = format!("Unexpected key separator '{c}'{dot}");
                return Err(self.lexer.error(&text, "write the key first"));
            }
            Some('"' | '\'') => {
                at.column = at.column.saturating_add(1);
                let text = self.quoted_key_end(inside);
                self.lexer.quoted(text)?
            }
            Some(_) | None => {
                let key = self.lexer.bare_key();
                let spaced = self.lexer.peek().is_some_and(char::is_whitespace);
                if spaced && key.eq_ignore_ascii_case("include") {
                    self.include(&at)?;
                    return self.item_end(inside);
                }
                key
            }
        };
        self.lexer.skip_space();
        match self.lexer.peek() {
            // The brace that closes a JSON-like file may stand alone.
            None if inside == Inside::Top && key == "}" => return Ok(()),
            None if inside != Inside::Map => {
                let text = "config is invalid";
                let remedy = format!("give {key:?} a value");
                return Err(ConfigError::language(&at, text, remedy));
            }
            Some(c) if is_separator(c) => {
                self.lexer.bump();
            }
            Some(_) | None => {}
        }
        let mut value = match inside {
            Inside::Top | Inside::Braces => self.value()?,
            Inside::Map => self.map_value(&key)?,
        };
        value.at = at;
        self.insert(Entry {
            key,
            value,
            used: false,
        });
        self.item_end(inside)
    }

    fn quoted_key_end(&self, inside: Inside) -> &'static str {
        match (inside, self.lexer.peek()) {
            (Inside::Top | Inside::Braces, _) => "Unexpected EOF.",
            (Inside::Map, Some('"')) => "Unexpected EOF processing double quoted map key.",
            (Inside::Map, _) => "Unexpected EOF processing quoted map key.",
        }
    }

    pub(crate) fn insert(&mut self, entry: Entry) {
        if let Some(map) = self.scopes.last_mut() {
            map.insert(entry);
        }
    }

    /// What may stand between an item and the next one.
    fn item_end(&mut self, inside: Inside) -> Result<(), ConfigError> {
        loop {
            self.lexer.skip_blanks();
            match self.lexer.peek() {
                Some('#' | '/') if self.lexer.skip_comment() => {}
                Some('}') if inside != Inside::Top => return Ok(()),
                None if inside == Inside::Top => return Ok(()),
                Some(c)
                    if matches!(c, ',' | ';')
                        || is_newline(c)
                        || (c == '}' && inside == Inside::Top) =>
                {
                    self.lexer.bump();
                    return Ok(());
                }
                Some(_) | None => break,
            }
        }
        let shown = self.lexer.take_shown();
        let text = match inside {
            Inside::Top => format!(
                "Expected a top-level value to end with a new line, comment or EOF, but got \
                 '{shown}' instead."
            ),
            Inside::Braces => format!(
                "Expected a block-level value to end with a new line, comment or EOF, but got \
                 '{shown}' instead."
            ),
            Inside::Map => format!(
                "Expected a map value terminator \",\" or a map terminator \"}}\", but got \
                 '{shown}' instead."
            ),
        };
        let remedy = match inside {
            Inside::Top | Inside::Braces => "one option per line; quote a value with spaces",
            Inside::Map => "end it with a comma, a new line or a brace; quote a value with spaces",
        };
        Err(self.lexer.error(&text, remedy))
    }

    fn value(&mut self) -> Result<Value, ConfigError> {
        self.lexer.skip_blanks();
        let at = self.lexer.position();
        let word = match self.lexer.peek() {
            Some('[') => return self.nested(at, Self::array),
            Some('{') => return self.nested(at, Self::map),
            Some('\'') => Word::Value(Kind::String(self.lexer.quoted("Unexpected EOF.")?)),
            Some('"') => Word::Value(Kind::String(self.lexer.double_quoted()?)),
            Some('(') => Word::Value(Kind::String(self.lexer.block()?)),
            Some('-') => self.lexer.negative()?,
            Some('.') => {
                self.lexer.bump();
                let remedy = "write 0.5, or put the value in quotes";
                return Err(self.lexer.error("Floats must start with a digit", remedy));
            }
            Some(c) if c.is_ascii_digit() => self.lexer.number()?,
            Some(c) if is_newline(c) => {
                self.lexer.bump();
                let remedy = "begin the value on the line of its key";
                return Err(self
                    .lexer
                    .error("Expected value but found new line", remedy));
            }
            Some(_) | None => self.lexer.word("")?,
        };
        match word {
            Word::Value(kind) => Ok(Value { kind, at }),
            Word::Variable(name) => self.variable(&name, at),
        }
    }

    fn map_value(&mut self, key: &str) -> Result<Value, ConfigError> {
        self.lexer.skip_space();
        match self.lexer.peek() {
            Some(',') => {
                self.lexer.bump();
                Err(self
                    .lexer
                    .error("Unexpected map value terminator \",\".", ""))
            }
            // nats-server goes on here, with the keys of its map mixed up.
            Some('}') => {
                self.lexer.bump();
                let remedy = format!("give {key:?} a value");
                Err(self
                    .lexer
                    .error("Expected value but found end of map", &remedy))
            }
            Some(_) | None => self.value(),
        }
    }

    fn nested(
        &mut self,
        at: Position,
        read: fn(&mut Self) -> Result<Kind, ConfigError>,
    ) -> Result<Value, ConfigError> {
        self.lexer.bump();
        self.deeper()?;
        let kind = read(self)?;
        self.shared.depth -= 1;
        Ok(Value { kind, at })
    }

    pub(crate) fn deeper(&mut self) -> Result<(), ConfigError> {
        self.shared.depth += 1;
        if self.shared.depth > NESTING_DEPTH_MAX {
            return Err(self.lexer.error("Values are nested too deep.", ""));
        }
        Ok(())
    }

    fn array(&mut self) -> Result<Kind, ConfigError> {
        let mut values = Vec::new();
        loop {
            self.lexer.skip_space();
            match self.lexer.peek() {
                Some('#' | '/') if self.lexer.skip_comment() => continue,
                Some(',' | '/') => {
                    self.lexer.bump();
                    let remedy = "put an element that starts with a slash in quotes";
                    return Err(self
                        .lexer
                        .error("Unexpected array value terminator ','.", remedy));
                }
                Some(']') => {
                    self.lexer.bump();
                    return Ok(Kind::Array(values));
                }
                Some(_) | None => values.push(self.value()?),
            }
            if self.array_element_end()? {
                return Ok(Kind::Array(values));
            }
        }
    }

    /// True if the array ended too.
    fn array_element_end(&mut self) -> Result<bool, ConfigError> {
        loop {
            self.lexer.skip_blanks();
            match self.lexer.peek() {
                Some('#' | '/') if self.lexer.skip_comment() => {}
                Some(c) if c == ',' || is_newline(c) => {
                    self.lexer.bump();
                    return Ok(false);
                }
                Some(']') => {
                    self.lexer.bump();
                    return Ok(true);
                }
                Some(_) | None => break,
            }
        }
        let shown = self.lexer.take_shown();
        let text = format!(
            "Expected an array value terminator \",\" or an array terminator \"]\", but got \
             '{shown}' instead."
        );
        Err(self.lexer.error(&text, "put a comma between the elements"))
    }

    fn map(&mut self) -> Result<Kind, ConfigError> {
        self.scopes.push(Map::default());
        loop {
            self.lexer.skip_space();
            match self.lexer.peek() {
                Some('#' | '/') if self.lexer.skip_comment() => {}
                Some(']') => {
                    self.lexer.bump();
                    let text = "Unexpected array end ']' processing map.";
                    return Err(self.lexer.error(text, "close the map with a brace first"));
                }
                Some('}') => {
                    self.lexer.bump();
                    return Ok(Kind::Map(self.scopes.pop().unwrap_or_default()));
                }
                None => {
                    let remedy = "close the map with a brace";
                    return Err(self.lexer.error("Unexpected EOF processing map.", remedy));
                }
                Some(_) => self.item(Inside::Map)?,
            }
        }
    }
}

#[cfg(test)]
mod tests;
