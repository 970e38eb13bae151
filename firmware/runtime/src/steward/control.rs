//! The socket at which people at the box ask: one line, one answer.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_local;

use crate::limits::CONTROL_LINE_BYTES_MAX;

/// A question, and who waits for its answer.
pub(super) type Question = (String, Asker);

/// Somebody who asked.
#[derive(Debug)]
pub(super) struct Asker(UnixStream);

impl Asker {
    /// Answers at once: what is answered may be that this process is replaced now.
    pub(super) fn answer(mut self, text: &str) {
        let line = format!("{text}\n").into_bytes();
        let written = self.0.try_write(&line).unwrap_or(0);
        let rest = line.get(written..).unwrap_or_default().to_vec();
        if !rest.is_empty() {
            spawn_local(async move { self.0.write_all(&rest).await });
        }
    }
}

/// Only the user the server runs as may ask.
///
/// # Errors
/// The system's.
pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    // What a killed server left.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Until the task is aborted.
pub(super) async fn serve(listener: UnixListener, questions: UnboundedSender<Question>) {
    while let Ok((stream, _)) = listener.accept().await {
        spawn_local(ask(stream, questions.clone()));
    }
}

async fn ask(mut stream: UnixStream, questions: UnboundedSender<Question>) {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        match stream.read_buf(&mut line).await {
            Ok(1..) if line.len() <= CONTROL_LINE_BYTES_MAX => {}
            Ok(_) | Err(_) => return,
        }
    }
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    if stream.writable().await.is_ok() {
        // Where nobody takes questions any more its stream is closed.
        let _ = questions.send((line, Asker(stream)));
    }
}
