use std::collections::{BTreeMap, BTreeSet};

/// A device tree: what is on a board, and what needs what.
#[derive(Debug)]
pub struct Tree {
    /// Paths, and properties by their names.
    nodes: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
}

const BEGIN: u32 = 1;
const END: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
/// Properties that are nothing but nodes that are needed; so are those that end in `-supply`.
const ALL: [&str; 4] = ["interrupt-parent", "mmc-pwrseq", "phy-handle", "pinctrl-0"];
/// Properties that begin with such a node, and go on with details; so do those that end in `-gpios`.
const FIRST: [&str; 7] = [
    "clocks",
    "gpios",
    "mboxes",
    "msi-parent",
    "phys",
    "power-domains",
    "resets",
];

impl Tree {
    /// From its binary form.
    ///
    /// spec: Devicetree Specification v0.4, chapter 5
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let word = |at: usize| {
            let word = bytes.get(at..at + 4).and_then(|it| it.first_chunk());
            u32::from_be_bytes(*word.expect("a whole tree"))
        };
        let place = |at: usize| usize::try_from(word(at)).expect("an address");
        let (mut at, names) = (place(8), place(12));
        let mut nodes = BTreeMap::<String, BTreeMap<String, Vec<u8>>>::new();
        let mut path = Vec::<String>::new();
        loop {
            let token = word(at);
            at += 4;
            match token {
                BEGIN => {
                    let name = text(bytes, at);
                    at += (name.len() + 1).next_multiple_of(4);
                    path.push(name);
                    nodes.insert(path.join("/"), BTreeMap::new());
                }
                END => drop(path.pop()),
                PROPERTY => {
                    let (length, name) = (place(at), text(bytes, names + place(at + 4)));
                    let value = bytes.get(at + 8..at + 8 + length).unwrap_or_default();
                    at += 8 + length.next_multiple_of(4);
                    let node = nodes.entry(path.join("/")).or_default();
                    node.insert(name, value.to_vec());
                }
                NOTHING => {}
                _ => return Self { nodes },
            }
        }
    }

    /// For each enabled device that is called so in its driver's words: the names, in their
    /// drivers' words, of everything that it takes to reach it and to use it. The board itself is
    /// left out.
    #[must_use]
    pub fn chain(&self, compatible: &str) -> Vec<Vec<String>> {
        let is_it = |node: &BTreeMap<String, Vec<u8>>| {
            let is_on = node.get("status").is_none_or(|it| it.starts_with(b"ok"));
            is_on
                && strings(node.get("compatible"))
                    .iter()
                    .any(|it| it == compatible)
        };
        let found = self.nodes.iter().filter(|(_, node)| is_it(node));
        let mut todo: Vec<String> = found.map(|(path, _)| path.clone()).collect();
        let mut seen = BTreeSet::new();
        while let Some(path) = todo.pop() {
            if path.is_empty() || !seen.insert(path.clone()) {
                continue;
            }
            todo.extend(path.rsplit_once('/').map(|(above, _)| above.to_owned()));
            todo.extend(self.needs(&path));
        }
        let names = seen.iter().filter_map(|path| self.nodes.get(path));
        let names = names.map(|node| strings(node.get("compatible")));
        names.filter(|names| !names.is_empty()).collect()
    }

    fn needs(&self, path: &str) -> Vec<String> {
        let node = self.nodes.get(path).into_iter().flatten();
        let handles = node.flat_map(|(name, value)| {
            let words = value.chunks_exact(4).filter_map(<[u8]>::first_chunk);
            let words = words.map(|it| u32::from_be_bytes(*it));
            let most = if ALL.contains(&name.as_str()) || name.ends_with("-supply") {
                usize::MAX
            } else {
                usize::from(FIRST.contains(&name.as_str()) || name.ends_with("-gpios"))
            };
            words.take(most).collect::<Vec<u32>>()
        });
        handles.filter_map(|handle| self.behind(handle)).collect()
    }

    fn behind(&self, handle: u32) -> Option<String> {
        let mut nodes = self.nodes.iter();
        let is_it = |node: &BTreeMap<String, Vec<u8>>| {
            node.get("phandle").map(Vec::as_slice) == Some(handle.to_be_bytes().as_slice())
        };
        nodes
            .find(|(_, node)| is_it(node))
            .map(|(path, _)| path.clone())
    }
}

fn text(bytes: &[u8], at: usize) -> String {
    let rest = bytes.get(at..).unwrap_or_default();
    let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

fn strings(value: Option<&Vec<u8>>) -> Vec<String> {
    let texts = value.into_iter().flat_map(|it| it.split(|byte| *byte == 0));
    let texts = texts.filter(|it| !it.is_empty());
    texts
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}
