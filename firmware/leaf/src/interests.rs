use std::collections::BTreeMap;

use frond_wire::encode;

/// What the peer has been told we want: how many subscribers stand behind each filter.
///
/// A plain filter is told when the first comes and when the last goes, a queue group with
/// each change of its weight.
/// spec: nats-server v2.15.1 `updateSmap` in server/leafnode.go
#[derive(Clone, Debug, Default)]
pub(crate) struct Interests {
    /// By `subject` or `subject queue`; counts are above zero.
    counts: BTreeMap<Box<str>, i64>,
    key: String,
}

impl Interests {
    /// Counts without telling; [`Interests::write_all`] tells.
    pub(crate) fn count(&mut self, subject: &str, queue: Option<&str>, delta: i32) {
        self.change(subject, queue, delta);
    }

    /// Counts, and tells the peer when it has to know.
    pub(crate) fn update(
        &mut self,
        subject: &str,
        queue: Option<&str>,
        delta: i32,
        out: &mut Vec<u8>,
    ) {
        let (before, after) = self.change(subject, queue, delta);
        if before != after && (queue.is_some() || (before == 0) != (after == 0)) {
            write(out, subject, queue, after);
        }
    }

    /// Tells the peer everything, in order of the filters.
    pub(crate) fn write_all(&self, out: &mut Vec<u8>) {
        for (key, count) in &self.counts {
            let (subject, queue) = split(key);
            write(out, subject, queue, *count);
        }
    }

    /// Tells the peer the difference between `self` and what it was told from `before`.
    pub(crate) fn write_difference(&self, before: &Self, out: &mut Vec<u8>) {
        for key in before
            .counts
            .keys()
            .filter(|key| !self.counts.contains_key(*key))
        {
            let (subject, queue) = split(key);
            write(out, subject, queue, 0);
        }
        for (key, count) in &self.counts {
            let (subject, queue) = split(key);
            let told = before.counts.get(key);
            if told.is_none() || (queue.is_some() && told != Some(count)) {
                write(out, subject, queue, *count);
            }
        }
    }

    /// The count before and after; a filter that was never counted can't go.
    fn change(&mut self, subject: &str, queue: Option<&str>, delta: i32) -> (i64, i64) {
        self.key.clear();
        self.key.push_str(subject);
        if let Some(queue) = queue {
            self.key.push(' ');
            self.key.push_str(queue);
        }
        let Some(count) = self.counts.get_mut(self.key.as_str()) else {
            if delta > 0 {
                self.counts
                    .insert(self.key.as_str().into(), i64::from(delta));
            }
            return (0, i64::from(delta.max(0)));
        };
        let before = *count;
        *count += i64::from(delta);
        let after = *count;
        if after <= 0 {
            self.counts.remove(self.key.as_str());
        }
        (before, after.max(0))
    }
}

/// Subjects and groups hold no blanks, so the first one divides.
fn split(key: &str) -> (&str, Option<&str>) {
    match key.split_once(' ') {
        Some((subject, queue)) => (subject, Some(queue)),
        None => (key, None),
    }
}

fn write(out: &mut Vec<u8>, subject: &str, queue: Option<&str>, count: i64) {
    if count == 0 {
        encode::leaf_unsub(out, subject, queue);
    } else {
        let weight = u32::try_from(count).unwrap_or(u32::MAX);
        encode::leaf_sub(out, subject, queue.map(|queue| (queue, weight)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(interests: &mut Interests, subject: &str, queue: Option<&str>, delta: i32) -> String {
        let mut out = Vec::new();
        interests.update(subject, queue, delta, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn plain_interest_is_told_with_the_first_and_the_last() {
        let mut interests = Interests::default();
        let lines: Vec<_> = [1, 1, 3, -2, -2, -1, -1]
            .map(|delta| told(&mut interests, "bar", None, delta))
            .into();
        assert_eq!(lines, ["LS+ bar\r\n", "", "", "", "", "LS- bar\r\n", ""]);
    }

    #[test]
    fn queue_interest_is_told_with_each_weight() {
        let mut interests = Interests::default();
        let lines: Vec<_> = [1, 1, -1, -1, -1]
            .map(|delta| told(&mut interests, "foo", Some("mygrp"), delta))
            .into();
        let expected = [
            "LS+ foo mygrp 1\r\n",
            "LS+ foo mygrp 2\r\n",
            "LS+ foo mygrp 1\r\n",
            "LS- foo mygrp\r\n",
            "",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_difference_leads_from_one_to_the_other() {
        let (mut before, mut after) = (Interests::default(), Interests::default());
        before.count("gone", None, 1);
        before.count("same", None, 1);
        before.count("q", Some("g"), 2);
        after.count("same", None, 5);
        after.count("new", None, 1);
        after.count("q", Some("g"), 3);
        let mut out = Vec::new();
        after.write_difference(&before, &mut out);
        assert_eq!(out, b"LS- gone\r\nLS+ new\r\nLS+ q g 3\r\n");
    }
}
