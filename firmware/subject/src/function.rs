//! One token of a mapping's destination: text, `$n`, or `{{function(arguments)}}`.
//!
//! spec: nats-server v2.15.1 `indexPlaceHolders` in server/subject_transform.go

use crate::TransformError;

/// What a destination token becomes. Token numbers count the `*` of the source from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Text,
    Wildcard(i64),
    Partition { buckets: i32, tokens: Vec<i64> },
    Random { below: i32 },
    Split { token: i64, separator: String },
    Cut { cut: Cut, token: i64, bytes: i32 },
}

/// What is done to one token at one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    SplitFromLeft,
    SplitFromRight,
    SliceFromLeft,
    SliceFromRight,
    Left,
    Right,
}

impl Function {
    pub(crate) fn parse(token: &str) -> Result<Self, TransformError> {
        if let Some(index) = token.strip_prefix('$') {
            // Subjects like `$SYS` aren't references.
            return Ok(index.parse().map_or(Self::Text, Self::Wildcard));
        }
        let braces = token.strip_prefix("{{").and_then(|t| t.strip_suffix("}}"));
        let Some(call) = braces.filter(|call| !call.is_empty()) else {
            return Ok(Self::Text);
        };
        let unknown = || TransformError::UnknownFunction(token.to_owned());
        let (name, arguments) = call
            .trim_matches(SPACES)
            .split_once('(')
            .ok_or_else(unknown)?;
        let arguments = arguments.strip_suffix(')').ok_or_else(unknown)?;
        let call = Call {
            token,
            arguments: split_arguments(arguments),
        };
        let name = name.trim_end_matches(SPACES);
        let cut = |cut| call.cut(cut);
        match name_of(name).ok_or_else(unknown)? {
            "Wildcard" => call.wildcard(),
            "Partition" => call.partition(),
            "Random" => call.random(),
            "Split" => call.split(),
            "SplitFromLeft" => cut(Cut::SplitFromLeft),
            "SplitFromRight" => cut(Cut::SplitFromRight),
            "SliceFromLeft" => cut(Cut::SliceFromLeft),
            "SliceFromRight" => cut(Cut::SliceFromRight),
            "Left" => cut(Cut::Left),
            "Right" => cut(Cut::Right),
            _ => Err(unknown()),
        }
    }

    /// The `*` of the source that this refers to.
    pub(crate) fn references(&self) -> &[i64] {
        match self {
            Self::Text | Self::Random { .. } => &[],
            Self::Wildcard(token) | Self::Split { token, .. } | Self::Cut { token, .. } => {
                core::slice::from_ref(token)
            }
            Self::Partition { tokens, .. } => tokens,
        }
    }
}

/// Capitals may be written small, small letters not capital.
const NAMES: [&str; 10] = [
    "Wildcard",
    "Partition",
    "Random",
    "Split",
    "SplitFromLeft",
    "SplitFromRight",
    "SliceFromLeft",
    "SliceFromRight",
    "Left",
    "Right",
];

/// White space as Go's regular expressions have it.
const SPACES: [char; 5] = [' ', '\t', '\n', '\x0c', '\r'];

fn name_of(written: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| {
        let same = |(w, n): (u8, u8)| w == n || (n.is_ascii_uppercase() && w == n + 32);
        name.len() == written.len() && written.bytes().zip(name.bytes()).all(same)
    })
}

fn split_arguments(arguments: &str) -> Vec<&str> {
    let mut arguments = arguments.split(',');
    let first = arguments.next();
    let others = arguments.map(|argument| argument.trim_start_matches(SPACES));
    first.into_iter().chain(others).collect()
}

struct Call<'a> {
    token: &'a str,
    arguments: Vec<&'a str>,
}

impl Call<'_> {
    fn wildcard(&self) -> Result<Function, TransformError> {
        match self.arguments[..] {
            [""] => Err(self.not_enough()),
            [index] => Ok(Function::Wildcard(self.index(index)?)),
            _ => Err(self.too_many()),
        }
    }

    fn partition(&self) -> Result<Function, TransformError> {
        let Some((buckets, tokens)) = self.arguments.split_first() else {
            return Err(self.not_enough());
        };
        let buckets = self.wrapped(buckets)?;
        let tokens = tokens.iter().map(|token| self.index(token));
        Ok(Function::Partition {
            buckets,
            tokens: tokens.collect::<Result<_, _>>()?,
        })
    }

    fn random(&self) -> Result<Function, TransformError> {
        match self.arguments[..] {
            [below] => Ok(Function::Random {
                below: self.wrapped(below)?,
            }),
            _ => Err(self.not_enough()),
        }
    }

    fn split(&self) -> Result<Function, TransformError> {
        let (token, separator) = self.two()?;
        let token = self.index(token)?;
        if separator.contains([' ', '.']) {
            return Err(self.invalid());
        }
        Ok(Function::Split {
            token,
            separator: separator.to_owned(),
        })
    }

    fn cut(&self, cut: Cut) -> Result<Function, TransformError> {
        let (token, bytes) = self.two()?;
        let token = self.index(token)?;
        let bytes = bytes
            .trim_matches(' ')
            .parse()
            .map_err(|_| self.invalid())?;
        Ok(Function::Cut { cut, token, bytes })
    }

    fn two(&self) -> Result<(&str, &str), TransformError> {
        match self.arguments[..] {
            [] | [_] => Err(self.not_enough()),
            [first, second] => Ok((first, second)),
            _ => Err(self.too_many()),
        }
    }

    fn index(&self, argument: &str) -> Result<i64, TransformError> {
        argument
            .trim_matches(' ')
            .parse()
            .map_err(|_| self.invalid())
    }

    /// Too large is an error, too small wraps around: nobody means it, but it starts.
    fn wrapped(&self, argument: &str) -> Result<i32, TransformError> {
        let value = self.index(argument)?;
        if value > i64::from(i32::MAX) {
            return Err(self.invalid());
        }
        Ok(value as i32)
    }

    fn not_enough(&self) -> TransformError {
        TransformError::NotEnoughArguments(self.token.to_owned())
    }

    fn too_many(&self) -> TransformError {
        TransformError::TooManyArguments(self.token.to_owned())
    }

    fn invalid(&self) -> TransformError {
        TransformError::InvalidArgument(self.token.to_owned())
    }
}
