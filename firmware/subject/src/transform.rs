use crate::function::{Cut, Function};
use crate::{TransformError, is_literal, matches};

/// Renames subjects: those that match a source filter get a name made from their tokens.
///
/// spec: nats-server v2.15.1 server/subject_transform.go
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    source: String,
    destination: String,
    /// Positions of the `*` among the tokens of the source.
    wildcards: Vec<usize>,
    /// Tokens of the source before its `>`, when it has one.
    before_tail: Option<usize>,
    steps: Vec<(String, Function)>,
}

impl Transform {
    /// A mapping of an account or a stream. An empty source stands for `>`.
    ///
    /// # Errors
    /// Says what is wrong with the destination, in nats-server's words.
    pub fn new(source: &str, destination: &str) -> Result<Self, TransformError> {
        let source = if source.is_empty() { ">" } else { source };
        let (from, to) = (Shape::of(source)?, Shape::of(destination)?);
        if !to.wildcards.is_empty() || from.tail.is_some() != to.tail.is_some() {
            return Err(TransformError::InvalidSubject);
        }
        let has_wildcards = from.tail.is_some() || !from.wildcards.is_empty();
        let mut steps = Vec::new();
        for token in destination.split('.') {
            let function = Function::parse(token)?;
            let function = if has_wildcards {
                check_references(token, &function, from.wildcards.len())?;
                function
            } else {
                without_references(token, function)?
            };
            steps.push((token.to_owned(), function));
        }
        Ok(Self {
            source: source.to_owned(),
            destination: destination.to_owned(),
            wildcards: from.wildcards,
            before_tail: from.tail,
            steps,
        })
    }

    /// A mapping of an import, which has to be reversible: only references to `*`,
    /// and each `*` used.
    ///
    /// # Errors
    /// As [`Self::new`], and for what can't be reversed.
    pub fn reversible(source: &str, destination: &str) -> Result<Self, TransformError> {
        let transform = Self::new(source, destination)?;
        let mut references = 0;
        for (token, function) in &transform.steps {
            match function {
                Function::Text => {}
                Function::Wildcard(_) => references += 1,
                Function::Partition { .. }
                | Function::Random { .. }
                | Function::Split { .. }
                | Function::Cut { .. } => {
                    return Err(TransformError::NotForImports(token.clone()));
                }
            }
        }
        if references < transform.wildcards.len() {
            return Err(TransformError::NotAllWildcards(destination.to_owned()));
        }
        Ok(transform)
    }

    /// The filter of what is renamed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The pattern of the new names.
    #[must_use]
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// The new name of `subject`; `None` if it is no literal or the source doesn't name it.
    ///
    /// `random` is used up by `{{random(n)}}` and should be different each time.
    #[must_use]
    pub fn apply(&self, subject: &str, random: u64) -> Option<String> {
        if self.source == ">" && self.destination == ">" {
            return Some(subject.to_owned());
        }
        if !is_literal(subject) || !matches(&self.source, subject) {
            return None;
        }
        Some(self.rename(subject, random))
    }

    /// As [`Self::apply`], without asking whether the source names `subject`: a filter that it
    /// overlaps gets a filter's name.
    #[must_use]
    pub fn rename(&self, subject: &str, random: u64) -> String {
        let tokens: Vec<_> = subject.split('.').collect();
        let mut renamed = Vec::with_capacity(subject.len() + self.destination.len());
        for (index, (text, function)) in self.steps.iter().enumerate() {
            if index > 0 {
                renamed.push(b'.');
            }
            match (function, self.before_tail) {
                (Function::Text, Some(before)) if text == ">" => {
                    let tail = tokens.get(before..).unwrap_or_default().join(".");
                    renamed.extend_from_slice(tail.as_bytes());
                }
                (Function::Text, _) => renamed.extend_from_slice(text.as_bytes()),
                (_, _) => self.call(
                    function,
                    &tokens,
                    random.rotate_left(7 * index as u32),
                    &mut renamed,
                ),
            }
        }
        // Cutting counts bytes, as nats-server does, and may cut a character.
        match String::from_utf8(renamed) {
            Ok(renamed) => renamed,
            Err(cut) => String::from_utf8_lossy(cut.as_bytes()).into_owned(),
        }
    }

    fn call(&self, function: &Function, tokens: &[&str], random: u64, out: &mut Vec<u8>) {
        match function {
            Function::Text => {}
            Function::Wildcard(token) => out.extend_from_slice(self.token(*token, tokens)),
            Function::Partition {
                buckets,
                tokens: hashed,
            } => {
                let key = match hashed[..] {
                    [] => tokens.join(".").into_bytes(),
                    _ => hashed
                        .iter()
                        .flat_map(|token| self.token(*token, tokens))
                        .copied()
                        .collect(),
                };
                let bucket = fnv1a(&key).checked_rem(*buckets as u32);
                out.extend_from_slice(bucket.unwrap_or_default().to_string().as_bytes());
            }
            Function::Random { below } => {
                let picked = (random >> 33).checked_rem(u64::from(below.unsigned_abs()));
                out.extend_from_slice(picked.unwrap_or_default().to_string().as_bytes());
            }
            Function::Split { token, separator } => {
                split(self.token(*token, tokens), separator.as_bytes(), out);
            }
            Function::Cut { cut, token, bytes } => {
                let token = self.token(*token, tokens);
                match usize::try_from(*bytes) {
                    Ok(bytes) if bytes > 0 && bytes < token.len() => {
                        cut_at(*cut, token, bytes, out)
                    }
                    Ok(_) | Err(_) => out.extend_from_slice(token),
                }
            }
        }
    }

    /// What stands for the `*` of this number; numbers below 1 mean the first token of all.
    fn token<'t>(&self, number: i64, tokens: &[&'t str]) -> &'t [u8] {
        let index = usize::try_from(number - 1).ok();
        let position = index.and_then(|index| self.wildcards.get(index));
        let position = position.copied().unwrap_or_default();
        tokens
            .get(position)
            .map(|token| token.as_bytes())
            .unwrap_or_default()
    }
}

/// Where the wildcards of a subject are. Laxer than a filter: any text is a token.
struct Shape {
    wildcards: Vec<usize>,
    /// Tokens before the `>`.
    tail: Option<usize>,
}

impl Shape {
    fn of(subject: &str) -> Result<Self, TransformError> {
        let mut shape = Self {
            wildcards: Vec::new(),
            tail: None,
        };
        for (position, token) in subject.split('.').enumerate() {
            if token.is_empty() || shape.tail.is_some() {
                return Err(TransformError::InvalidSubject);
            }
            match token {
                "*" => shape.wildcards.push(position),
                ">" => shape.tail = Some(position),
                _ => {}
            }
        }
        Ok(shape)
    }
}

/// For a source without wildcards: what can do without them.
fn without_references(token: &str, function: Function) -> Result<Function, TransformError> {
    match function {
        Function::Text | Function::Random { .. } => Ok(function),
        Function::Partition { buckets, .. } => Ok(Function::Partition {
            buckets,
            tokens: Vec::new(),
        }),
        Function::Wildcard(_) | Function::Split { .. } | Function::Cut { .. } => {
            Err(TransformError::IndexOutOfRange(token.to_owned()))
        }
    }
}

fn check_references(
    token: &str,
    function: &Function,
    wildcards: usize,
) -> Result<(), TransformError> {
    let wildcards = i64::try_from(wildcards).unwrap_or(i64::MAX);
    match function
        .references()
        .iter()
        .find(|number| **number > wildcards)
    {
        Some(number) => Err(TransformError::IndexOutOfRange(format!(
            "{token}: [{number}]"
        ))),
        None => Ok(()),
    }
}

fn fnv1a(key: &[u8]) -> u32 {
    key.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// `bytes` is at least 1 and less than the token has.
fn cut_at(cut: Cut, token: &[u8], bytes: usize, out: &mut Vec<u8>) {
    let from_right = token.len() - bytes;
    let (left, right) = token.split_at(match cut {
        Cut::SplitFromLeft | Cut::Left => bytes,
        Cut::SplitFromRight | Cut::Right => from_right,
        Cut::SliceFromLeft => 0,
        Cut::SliceFromRight => token.len() % bytes,
    });
    match cut {
        Cut::Left => out.extend_from_slice(left),
        Cut::Right => out.extend_from_slice(right),
        Cut::SplitFromLeft | Cut::SplitFromRight => join([left, right].into_iter(), out),
        Cut::SliceFromLeft | Cut::SliceFromRight => {
            let first = (!left.is_empty()).then_some(left);
            join(first.into_iter().chain(right.chunks(bytes)), out);
        }
    }
}

fn join<'t>(pieces: impl Iterator<Item = &'t [u8]>, out: &mut Vec<u8>) {
    for (index, piece) in pieces.enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        out.extend_from_slice(piece);
    }
}

/// Pieces between separators, empty ones dropped; without a separator, each character.
fn split(token: &[u8], separator: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(token);
    let separator = String::from_utf8_lossy(separator);
    let pieces: Vec<_> = text
        .split(&*separator)
        .filter(|piece| !piece.is_empty())
        .collect();
    out.extend_from_slice(pieces.join(".").as_bytes());
}

#[cfg(test)]
mod tests;
