//! Documents held to the JSON schemas that the `nats` tool carries.

use std::process::Stdio;

use serde_json::Value;

use crate::cli::nats;
use crate::server::Server;

/// What is wrong with a document by the schema of this name, such as
/// `io.nats.jetstream.api.v1.stream_names_response`; nothing when it fits.
///
/// # Panics
/// When the tool cannot be run.
#[must_use]
pub fn complaints(server: &Server, schema: &str, document: &Value) -> Vec<String> {
    let file = server.dir().join("document.json");
    std::fs::write(&file, document.to_string()).expect("own folder can be written");
    let path = file.to_str().expect("a path in UTF-8");
    let mut validate = nats(server, &["schema", "validate", "--json", schema, path]);
    let output = validate.stderr(Stdio::inherit()).output();
    let output = output.expect("the nats tool can be run").stdout;
    serde_json::from_slice(&output)
        .unwrap_or_else(|_| panic!("{schema}: {}", String::from_utf8_lossy(&output)))
}
