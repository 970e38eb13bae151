//! `/ipqueuesz`: there are no queues between threads on this server.

use serde::Serialize;

use crate::query::{Query, Refusal};

#[derive(Debug, Serialize)]
struct Nobody {}

/// No queues, so none with anything in it either.
pub(crate) fn document(query: &Query) -> Result<impl Serialize + use<>, Refusal> {
    query.flag("all")?;
    Ok(Nobody {})
}
