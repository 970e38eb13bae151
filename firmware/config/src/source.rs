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

/// `path` with `$NAME`, `${NAME}` and a leading `~` replaced.
/// spec: nats-server v2.15.1 server/opts.go expandPath, Go os.ExpandEnv
pub(crate) fn expand(path: &str, source: &dyn Source) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (name, after) = variable_name(after);
        match name {
            Some(name) => out.push_str(&source.env(name).unwrap_or_default()),
            None => out.push('$'),
        }
        rest = after;
    }
    out.push_str(rest);
    match (out.strip_prefix('~'), source.env("HOME")) {
        (Some(below), Some(home)) => format!("{}{below}", home.trim_end_matches('/')),
        (Some(_) | None, _) => out,
    }
}

/// The name after a dollar sign, and what follows it.
fn variable_name(text: &str) -> (Option<&str>, &str) {
    if let Some((name, after)) = text.strip_prefix('{').and_then(|t| t.split_once('}')) {
        return (Some(name), after);
    }
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !part(c)).unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some((name, after)) if !name.is_empty() => (Some(name), after),
        Some(_) | None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, beside, expand};

    struct Env;

    impl Source for Env {
        fn read(&self, _: &str) -> Result<String, String> {
            Err(String::new())
        }

        fn env(&self, name: &str) -> Option<String> {
            match name {
                "HOME" => Some("/root/".to_owned()),
                "DIR" => Some("/etc".to_owned()),
                _ => None,
            }
        }
    }

    #[test]
    fn expands_like_a_shell() {
        let cases = [
            ("~/a.creds", "/root/a.creds"),
            ("$DIR/a", "/etc/a"),
            ("${DIR}x/$NONE/a", "/etcx//a"),
            ("a~$", "a~$"),
            ("$/a", "$/a"),
            ("${DIR", "${DIR"),
        ];
        for (path, want) in cases {
            assert_eq!(expand(path, &Env), want, "{path}");
        }
    }

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
