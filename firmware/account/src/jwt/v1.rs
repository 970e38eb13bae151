//! Tokens of version 1 had kind, tags and signing account outside of `nats`.

use serde_json::Value;

use super::token::broken;
use super::{Body, Claim, JwtError};

/// The claim with its parts where version 2 has them; `fix` sees the `nats` part first.
pub(super) fn moved<T: Body>(
    mut claim: Value,
    fix: impl FnOnce(&mut serde_json::Map<String, Value>),
) -> Result<Claim<T>, JwtError> {
    let Some(fields) = claim.as_object_mut() else {
        return Err(JwtError::Json("not an object".to_owned()));
    };
    let outer = ["type", "tags", "issuer_account"].map(|name| (name, fields.remove(name)));
    let nats = fields
        .entry("nats")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(nats) = nats.as_object_mut() {
        fix(nats);
        for (name, value) in outer {
            nats.remove(name);
            if let Some(value) = value {
                nats.insert(name.to_owned(), value);
            }
        }
        nats.insert("version".to_owned(), Value::from(1));
    }
    serde_json::from_value(claim).map_err(broken)
}
