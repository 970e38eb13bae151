use std::time::Duration;

use super::name;
use crate::limits::{OTA_WEB_SECONDS, OTA_WEB_SECONDS_MIN};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::Value;

/// Where bundles come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtaSource {
    /// A key-value bucket of the hub.
    pub bucket: Option<String>,
    /// The hub's JetStream domain; `None`: requests go to whoever answers.
    pub domain: Option<String>,
    /// A key-value bucket of the hub in which boxes say how they are.
    pub registry: Option<String>,
    /// A folder that is looked into: a stick's.
    pub folder: Option<String>,
    /// An object store of the hub, for objects named as the keys of a bucket are.
    pub objects: Option<String>,
    /// A web server's, if there is one.
    pub web: Option<OtaWeb>,
}

/// A web server that is asked for bundles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtaWeb {
    /// Where the bundle is, `https`; `{device}` stands for the name of the box.
    pub url: String,
    /// Who may have signed the server's certificate; `None`: whoever the system trusts.
    pub ca_file: Option<String>,
    /// How often. 5 min by default, 10 s at least.
    pub every: Duration,
}

impl OtaSource {
    pub(super) fn read(&mut self, value: &Value, report: &mut Report) {
        let Some(map) = report.map(value, "expected ota source to be a map/struct") else {
            return;
        };
        let (mut url, mut ca_file, mut every) = (None, None, None);
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "bucket" => set(&mut self.bucket, name("bucket", value, report).map(Some)),
                "domain" => set(&mut self.domain, name("domain", value, report).map(Some)),
                "registry" => {
                    set(
                        &mut self.registry,
                        name("registry", value, report).map(Some),
                    );
                }
                "folder" => set(&mut self.folder, report.text(value)),
                "objects" => set(&mut self.objects, name("objects", value, report).map(Some)),
                "url" => url = web_url(value, report),
                "ca_file" => set(&mut ca_file, report.text(value)),
                "every" => every = pause(value, report),
                _ => report.other(Block::OtaSource, entry),
            }
        }
        if url.is_none() && (ca_file.is_some() || every.is_some()) {
            let text = "ota: source has a ca_file or every, and no url";
            report.error(&value.at, text, "write url: \"https://...\"");
        }
        self.web = url.map(|url| OtaWeb {
            url,
            ca_file,
            every: every.unwrap_or(Duration::from_secs(OTA_WEB_SECONDS)),
        });
    }
}

fn web_url(value: &Value, report: &mut Report) -> Option<String> {
    let url = report.string(value)?;
    let host = url.strip_prefix("https://").unwrap_or_default();
    let is_clean = url.chars().all(|it| it.is_ascii_graphic());
    if host.is_empty() || host.starts_with('/') || !is_clean {
        let text = format!("ota: {url:?} is no URL to ask for bundles");
        report.error(&value.at, text, "write \"https://host/{device}.frond\"");
        return None;
    }
    Some(url)
}

fn pause(value: &Value, report: &mut Report) -> Option<Duration> {
    let every = report.strict_duration("every", value)?;
    if every < Duration::from_secs(OTA_WEB_SECONDS_MIN) {
        let text = "ota: a web server is asked too often";
        report.error(&value.at, text, "write \"10s\" or more");
        return None;
    }
    Some(every)
}
