/// What is more important than what: the first class goes first and is dropped last. What no
/// priority names is the last one.
#[derive(Clone, Debug)]
pub(crate) struct Classes(Vec<String>);

impl Classes {
    pub(crate) fn new(priority: &[String]) -> Self {
        Self(priority.to_vec())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len() + 1
    }

    pub(crate) fn of(&self, subject: &str) -> usize {
        let mut all = self.0.iter();
        let found = all.position(|filter| frond_subject::matches(filter, subject));
        found.unwrap_or(self.0.len())
    }

    /// What finds a class; that of the last one finds the others as well.
    pub(crate) fn filter(&self, class: usize) -> &str {
        self.0.get(class).map_or(">", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_priority_that_fits_counts() {
        let classes = Classes::new(&["a.x".to_owned(), "a.>".to_owned()]);
        assert_eq!(classes.count(), 3);
        let of: Vec<_> = ["a.x", "a.y", "b"].map(|it| classes.of(it)).into();
        assert_eq!(of, [0, 1, 2]);
        assert_eq!(classes.filter(2), ">");
    }
}
