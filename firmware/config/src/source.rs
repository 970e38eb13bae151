/// What the parser asks of the outside: the text of included files and the environment.
pub trait Source {
    /// The text of the file at `path`.
    ///
    /// # Errors
    /// Why it cannot be read, in the words of the system
    /// (`open x.conf: no such file or directory`).
    fn read(&self, path: &str) -> Result<String, String>;

    /// The value of the environment variable `name`.
    fn env(&self, name: &str) -> Option<String>;
}

/// A source with no files and an empty environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl Source for Nothing {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("open {path}: no such file or directory"))
    }

    fn env(&self, _name: &str) -> Option<String> {
        None
    }
}

/// `path` as seen from the file `from`. An absolute path is taken below the folder of `from` too.
/// spec: nats-server v2.15.1 conf/parse.go `filepath.Join(p.fp, it.val)`
pub(crate) fn beside(from: &str, path: &str) -> String {
    let dir = from.rfind('/').map_or("", |i| from.get(..=i).unwrap_or(""));
    let absolute = dir.starts_with('/');
    let joined = format!("{dir}/{path}");
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                None if absolute => {}
                Some(_) | None => parts.push(".."),
            },
            name => parts.push(name),
        }
    }
    let path = parts.join("/");
    if absolute { format!("/{path}") } else { path }
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn joins_like_go() {
        let cases = [
            ("a.conf", "b.conf", "b.conf"),
            ("a.conf", "./b.conf", "b.conf"),
            ("/etc/nats/a.conf", "b.conf", "/etc/nats/b.conf"),
            ("/etc/nats/a.conf", "../b.conf", "/etc/b.conf"),
            ("/a.conf", "../../b.conf", "/b.conf"),
            ("x/a.conf", "../../b.conf", "../b.conf"),
            ("/etc/a.conf", "/abs/b.conf", "/etc/abs/b.conf"),
        ];
        for (from, path, want) in cases {
            assert_eq!(beside(from, path), want, "{from} + {path}");
        }
    }
}
