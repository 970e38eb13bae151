use std::time::Duration;

use crate::limits::{
    OTA_KEYS_MAX, OTA_SOAK_SECONDS, OTA_WINDOW_BEYOND_SOAK_SECONDS, OTA_WINDOW_SECONDS,
    OTA_WINDOW_SECONDS_MAX, OTA_WINDOW_SECONDS_MIN,
};
use crate::nkey;
use crate::position::Position;
use crate::report::{Report, set};
use crate::secret::Secret;
use crate::unsupported::Block;
use crate::value::Value;

mod source;
#[cfg(test)]
mod tests;

pub use source::{OtaSource, OtaWeb};

/// How the configuration of this box is changed from elsewhere. It stays with the box: what comes
/// from elsewhere has no such block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ota {
    /// Folder that bundles and the record are kept in.
    pub store: String,
    /// Another folder, best on another partition, that the highest version is kept in as well.
    pub second: Option<String>,
    /// The name of this box.
    pub device: String,
    /// Groups it belongs to.
    pub groups: Vec<String>,
    /// In which a configuration must be confirmed. 10 min by default, from 30 s to an hour.
    pub window: Duration,
    /// For how long everything must be well before it is. 10 s by default, 1 s at least.
    pub soak: Duration,
    /// As whom the box logs in at itself.
    pub login: OtaLogin,
    /// Who may sign.
    pub trust: OtaTrust,
    /// Where bundles come from.
    pub source: OtaSource,
}

/// As whom the box logs in at itself, to be told of bundles and to see that it works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtaLogin {
    /// With a password.
    pub user: Option<String>,
    /// The user's.
    pub password: Option<Secret>,
    /// Without a user.
    pub token: Option<Secret>,
    /// The seed of a user's nkey.
    pub nkey: Option<Secret>,
    /// File with a user's JWT and seed.
    pub credentials: Option<String>,
}

/// The root this box starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtaTrust {
    /// Of the root. 1 by default.
    pub version: u32,
    /// Those who say who signs.
    pub root: OtaKeys,
    /// Those who sign configurations.
    pub release: OtaKeys,
    /// Those who may sign older ones too; without keys nobody may.
    pub emergency: OtaKeys,
    /// Those who sign for the hub that a box on trial reached it; without keys its word is enough.
    pub hub: OtaKeys,
}

/// Keys of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtaKeys {
    /// How many must sign. 1 by default.
    pub threshold: u8,
    /// Public nkeys of operators.
    pub keys: Vec<String>,
}

impl Default for OtaKeys {
    fn default() -> Self {
        Self {
            threshold: 1,
            keys: Vec::new(),
        }
    }
}

impl Ota {
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "expected ota to be a map/struct")?;
        let mut ota = Self {
            store: String::new(),
            second: None,
            device: String::new(),
            groups: Vec::new(),
            window: Duration::from_secs(OTA_WINDOW_SECONDS),
            soak: Duration::from_secs(OTA_SOAK_SECONDS),
            login: OtaLogin::default(),
            trust: OtaTrust {
                version: 1,
                root: OtaKeys::default(),
                release: OtaKeys::default(),
                emergency: OtaKeys::default(),
                hub: OtaKeys::default(),
            },
            source: OtaSource::default(),
        };
        let mut is_trusting = false;
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "store" => set(&mut ota.store, report.string(value)),
                "second" => set(&mut ota.second, report.text(value)),
                "device" => set(&mut ota.device, name("device", value, report)),
                "groups" => set(&mut ota.groups, groups(value, report)),
                "window" => set(&mut ota.window, window(value, report)),
                "soak" => set(&mut ota.soak, soak(value, report)),
                "user" => set(&mut ota.login.user, report.text(value)),
                "password" | "pass" => set(&mut ota.login.password, report.secret(value)),
                "token" => set(&mut ota.login.token, report.secret(value)),
                "nkey" | "seed" => set(&mut ota.login.nkey, report.secret(value)),
                "creds" | "credentials" => set(&mut ota.login.credentials, report.text(value)),
                "trust" => {
                    is_trusting = true;
                    ota.trust.read(value, report);
                }
                "source" => ota.source.read(value, report),
                _ => report.other(Block::Ota, entry),
            }
        }
        ota.check(is_trusting, &value.at, report);
        Some(ota)
    }

    fn check(&self, is_trusting: bool, at: &Position, report: &mut Report) {
        if self.store.is_empty() {
            let remedy = "write store: \"/var/lib/frond/ota\"";
            report.error(at, "ota needs a folder to keep bundles in", remedy);
        }
        if self.device.is_empty() {
            let remedy = "write device: \"shop-17\"";
            report.error(at, "ota needs the name of this box", remedy);
        }
        if !is_trusting {
            let remedy = "write trust { root { keys: [...] }, release { keys: [...] } }";
            report.error(at, "ota needs to know who signs", remedy);
        }
        let beyond = Duration::from_secs(OTA_WINDOW_BEYOND_SOAK_SECONDS);
        if self.soak + beyond > self.window {
            let remedy = "write a soak at least 10 s below the window";
            report.error(at, "ota: nothing is ever confirmed", remedy);
        }
        self.check_folders(at, report);
        self.check_login(at, report);
        if self.source.registry.is_some() && self.source.bucket.is_none() {
            let text = "ota: source has a registry and no bucket";
            report.error(at, text, "write bucket: \"FROND_CONFIG\"");
        }
    }
}

impl Ota {
    /// What is kept in two places is not in one, and what comes is not what is kept.
    fn check_folders(&self, at: &Position, report: &mut Report) {
        let is_in_store = |path: &Option<String>| {
            let path = path.as_deref().map(std::path::Path::new);
            path.is_some_and(|path| path.starts_with(&self.store))
        };
        if self.store.is_empty() {
            return;
        }
        if is_in_store(&self.second) {
            let text = "ota: second is in the store, and would be lost with it";
            report.error(at, text, "write a folder on another partition");
        }
        if is_in_store(&self.source.folder) {
            let text = "ota: the folder that is looked into is in the store";
            report.error(at, text, "write a folder of its own, such as a stick's");
        }
    }

    fn check_login(&self, at: &Position, report: &mut Report) {
        let login = &self.login;
        let ways = [
            login.user.is_some(),
            login.token.is_some(),
            login.nkey.is_some(),
            login.credentials.is_some(),
        ];
        if ways.iter().filter(|it| **it).count() > 1 {
            let text = "ota: the box logs in at itself in one way only";
            report.error(at, text, "write one of user, token, nkey and credentials");
        }
        if login.password.is_some() && login.user.is_none() {
            let text = "ota: a password is given and no user";
            report.error(at, text, "write user: NAME beside it");
        }
    }
}

impl OtaTrust {
    /// One key of the many that sign releases must not do alone what another role may.
    fn check_roles(&self, at: &Position, report: &mut Report) {
        for key in &self.emergency.keys {
            if self.release.keys.contains(key) || self.root.keys.contains(key) {
                let text = format!("ota key {key} is the emergency's and another role's");
                report.error(at, text, "give each role keys of its own");
            }
        }
        for key in &self.hub.keys {
            let others = [&self.root, &self.release, &self.emergency];
            if others.iter().any(|it| it.keys.contains(key)) {
                let text = format!("ota key {key} is the hub's and another role's");
                let remedy =
                    "the hub's key lies on a machine in the network: give it one of its own";
                report.error(at, text, remedy);
            }
        }
        let is_shared = |key: &&String| self.root.keys.contains(key);
        if self.release.keys.iter().any(|key| is_shared(&key)) && self.release.keys.len() > 1 {
            let text = "ota: a key is the root's and one of several for releases";
            report.error(at, text, "give each role keys of its own");
        }
    }

    fn read(&mut self, value: &Value, report: &mut Report) {
        let Some(map) = report.map(value, "expected ota trust to be a map/struct") else {
            return;
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "version" => {
                    let version = report.count(value).map(u32::try_from);
                    match version {
                        Some(Ok(version)) if version > 0 => self.version = version,
                        Some(_) => report.error(&value.at, "invalid version of a root", "write 1"),
                        None => {}
                    }
                }
                "root" => self.root.read("root", value, report),
                "release" => self.release.read("release", value, report),
                "emergency" => self.emergency.read("emergency", value, report),
                "hub" => self.hub.read("hub", value, report),
                _ => report.other(Block::OtaTrust, entry),
            }
        }
        self.check_roles(&value.at, report);
        for (role, keys) in [("root", &self.root), ("release", &self.release)] {
            if keys.keys.is_empty() {
                let text = format!("ota trust: nobody is {role}");
                let remedy = format!("write {role} {{ keys: [\"O...\"] }}");
                report.error(&value.at, text, &remedy);
            }
        }
    }
}

impl OtaKeys {
    fn read(&mut self, role: &str, value: &Value, report: &mut Report) {
        let wrong = format!("expected ota trust {role} to be a map/struct");
        let Some(map) = report.map(value, &wrong) else {
            return;
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "threshold" => match report.count(value).map(u8::try_from) {
                    Some(Ok(threshold)) => self.threshold = threshold,
                    Some(Err(_)) => {
                        report.error(&value.at, "invalid threshold", "write 1, 2 or 3");
                    }
                    None => {}
                },
                "keys" => set(&mut self.keys, keys(value, report)),
                _ => report.other(Block::OtaKeys, entry),
            }
        }
        let count = self.keys.len();
        if count > OTA_KEYS_MAX {
            let text = format!("ota trust {role}: {count} keys are too many");
            let remedy = format!("write {OTA_KEYS_MAX} at most");
            report.error(&value.at, text, &remedy);
        }
        if !(1..=count.max(1)).contains(&usize::from(self.threshold)) {
            let text = format!(
                "ota trust {role}: {} of {count} keys can never sign",
                self.threshold
            );
            let remedy = format!("write a threshold from 1 to {count}");
            report.error(&value.at, text, &remedy);
        }
    }
}

fn window(value: &Value, report: &mut Report) -> Option<Duration> {
    let window = report.strict_duration("window", value)?;
    if window.as_secs() < OTA_WINDOW_SECONDS_MIN {
        let text = "ota: the window to confirm a configuration in is too short";
        report.error(&value.at, text, "write \"30s\" or more");
        return None;
    }
    if window.as_secs() > OTA_WINDOW_SECONDS_MAX {
        let text = "ota: the window to confirm a configuration in is too long";
        report.error(&value.at, text, "write \"1h\" or less");
        return None;
    }
    Some(window)
}

fn soak(value: &Value, report: &mut Report) -> Option<Duration> {
    let soak = report.strict_duration("soak", value)?;
    if soak.as_secs() < 1 {
        let text = "ota: a soak so short shows nothing";
        report.error(&value.at, text, "write \"1s\" or more");
        return None;
    }
    Some(soak)
}

/// Something that becomes one token of a subject.
pub(crate) fn name(what: &str, value: &Value, report: &mut Report) -> Option<String> {
    let name = report.string(value)?;
    is_name(what, &name, value, report).then_some(name)
}

fn is_name(what: &str, name: &str, value: &Value, report: &mut Report) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !name.is_empty() && name.len() <= 64 && name.chars().all(fits);
    if !is_name {
        let text = format!("{what} {name:?} is no name");
        let remedy = "use up to 64 letters, digits, dashes and underscores";
        report.error(&value.at, text, remedy);
    }
    is_name
}

fn groups(value: &Value, report: &mut Report) -> Option<Vec<String>> {
    let mut groups = report.strings("groups", value)?;
    groups.retain(|group| is_name("group", group, value, report));
    Some(groups)
}

fn keys(value: &Value, report: &mut Report) -> Option<Vec<String>> {
    let keys = report.strings("keys", value)?;
    for (at, key) in keys.iter().enumerate() {
        if !nkey::is_public_operator(key) {
            let text = format!("invalid ota key {key:?}");
            report.error(&value.at, text, "write a public nkey of an operator (O...)");
        }
        if keys.iter().take(at).any(|before| before == key) {
            let text = format!("ota key {key} is named twice");
            report.error(&value.at, text, "it signs once only: remove one");
        }
    }
    Some(keys)
}
