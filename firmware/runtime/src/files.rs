use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Files that tell others about this process; removed when it ends in good order.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    paths: Vec<PathBuf>,
}

/// What the server listens on, by the names the ports file uses.
pub(crate) type Ports = BTreeMap<&'static str, Vec<String>>;

impl Traces {
    /// Writes the process id, digits only: readers parse it whole.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn write_pid(&mut self, path: &Path) -> io::Result<()> {
        self.write(path.to_owned(), &std::process::id().to_string())
    }

    /// Writes `<program>_<pid>.ports` into `dir`: JSON with one array per kind of listener.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn write_ports(&mut self, dir: &Path, ports: &Ports) -> io::Result<()> {
        let name = format!("{}_{}.ports", program(), std::process::id());
        let json = serde_json::to_string(ports).map_err(io::Error::other)?;
        self.write(dir.join(name), &json)
    }

    fn write(&mut self, path: PathBuf, text: &str) -> io::Result<()> {
        fs::write(&path, text)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        self.paths.push(path);
        Ok(())
    }

    /// Removes what was written.
    pub(crate) fn remove(&mut self) {
        for path in self.paths.drain(..) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The name this program was called by.
pub(crate) fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let name = Path::new(&called)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "frond".to_owned())
}

/// A bound address as urls: one that means "every interface" is shown by loopback.
pub(crate) fn url(scheme: &str, at: SocketAddr) -> String {
    let ip = at.ip();
    let host = if ip.is_unspecified() {
        "127.0.0.1".to_owned()
    } else {
        ip.to_string()
    };
    if at.is_ipv6() && !ip.is_unspecified() {
        format!("{scheme}://[{host}]:{}", at.port())
    } else {
        format!("{scheme}://{host}:{}", at.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_removed_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut traces = Traces::default();
        let pid = dir.path().join("pid");
        traces.write_pid(&pid).unwrap();
        traces
            .write_ports(
                dir.path(),
                &Ports::from([("nats", vec!["nats://127.0.0.1:1".to_owned()])]),
            )
            .unwrap();
        assert_eq!(
            fs::read_to_string(&pid).unwrap(),
            std::process::id().to_string()
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        traces.remove();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
