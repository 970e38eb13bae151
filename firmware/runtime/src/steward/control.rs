//! The socket at which people at the box ask: one line, one answer.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::limits::CONTROL_LINE_BYTES_MAX;

/// A question, and where its answer goes.
pub(super) type Question = (String, oneshot::Sender<String>);

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
        tokio::task::spawn_local(answer(stream, questions.clone()));
    }
}

async fn answer(mut stream: UnixStream, questions: UnboundedSender<Question>) {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        match stream.read_buf(&mut line).await {
            Ok(1..) if line.len() <= CONTROL_LINE_BYTES_MAX => {}
            Ok(_) | Err(_) => return,
        }
    }
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    let (answer_in, answer) = oneshot::channel();
    if questions.send((line, answer_in)).is_err() {
        return;
    }
    if let Ok(text) = answer.await {
        let _ = stream.write_all(format!("{text}\n").as_bytes()).await;
    }
}
