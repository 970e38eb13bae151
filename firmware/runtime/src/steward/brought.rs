use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::News;
use crate::tls::Season;
use crate::{Download, Downloaded};

/// What came from the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It is what is here already.
    Unchanged,
    /// Into memory.
    Bytes {
        /// The tag that the server gives it.
        tag: Option<String>,
        /// What it is.
        bytes: Vec<u8>,
    },
    /// Into the file, which is on the medium.
    File {
        /// The tag that the server gives it.
        tag: Option<String>,
        /// How long it is.
        bytes: u64,
    },
}

/// Beside everything else: who waits for a far server holds up nobody who waits for the disk.
pub(super) async fn bring(
    number: u64,
    download: Download,
    into: Option<PathBuf>,
    season: Arc<Season>,
    news: UnboundedSender<News>,
) {
    let work = move || brought(&download, into.as_deref(), &season);
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|gone| Err(gone.to_string()));
    let _ = news.send(News::Brought(number, done));
}

fn brought(
    download: &Download,
    into: Option<&Path>,
    season: &Arc<Season>,
) -> Result<Brought, String> {
    let Some(path) = into else {
        let mut bytes = Vec::new();
        return Ok(match download.run_in(season, &mut bytes)? {
            Downloaded::Unchanged => Brought::Unchanged,
            Downloaded::Whole { tag, .. } => Brought::Bytes { tag, bytes },
        });
    };
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::create(path).map_err(named)?;
    match download.run_in(season, &mut file)? {
        Downloaded::Unchanged => Ok(Brought::Unchanged),
        Downloaded::Whole { tag, bytes } => {
            file.sync_all().map_err(named)?;
            Ok(Brought::File { tag, bytes })
        }
    }
}
