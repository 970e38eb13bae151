use crate::nkey;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Value};

/// The service that is asked who clients are.
///
/// spec: nats-server v2.15.1 server/opts.go `parseAuthCallout`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthCallout {
    /// The public account key that signs its answers.
    pub issuer: String,
    /// The account it is asked in. `$G` by default.
    pub account: String,
    /// Users it is not asked about: itself.
    pub auth_users: Vec<String>,
    /// The public curve key requests are sealed for; `None` leaves them readable.
    pub xkey: Option<String>,
    /// The accounts whose users it is asked about; empty is all.
    pub allowed_accounts: Vec<String>,
}

impl AuthCallout {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let wrong = "Expected authorization callout to be a map/struct";
        let map = report.map(value, wrong)?;
        let (mut issuer, mut account, mut xkey) = (None, None, None);
        let (mut auth_users, mut allowed_accounts) = (Vec::new(), Vec::new());
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "issuer" => set(&mut issuer, report.text(value)),
                "account" | "acc" => set(&mut account, report.text(value)),
                "auth_users" | "users" => {
                    let wrong = "Expected auth_users field to be an array";
                    set(&mut auth_users, read_list(wrong, value, report));
                }
                "xkey" | "key" => set(&mut xkey, report.text(value)),
                "allowed_accounts" => {
                    let wrong = "Expected allowed accounts field to be an array";
                    set(&mut allowed_accounts, read_list(wrong, value, report));
                }
                _ => report.other(Block::Callout, entry),
            }
        }
        if let Some(key) = issuer.as_ref().filter(|key| !nkey::is_public_account(key)) {
            let text =
                format!("Expected callout user to be a valid public account nkey, got {key:?}");
            report.error(&value.at, text, "it has 56 characters and starts with A");
            return None;
        }
        if let Some(key) = xkey.as_ref().filter(|key| !nkey::is_public_curve(key)) {
            let text = format!("Expected callout xkey to be a valid public xkey, got {key:?}");
            report.error(&value.at, text, "it has 56 characters and starts with X");
            return None;
        }
        let Some(issuer) = issuer else {
            let text = "Authorization callouts require an issuer to be specified";
            report.error(&value.at, text, "");
            return None;
        };
        if auth_users.is_empty() {
            let text = "Authorization callouts require authorized users to be specified";
            report.error(&value.at, text, "");
            return None;
        }
        Some(Self {
            issuer,
            account: account.unwrap_or_else(|| "$G".to_owned()),
            auth_users,
            xkey,
            allowed_accounts,
        })
    }
}

fn read_list(wrong: &str, value: &Value, report: &mut Report) -> Option<Vec<String>> {
    let values = report.array(value, wrong)?;
    let texts = values.iter().filter_map(|value| match &value.kind {
        Kind::String(text) => Some(text.clone()),
        Kind::Integer(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Date(_)
        | Kind::Array(_)
        | Kind::Map(_) => report.string(value),
    });
    Some(texts.collect())
}

#[cfg(test)]
mod tests {
    use crate::{Nothing, changes, load_text};

    const ISSUER: &str = "ADWUSKGGFDI4FRXK5EBTRECZSVQSSWJHHJOGH6JWG3AUMFFMQ435D6HD";
    const XKEY: &str = "XBL5WSZVT4R24XQUNZHCKEQFM4CHEJIGGSGBKDAUOU6QZEZ5ATKCD722";

    fn file(callout: &str) -> String {
        format!(
            "accounts {{ A {{ users: [ {{ user: a, pass: a }} ] }} }}\n\
                 authorization {{ auth_callout {{ {callout} }} }}"
        )
    }

    fn error(callout: &str) -> String {
        match load_text(&file(callout), "x.conf", &Nothing) {
            Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
            Ok(loaded) => crate::check::check(&loaded.config)
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }

    #[test]
    fn a_service_is_read_whole() {
        let text = file(&format!(
            "issuer: {ISSUER}, account: A, auth_users: [ a ], xkey: {XKEY}, allowed_accounts: [ A ]"
        ));
        let config = load_text(&text, "x.conf", &Nothing).unwrap().config;
        let callout = config.authorization.callout.clone().unwrap();
        assert_eq!(
            (callout.issuer.as_str(), callout.account.as_str()),
            (ISSUER, "A")
        );
        assert_eq!(callout.xkey.as_deref(), Some(XKEY));
        assert_eq!(
            (callout.auth_users, callout.allowed_accounts),
            (vec!["a".into()], vec!["A".into()])
        );
        let other = file(&format!("issuer: {ISSUER}, auth_users: [ a ]"));
        let other = load_text(&other, "x.conf", &Nothing).unwrap().config;
        let refused = changes(&config, &other).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "config reload not supported for AuthCallout: old=&{{{ISSUER} A [a] {XKEY} [A]}}, new=&{{{ISSUER} $G [a]  []}}"
            )
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let all = format!("issuer: {ISSUER}, auth_users: [ a ]");
        for (text, want) in [
            (
                "auth_users: [ a ]".to_owned(),
                "Authorization callouts require an issuer to be specified",
            ),
            (
                format!("issuer: {ISSUER}"),
                "Authorization callouts require authorized users to be specified",
            ),
            (
                "issuer: A".to_owned(),
                "Expected callout user to be a valid public account nkey, got \"A\"",
            ),
            (
                format!("{all}, xkey: {ISSUER}"),
                "Expected callout xkey to be a valid public xkey",
            ),
            (
                format!("{all}, allowed_accounts: [ Z ]"),
                "auth_callout allowed account \"Z\" not found in configured accounts",
            ),
            (
                format!("{all}, what: 1"),
                "Unknown field \"what\" parsing authorization callout",
            ),
        ] {
            let got = error(&text);
            assert!(got.contains(want), "{text}: {got}");
        }
    }
}
