use frond_subject::{Transform, Tree, is_valid_filter, matches, overlaps};

/// Filters kept at a time: beyond that the list to compare with is slow, not more thorough.
const FILTERS_MAX: usize = 64;

/// A tree answers as a list and the rules do, whatever is filed, removed and asked for.
///
/// Input: lines. `+filter` files, `-filter` removes, `source>destination` after `=` maps;
/// each is then asked for.
pub fn subject(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    let (mut tree, mut list) = (Tree::new(), Vec::<&str>::new());
    for line in text.split('\n') {
        let Some(filter) = line.get(1..) else {
            continue;
        };
        match line.as_bytes().first() {
            Some(b'+') if list.len() < FILTERS_MAX => {
                if tree.insert(filter, ()) {
                    list.push(filter);
                }
            }
            Some(b'-') => {
                let at = list.iter().position(|other| *other == filter);
                let removed = at.map(|at| list.swap_remove(at)).is_some();
                assert_eq!(tree.remove(filter, &()), removed, "{filter:?}");
            }
            Some(b'=') => map(filter, text),
            Some(_) | None => {}
        }
        check(&tree, &list, filter);
    }
    let mut all: Vec<_> = tree.iter().map(|(filter, ())| filter).collect();
    all.sort_unstable();
    list.sort_unstable();
    assert_eq!(all, list);
}

fn check(tree: &Tree<()>, list: &[&str], filter: &str) {
    if !is_valid_filter(filter) {
        return;
    }
    let mut found = 0;
    tree.for_each_overlap(filter, &mut |()| found += 1);
    let expected = list.iter().filter(|other| overlaps(other, filter)).count();
    assert_eq!(found, expected, "overlaps of {filter:?}");
    assert_eq!(tree.has_overlap(filter), expected > 0);
    if !frond_subject::is_literal(filter) {
        return;
    }
    let mut found = 0;
    tree.for_each_match(filter, &mut |()| found += 1);
    let expected = list.iter().filter(|other| matches(other, filter)).count();
    assert_eq!(found, expected, "matches of {filter:?}");
    assert_eq!(tree.has_match(filter), expected > 0);
}

/// A mapping is refused, or renames exactly what its source names.
fn map(line: &str, text: &str) {
    let Some((source, destination)) = line.split_once(' ') else {
        return;
    };
    let Ok(transform) = Transform::new(source, destination) else {
        return;
    };
    for subject in text
        .split('\n')
        .filter(|line| frond_subject::is_literal(line))
    {
        let named = matches(transform.source(), subject);
        assert_eq!(transform.apply(subject, 7).is_some(), named, "{subject:?}");
    }
}
