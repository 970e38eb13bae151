use proptest::prelude::*;

use super::*;
use crate::{matches, overlaps};

/// The same answers from a list, by the rules alone.
#[derive(Default)]
struct Naive {
    all: Vec<(String, u8)>,
}

impl Naive {
    fn remove(&mut self, filter: &str, value: u8) -> bool {
        let wanted = |(f, v): &(String, u8)| f == filter && *v == value;
        let at = self.all.iter().position(wanted);
        at.map(|at| self.all.swap_remove(at)).is_some()
    }

    fn values(&self, wanted: impl Fn(&str) -> bool) -> Vec<u8> {
        let found = self.all.iter().filter(|(filter, _)| wanted(filter));
        sorted(found.map(|(_, value)| *value).collect())
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values
}

fn check(tree: &Tree<u8>, naive: &Naive, subject: &str, filter: &str) {
    let mut found = Vec::new();
    tree.for_each_match(subject, &mut |value| found.push(*value));
    assert_eq!(sorted(found), naive.values(|f| matches(f, subject)));
    assert_eq!(
        tree.has_match(subject),
        naive.all.iter().any(|(f, _)| matches(f, subject))
    );
    let mut found = Vec::new();
    tree.for_each_overlap(filter, &mut |value| found.push(*value));
    assert_eq!(sorted(found), naive.values(|f| overlaps(f, filter)));
    assert_eq!(
        tree.has_overlap(filter),
        naive.all.iter().any(|(f, _)| overlaps(f, filter))
    );
    assert_eq!(
        sorted(tree.get(filter).to_vec()),
        naive.values(|f| f == filter)
    );
}

fn same_contents(tree: &Tree<u8>, naive: &Naive) {
    let all = tree.iter().map(|(filter, value)| (filter, *value));
    assert_eq!(sorted(all.collect()), sorted(naive.all.clone()));
    assert_eq!(tree.len(), naive.all.len());
}

proptest! {
    #[test]
    fn a_tree_answers_as_the_rules_do(
        seed: u64,
        steps in prop::collection::vec(
            (any::<bool>(), "([abc*]\\.){0,3}[abc*>]", "([abc]\\.){0,3}[abc]", 0..3_u8), 1..60),
    ) {
        let (mut tree, mut naive) = (Tree::seeded(seed), Naive::default());
        for (insert, filter, subject, value) in steps {
            let before = tree.generation();
            let changed = if insert {
                naive.all.push((filter.clone(), value));
                tree.insert(&filter, value)
            } else {
                let removed = naive.remove(&filter, value);
                prop_assert_eq!(tree.remove(&filter, &value), removed);
                removed
            };
            prop_assert_eq!(tree.generation() != before, changed);
            check(&tree, &naive, &subject, &filter);
        }
        same_contents(&tree, &naive);
        for (filter, value) in core::mem::take(&mut naive.all) {
            prop_assert!(tree.remove(&filter, &value));
        }
        prop_assert_eq!(format!("{tree:?}").matches("values").count(), 0, "nodes are left");
    }
}

#[test]
fn a_million_random_operations() {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut tree, mut naive) = (Tree::seeded(7), Naive::default());
    for step in 0..1_000_000 {
        let mut filter = String::new();
        for _ in 0..random(3) {
            filter.push_str(["a.", "b.", "c.", "d.", "*."][random(5) as usize]);
        }
        filter.push_str(["a", "b", "c", "d", "*", ">"][random(6) as usize]);
        let value = random(2) as u8;
        // More removals than fit, so that the tree keeps being emptied and filled.
        if random(2) == 0 && naive.all.len() < 60 {
            assert!(tree.insert(&filter, value));
            naive.all.push((filter, value));
        } else {
            assert_eq!(tree.remove(&filter, &value), naive.remove(&filter, value));
        }
        if step % 64 == 0 {
            check(
                &tree,
                &naive,
                ["a", "a.b", "c.c.c"][random(3) as usize],
                "*.b",
            );
        }
    }
    same_contents(&tree, &naive);
}

#[test]
fn what_is_no_filter_is_refused() {
    let mut tree = Tree::new();
    for bad in ["", "a..b", ">.a", "a b"] {
        assert!(!tree.insert(bad, 1) && !tree.remove(bad, &1));
    }
    let deep = "a.".repeat(FILTER_TOKENS_MAX);
    assert!(!tree.insert(&format!("{deep}b"), 1));
    assert_eq!((tree.len(), tree.generation()), (0, 0));
}

#[test]
fn the_deepest_filter_is_found_and_removed() {
    let mut tree = Tree::new();
    let deep = format!("{}>", "a.".repeat(FILTER_TOKENS_MAX - 1));
    let subject = format!("{}a", "a.".repeat(FILTER_TOKENS_MAX + 9));
    assert!(tree.insert(&deep, 1) && tree.insert(&deep, 2));
    assert!(tree.has_match(&subject) && tree.has_overlap("a.>") && tree.has_overlap(&deep));
    assert_eq!(tree.iter().count(), 2);
    assert!(tree.remove(&deep, &1));
}

#[test]
fn a_tree_once_large_keeps_little() {
    let mut tree = Tree::new();
    for n in 0..10_000 {
        assert!(tree.insert(&format!("inbox.{n}"), n));
    }
    for n in 10..10_000 {
        assert!(tree.remove(&format!("inbox.{n}"), &n));
    }
    assert_eq!(tree.len(), 10);
    for n in 0..10 {
        assert_eq!(tree.get(&format!("inbox.{n}")), [n]);
    }
}
