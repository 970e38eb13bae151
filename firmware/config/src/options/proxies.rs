use crate::nkey;
use crate::report::Report;
use crate::unsupported::Block;
use crate::value::Value;

/// Proxies that may speak for their clients.
///
/// spec: nats-server v2.15.1 server/opts.go `parseProxies`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proxies {
    /// Public keys that sign the nonce of a client's connection.
    pub trusted: Vec<String>,
}

impl Proxies {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "expected proxies to be a map/struct")?;
        let mut proxies = Self::default();
        for entry in map {
            match entry.key.to_lowercase().as_str() {
                "trusted" => proxies.read_trusted(&entry.value, report),
                _ => report.other(Block::Proxies, entry),
            }
        }
        Some(proxies)
    }

    fn read_trusted(&mut self, value: &Value, report: &mut Report) {
        let wrong = "expected proxies' trusted field to be an array";
        for value in report.array(value, wrong).unwrap_or_default() {
            let wrong = "expected proxies' trusted entry to be a map/struct";
            let Some(map) = report.map(value, wrong) else {
                continue;
            };
            let mut key = String::new();
            for entry in map {
                match entry.key.to_lowercase().as_str() {
                    "key" | "public_key" => {
                        key = report.string(&entry.value).unwrap_or_default();
                        if !nkey::is_public(&key) {
                            let text = format!("invalid proxy key {key:?}");
                            report.error(&entry.value.at, text, "write a public nkey");
                        }
                    }
                    _ => report.other(Block::Proxy, entry),
                }
            }
            if key.is_empty() {
                let text = format!("proxy trusted key {key:?} is invalid");
                report.error(&value.at, text, "write { key: \"...\" }");
            }
            self.trusted.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Nothing, load_text};

    #[test]
    fn only_public_keys_are_trusted() {
        let key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
        let read = |text: &str| load_text(text, "x.conf", &Nothing);
        let config = read(&format!("proxies {{ trusted: [ {{ key: {key} }} ] }}"))
            .unwrap()
            .config;
        assert_eq!(config.proxies.unwrap().trusted, [key]);
        for (text, want) in [
            (
                "proxies { trusted: [ { key: \"U\" } ] }",
                "invalid proxy key \"U\"",
            ),
            (
                "proxies { trusted: 1 }",
                "expected proxies' trusted field to be an array",
            ),
            (
                "proxies { trusted: [ 1 ] }",
                "expected proxies' trusted entry to be a map/struct",
            ),
            (
                "proxies { trusted: [ {} ] }",
                "proxy trusted key \"\" is invalid",
            ),
        ] {
            let errors = read(text).unwrap_err().to_string();
            assert!(errors.contains(want), "{text}: {errors}");
        }
    }
}
