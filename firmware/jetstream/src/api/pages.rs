use frond_subject::overlaps;

use super::json::{flexible_object, request};
use crate::errors::ApiError;
use crate::stream::config::StreamConfig;

/// Which part of a list is wanted.
#[derive(Debug, Default)]
pub(crate) struct PageRequest {
    pub(crate) offset: usize,
    /// Only streams that listen on something this names.
    pub(crate) subject: String,
}

impl PageRequest {
    /// Out of an optional body of the Go type `of`.
    ///
    /// # Errors
    /// `invalid JSON: …`.
    pub(crate) fn parse(body: &[u8], of: &'static str, is_strict: bool) -> Result<Self, ApiError> {
        let mut asked = Self::default();
        let has_subject = of != "JSApiConsumersRequest";
        request(flexible_object(body), of, is_strict, |name, field| {
            match name {
                "offset" => asked.offset = usize::try_from(field.int64("int")?).unwrap_or(0),
                "subject" if has_subject => asked.subject = field.string()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(asked)
    }

    /// Whether a stream belongs to what is wanted.
    pub(crate) fn names(&self, config: &StreamConfig) -> bool {
        self.subject.is_empty() || config.subjects.iter().any(|s| overlaps(s, &self.subject))
    }

    /// The part, where it starts, and how many there are in all.
    pub(crate) fn cut<T>(&self, all: Vec<T>, page: usize) -> (usize, usize, Vec<T>) {
        let total = all.len();
        let offset = self.offset.min(total);
        (
            total,
            offset,
            all.into_iter().skip(offset).take(page).collect(),
        )
    }
}
