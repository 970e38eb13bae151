use frond_account::{UserFile, nkey};
use frond_config::{OtaLogin, Source as _};
use serde_json::{Map, Value, json};

use crate::options::System;

/// What the steward's own client calls itself.
pub(super) const NAME: &str = "frond ota";

/// Its `CONNECT`, given what the server said first. Within the process `account` is enough.
///
/// # Errors
/// When the seed is none, or the credentials cannot be read.
pub(crate) fn connect(
    login: &OtaLogin,
    account: Option<&str>,
    info: &str,
) -> Result<String, String> {
    let mut connect = Map::new();
    let mut put = |key: &str, value: Value| connect.insert(key.to_owned(), value);
    for (key, on) in [
        ("verbose", false),
        ("pedantic", false),
        ("headers", true),
        ("no_responders", true),
        ("echo", true),
    ] {
        put(key, json!(on));
    }
    put("name", json!(NAME));
    put("lang", json!("rust"));
    put("version", json!(env!("CARGO_PKG_VERSION")));
    put("protocol", json!(1));
    if let Some(account) = account {
        put("account", json!(account));
    }
    if let Some(user) = &login.user {
        put("user", json!(user));
    }
    if let Some(password) = &login.password {
        put("pass", json!(password.expose()));
    }
    if let Some(token) = &login.token {
        put("auth_token", json!(token.expose()));
    }
    let info: Value = serde_json::from_str(info).unwrap_or_default();
    let nonce = info.get("nonce").and_then(Value::as_str);
    let nonce = nonce.unwrap_or_default().as_bytes();
    if let Some(seed) = &login.nkey {
        let wrong = |error: nkey::NkeyError| format!("ota nkey: {error}");
        let key = nkey::public_key(seed.expose()).map_err(wrong)?;
        let signature = nkey::sign(seed.expose(), nonce).map_err(wrong)?;
        put("nkey", json!(key));
        put("sig", json!(signature));
    }
    if let Some(path) = &login.credentials {
        // Read each time: the file may have become another one.
        let text = System.read(path)?;
        let file = UserFile::parse(&text);
        let file = file.ok_or_else(|| format!("{path}: no credentials of a user"))?;
        let signature = nkey::sign(&file.seed, nonce);
        let signature = signature.map_err(|error| format!("{path}: {error}"))?;
        put("jwt", json!(file.jwt));
        put("sig", json!(signature));
    }
    Ok(format!("CONNECT {}\r\nPING\r\n", Value::Object(connect)))
}
