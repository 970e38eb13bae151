use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::News;

/// Work that may wait for a disk.
pub(super) type Work = Box<dyn FnOnce() -> News + Send>;

/// Does it beside the core, one after another.
pub(super) async fn work(mut todo: UnboundedReceiver<Work>, news: UnboundedSender<News>) {
    while let Some(work) = todo.recv().await {
        let Ok(done) = tokio::task::spawn_blocking(work).await else {
            return;
        };
        if news.send(done).is_err() {
            return;
        }
    }
}
