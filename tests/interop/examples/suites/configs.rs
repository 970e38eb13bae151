//! Configuration files that people published: each is checked with `-t`, and started when nats-server would start it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::isolate::{in_parallel, isolated};
use crate::shim::Shim;
use crate::{Verdict, Wanted};

/// A check, or a start until it is ready, takes at most so long.
const SECONDS_MAX: u64 = 3;
const ENDINGS: [&str; 3] = ["conf", "cfg", "config"];

pub(crate) fn run(wanted: &Wanted, shim: &Shim) -> BTreeMap<String, Verdict> {
    let mut files = Vec::new();
    find(&wanted.checkout, &mut files);
    files.sort();
    let server = shim.dir().join("nats-server");
    let verdicts = in_parallel(wanted.jobs, &files, |file| {
        let name = file.strip_prefix(&wanted.checkout).unwrap_or(file);
        let name = name.display().to_string();
        let call = |check: &[&str]| {
            let dir = file.parent().unwrap_or(file);
            let path = file.display().to_string();
            let args = check.iter().copied().chain(["-c", &path]);
            isolated(&server, args, dir, shim.dir(), SECONDS_MAX, &[])
        };
        let checked = call(&["-t"]);
        let started = call(&[]);
        if !wanted.only.is_empty() {
            println!("{name}\n{}\n{}", checked.text, started.text);
        }
        let ready = started.text.contains("Server is ready");
        [
            (format!("{name} -t"), pass_if(checked.ok)),
            (format!("{name} start"), pass_if(ready)),
            (
                format!("{name} says: {}", first_line(&checked.text, file)),
                Verdict::Skip,
            ),
        ]
    });
    verdicts
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.contains(&wanted.only))
        .collect()
}

fn pass_if(ok: bool) -> Verdict {
    if ok { Verdict::Pass } else { Verdict::Fail }
}

/// What is said of a file, without where it is.
fn first_line(text: &str, file: &Path) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.replace(&file.display().to_string(), "FILE")
}

fn find(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder of configuration files") {
        let path = entry.expect("a readable folder").path();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            find(&path, files);
        } else if ENDINGS.contains(&&*ending) {
            files.push(path);
        }
    }
}
