use std::collections::BTreeMap;

/// Tests of a suite that pass with nats-server and not yet with ours, and why.
pub(crate) fn reasons(suite: &str) -> BTreeMap<String, String> {
    include_str!("known.txt")
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, '\t');
            let (of, test, why) = (parts.next()?, parts.next()?, parts.next()?);
            (of == suite).then(|| (test.to_owned(), why.to_owned()))
        })
        .collect()
}
