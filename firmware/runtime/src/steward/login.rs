use frond_account::nkey;
use frond_config::OtaLogin;
use serde_json::{Map, Value, json};

/// What the steward's own client calls itself.
pub(super) const NAME: &str = "frond ota";

/// Its `CONNECT`, given what the server said first.
///
/// # Errors
/// When the seed is none.
pub(crate) fn connect(login: &OtaLogin, info: &str) -> Result<String, String> {
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
    if let Some(user) = &login.user {
        put("user", json!(user));
    }
    if let Some(password) = &login.password {
        put("pass", json!(password.expose()));
    }
    if let Some(token) = &login.token {
        put("auth_token", json!(token.expose()));
    }
    if let Some(seed) = &login.nkey {
        let info: Value = serde_json::from_str(info).unwrap_or_default();
        let nonce = info.get("nonce").and_then(Value::as_str);
        let nonce = nonce.unwrap_or_default().as_bytes();
        let wrong = |error: nkey::NkeyError| format!("ota nkey: {error}");
        let key = nkey::public_key(seed.expose()).map_err(wrong)?;
        let signature = nkey::sign(seed.expose(), nonce).map_err(wrong)?;
        put("nkey", json!(key));
        put("sig", json!(signature));
    }
    Ok(format!("CONNECT {}\r\nPING\r\n", Value::Object(connect)))
}
