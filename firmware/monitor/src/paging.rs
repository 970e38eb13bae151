/// Which part of a table is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Rows before it.
    pub(crate) offset: usize,
    /// Rows of it.
    pub(crate) limit: usize,
}

impl Paging {
    /// Negative offsets are none; without a limit above zero `default` is one.
    pub(crate) fn new(offset: i64, limit: i64, default: usize) -> Self {
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        Self {
            offset: usize::try_from(offset).unwrap_or(0),
            limit: limit.unwrap_or(default),
        }
    }

    /// That part of the rows; of an offset past their end nothing.
    pub(crate) fn cut<T>(self, rows: Vec<T>) -> Vec<T> {
        rows.into_iter()
            .skip(self.offset)
            .take(self.limit)
            .collect()
    }
}
