//! What a file pulls in from outside itself: includes, variables, the environment.

use crate::error::ConfigError;
use crate::limits::{INCLUDE_DEPTH_MAX, VARIABLE_COPY_BYTES_MAX};
use crate::parser::Parser;
use crate::position::Position;
use crate::source::{Source, beside};
use crate::value::{Kind, Value};
use std::mem;

/// What a file shares with the files and variables it pulls in.
pub(crate) struct Shared<'a> {
    pub(crate) source: &'a dyn Source,
    /// The files that include each other on the way here.
    pub(crate) files: Vec<String>,
    /// The environment variables being read on the way here.
    variables: Vec<String>,
    copied_bytes: usize,
    pub(crate) input_bytes: usize,
    /// Maps, arrays, files and variables inside each other.
    pub(crate) depth: usize,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Self {
        Self {
            source,
            files: Vec::new(),
            variables: Vec::new(),
            copied_bytes: 0,
            input_bytes: 0,
            depth: 0,
        }
    }
}

impl Parser<'_, '_> {
    pub(crate) fn include(&mut self, at: &Position) -> Result<(), ConfigError> {
        let name = self.lexer.include_path()?;
        let path = beside(self.path, &name);
        let fail = |why: &str, remedy: &str| {
            ConfigError::language(
                at,
                format!("error parsing include file '{name}', {why}"),
                remedy,
            )
        };
        if self.shared.files.contains(&path) {
            return Err(fail("it includes itself", "remove one of the includes"));
        }
        if self.shared.files.len() > INCLUDE_DEPTH_MAX {
            return Err(fail("includes are nested too deep", ""));
        }
        let text = self
            .shared
            .source
            .read(&path)
            .map_err(|why| fail(&why, "a path is relative to the file that includes it"))?;
        self.deeper()?;
        self.shared.files.push(path.clone());
        let map = Parser::new(&text, &path, &mut *self.shared).and_then(Parser::run);
        self.shared.files.pop();
        self.shared.depth = self.shared.depth.saturating_sub(1);
        let map = map.map_err(|mut inner| {
            inner.text = format!("error parsing include file '{name}', {}", inner.text);
            inner
        })?;
        for entry in &map {
            self.insert(entry.clone());
        }
        Ok(())
    }

    /// The value of `$name`: innermost map first, then the environment.
    pub(crate) fn variable(&mut self, name: &str, at: Position) -> Result<Value, ConfigError> {
        // A bare bcrypt hash is no variable.
        if name.starts_with("2a$") {
            return Ok(Value {
                kind: Kind::String(format!("${name}")),
                at,
            });
        }
        let found = self.scopes.iter_mut().rev().find_map(|map| map.refer(name));
        if let Some(value) = found {
            let copied = self.shared.copied_bytes.saturating_add(value.weight());
            self.shared.copied_bytes = copied;
            if copied > VARIABLE_COPY_BYTES_MAX {
                return Err(self.lexer.error("Variables copy too much.", ""));
            }
            return Ok(Value {
                kind: value.kind.clone(),
                at,
            });
        }
        self.environment(name, at)
    }

    fn environment(&mut self, name: &str, at: Position) -> Result<Value, ConfigError> {
        let fail = |what: String, remedy: String| {
            let line = at.line;
            let text = format!("variable reference for '{name}' on line {line} {what}");
            ConfigError::language(&at, text, remedy)
        };
        if self.shared.variables.iter().any(|v| v == name) {
            let what = format!("could not be parsed: variable reference cycle for '{name}'");
            return Err(fail(what, String::new()));
        }
        let Some(text) = self.shared.source.env(name) else {
            let remedy = format!("define {name} above, or in the environment, or quote the value");
            return Err(fail("can not be found".to_owned(), remedy));
        };
        self.deeper()?;
        self.shared.variables.push(name.to_owned());
        let files = mem::take(&mut self.shared.files);
        let text = format!("pk={text}");
        let label = format!("${name}");
        let parsed = Parser::new(&text, &label, &mut *self.shared).and_then(Parser::run);
        self.shared.files = files;
        self.shared.variables.pop();
        self.shared.depth = self.shared.depth.saturating_sub(1);
        let map = parsed
            .map_err(|inner| fail(format!("could not be parsed: {}", inner.text), inner.remedy))?;
        match map.get("pk") {
            Some(value) => Ok(Value {
                kind: value.kind.clone(),
                at,
            }),
            None => Err(fail("can not be found".to_owned(), String::new())),
        }
    }
}
