//! All transcripts of one folder.

use std::path::{Path, PathBuf};

use interop::{Kind, Server, Setup, free_port};

use crate::compare::difference;
use crate::failure::Failure;
use crate::player::{Addrs, Heard, play};
use crate::transcript::Transcript;

/// Every transcript of `transcripts/<folder>` holds for nats-server and for Frond, and their documents agree.
///
/// # Panics
/// With every difference, as `file:line`.
pub fn agree(folder: &str) {
    agree_as(Kind::Leaf, folder);
}

/// Every transcript of `transcripts/<folder>` holds for nats-server and for this server, and their documents agree.
///
/// # Panics
/// With every difference, as `file:line`.
pub fn agree_as(kind: Kind, folder: &str) {
    report(folder, |transcript| {
        let theirs = run(Kind::Real, transcript)
            .map_err(|f| named("the transcript is wrong, nats-server", f))?;
        let ours = run(kind, transcript).map_err(|f| named(kind.name(), f))?;
        same(transcript, &ours, &theirs)
    });
}

/// Every transcript of `transcripts/<folder>` holds for this server.
///
/// # Panics
/// With every difference, as `file:line`.
pub fn holds(kind: Kind, folder: &str) {
    report(folder, |transcript| {
        run(kind, transcript)
            .map(|_| ())
            .map_err(|f| named(kind.name(), f))
    });
}

fn report(folder: &str, check: impl Fn(&Transcript) -> Result<(), Failure>) {
    let files = files(folder);
    assert!(!files.is_empty(), "no transcripts in {folder}");
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(path).expect("a transcript can be read");
            let name = format!(
                "transcripts/{folder}/{}",
                path.file_name().expect("a file").to_string_lossy()
            );
            Transcript::parse(&name, &text)
                .and_then(|t| check(&t))
                .err()
                .map(|f| f.to_string())
        })
        .collect();
    let count = failures.len();
    assert!(
        count == 0,
        "{count} of {} transcripts failed:\n{}",
        files.len(),
        failures.join("\n")
    );
}

fn files(folder: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("transcripts")
        .join(folder);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    files.sort();
    files
}

fn run(kind: Kind, transcript: &Transcript) -> Result<Vec<Heard>, Failure> {
    let jetstream = if transcript.jetstream {
        "jetstream { store_dir: \"$DIR/js\" }\n"
    } else {
        ""
    };
    let config = format!(
        "listen: \"127.0.0.1:-1\"\nserver_name: script\n{jetstream}{}",
        transcript.config
    );
    let leafnode = format!("127.0.0.1:{}", free_port());
    let config = if transcript.leafnode {
        format!("{config}leafnodes {{ listen: \"{leafnode}\" }}\n")
    } else {
        config
    };
    let server = start(kind, &config).map_err(|text| {
        let text = text.lines().collect::<Vec<_>>().join(" / ");
        Failure {
            file: transcript.file.clone(),
            line: 1,
            text,
        }
    })?;
    play(
        transcript,
        &Addrs {
            client: server.addr().to_owned(),
            leafnode,
        },
    )
}

/// A server that refuses its configuration is one transcript's failure, not the folder's.
fn start(kind: Kind, config: &str) -> Result<Server, String> {
    std::panic::catch_unwind(|| Server::start(kind, &Setup::config(config))).map_err(|panic| {
        panic
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_else(|| "can't be started".to_owned())
    })
}

fn same(transcript: &Transcript, ours: &[Heard], theirs: &[Heard]) -> Result<(), Failure> {
    for (ours, theirs) in ours.iter().zip(theirs) {
        if let Some(text) = difference(&ours.document, &theirs.document) {
            return Err(Failure {
                file: transcript.file.clone(),
                line: ours.line,
                text,
            });
        }
    }
    Ok(())
}

fn named(who: &str, failure: Failure) -> Failure {
    Failure {
        text: format!("{who}: {}", failure.text),
        ..failure
    }
}
