use core::ops::ControlFlow;
use std::collections::HashMap;

use crate::token_hash::TokenHash;

/// Where the next token of a filter may lead.
#[derive(Debug)]
pub(crate) struct Children<T> {
    literals: HashMap<Box<str>, Node<T>, TokenHash>,
    star: Option<Node<T>>,
    /// Values whose filter ends here with `>`.
    tail: Vec<T>,
}

/// Where a token has led. Most nodes are the last of their filters and have no children.
#[derive(Debug)]
struct Node<T> {
    /// Values whose filter ends here.
    values: Vec<T>,
    children: Option<Box<Children<T>>>,
}

impl<T> Children<T> {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            literals: HashMap::with_hasher(TokenHash::seeded(seed)),
            star: None,
            tail: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, filter: &str, value: T, seed: u64) {
        let (token, rest) = split(filter);
        if token == ">" {
            return push(&mut self.tail, value);
        }
        if token == "*" {
            let star = self.star.get_or_insert_with(Node::new);
            return star.insert(rest, value, seed);
        }
        if let Some(node) = self.literals.get_mut(token) {
            return node.insert(rest, value, seed);
        }
        let mut node = Node::new();
        node.insert(rest, value, seed);
        self.literals.insert(token.into(), node);
    }

    pub(crate) fn remove(&mut self, filter: &str, value: &T) -> bool
    where
        T: PartialEq,
    {
        let (token, rest) = split(filter);
        match (token, rest) {
            (">", None) => take(&mut self.tail, value),
            ("*", _) => {
                let removed = self
                    .star
                    .as_mut()
                    .is_some_and(|star| star.remove(rest, value));
                self.star.take_if(|star| star.is_empty());
                removed
            }
            (literal, _) => {
                let Some(node) = self.literals.get_mut(literal) else {
                    return false;
                };
                let removed = node.remove(rest, value);
                if node.is_empty() {
                    self.literals.remove(literal);
                    self.give_back();
                }
                removed
            }
        }
    }

    pub(crate) fn get(&self, filter: &str) -> &[T] {
        let (token, rest) = split(filter);
        let node = match (token, rest) {
            (">", None) => return &self.tail,
            ("*", _) => self.star.as_ref(),
            (literal, _) => self.literals.get(literal),
        };
        match (node, rest) {
            (None, _) => &[],
            (Some(node), None) => &node.values,
            (Some(node), Some(rest)) => match &node.children {
                Some(children) => children.get(rest),
                None => &[],
            },
        }
    }

    /// Visits the values whose filter names the literal `subject`, until told to stop.
    pub(crate) fn matching(
        &self,
        subject: &str,
        visit: &mut impl FnMut(&T) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (token, rest) = split(subject);
        self.tail.iter().try_for_each(&mut *visit)?;
        for node in self.literals.get(token).into_iter().chain(&self.star) {
            match (rest, &node.children) {
                (None, _) => node.values.iter().try_for_each(&mut *visit)?,
                (Some(rest), Some(children)) => children.matching(rest, visit)?,
                (Some(_), None) => {}
            }
        }
        ControlFlow::Continue(())
    }

    /// Visits the values whose filter has a subject in common with `filter`, until told to stop.
    pub(crate) fn overlapping(
        &self,
        filter: &str,
        visit: &mut impl FnMut(&T) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (token, rest) = split(filter);
        if token == ">" {
            return self.all(visit);
        }
        self.tail.iter().try_for_each(&mut *visit)?;
        if let Some(star) = &self.star {
            star.overlapping(rest, visit)?;
        }
        match (token, self.literals.get(token)) {
            ("*", _) => self
                .literals
                .values()
                .try_for_each(|node| node.overlapping(rest, visit)),
            (_, Some(node)) => node.overlapping(rest, visit),
            (_, None) => ControlFlow::Continue(()),
        }
    }

    /// Visits every filter and value below; `path` is the way here, dot included.
    pub(crate) fn each<'t>(&'t self, path: &mut String, visit: &mut impl FnMut(&str, &'t T)) {
        let len = path.len();
        path.push('>');
        self.tail.iter().for_each(|value| visit(path, value));
        path.truncate(len);
        let literals = self.literals.iter().map(|(token, node)| (&**token, node));
        let stars = self.star.iter().map(|node| ("*", node));
        literals.chain(stars).for_each(|(token, node)| {
            path.push_str(token);
            node.values.iter().for_each(|value| visit(path, value));
            if let Some(children) = &node.children {
                path.push('.');
                children.each(path, visit);
            }
            path.truncate(len);
        });
    }

    fn all(&self, visit: &mut impl FnMut(&T) -> ControlFlow<()>) -> ControlFlow<()> {
        self.tail.iter().try_for_each(&mut *visit)?;
        let mut nodes = self.literals.values().chain(&self.star);
        nodes.try_for_each(|node| {
            node.values.iter().try_for_each(&mut *visit)?;
            match &node.children {
                Some(children) => children.all(visit),
                None => ControlFlow::Continue(()),
            }
        })
    }

    fn is_empty(&self) -> bool {
        self.tail.is_empty() && self.star.is_none() && self.literals.is_empty()
    }

    /// A map that was large once doesn't keep its memory.
    fn give_back(&mut self) {
        if self.literals.len() * 4 < self.literals.capacity() {
            self.literals.shrink_to(self.literals.len() * 2);
        }
    }
}

impl<T> Node<T> {
    const fn new() -> Self {
        Self {
            values: Vec::new(),
            children: None,
        }
    }

    fn insert(&mut self, rest: Option<&str>, value: T, seed: u64) {
        match rest {
            None => push(&mut self.values, value),
            Some(rest) => self
                .children
                .get_or_insert_with(|| Box::new(Children::new(seed)))
                .insert(rest, value, seed),
        }
    }

    fn remove(&mut self, rest: Option<&str>, value: &T) -> bool
    where
        T: PartialEq,
    {
        let Some(rest) = rest else {
            return take(&mut self.values, value);
        };
        let Some(children) = &mut self.children else {
            return false;
        };
        let removed = children.remove(rest, value);
        self.children.take_if(|children| children.is_empty());
        removed
    }

    fn overlapping(
        &self,
        rest: Option<&str>,
        visit: &mut impl FnMut(&T) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match (rest, &self.children) {
            (None, _) => self.values.iter().try_for_each(visit),
            (Some(rest), Some(children)) => children.overlapping(rest, visit),
            (Some(_), None) => ControlFlow::Continue(()),
        }
    }

    const fn is_empty(&self) -> bool {
        self.values.is_empty() && self.children.is_none()
    }
}

/// The first token and what follows its dot. Tokens are short: looking at each byte
/// is faster than a search that gets ready first.
fn split(subject: &str) -> (&str, Option<&str>) {
    let Some(dot) = subject.bytes().position(|byte| byte == b'.') else {
        return (subject, None);
    };
    let (token, rest) = subject.split_at(dot);
    (token, rest.get(1..))
}

/// Most filters have one value: no room is kept for more.
fn push<T>(values: &mut Vec<T>, value: T) {
    if values.is_empty() {
        values.reserve_exact(1);
    }
    values.push(value);
}

fn take<T: PartialEq>(values: &mut Vec<T>, value: &T) -> bool {
    let Some(at) = values.iter().position(|other| other == value) else {
        return false;
    };
    values.swap_remove(at);
    if values.is_empty() || values.len() * 4 < values.capacity() {
        values.shrink_to(values.len() * 2);
    }
    true
}
