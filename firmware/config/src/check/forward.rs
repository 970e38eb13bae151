//! What a `forward` block needs of the rest: a name that stays, a store and a line.

use super::Checker;
use crate::config::Config;
use crate::options::forward::{Forward, is_name};
use crate::options::remote::Remote;
use crate::options::url::RemoteUrl;

const KEYS: &[&str] = &["forward"];

impl Checker<'_> {
    pub(super) fn forwards(&mut self) {
        let config = self.config;
        if config.forwards.is_empty() {
            return;
        }
        if !config.jetstream.enabled {
            let text = "forward needs jetstream to keep messages in";
            self.error(KEYS, text, "add a jetstream block");
        }
        let name = config.server_name.as_deref();
        if !name.is_some_and(is_name) {
            let text = "forward needs a server_name that stays: letters, digits, - and _";
            self.error(KEYS, text, "write server_name: shop-17");
        }
        for forward in &config.forwards {
            self.forward(forward);
        }
    }

    fn forward(&mut self, forward: &Forward) {
        let config = self.config;
        let (name, to) = (&forward.name, &forward.to);
        if config.jetstream.domain.as_ref() == Some(&to.domain) {
            let text = format!(
                "forward {name}: to is this server's own domain {:?}",
                to.domain
            );
            let remedy = "write the hub's, and another one in jetstream here";
            self.error(KEYS, text, remedy);
        }
        let remotes = &config.leafnodes.remotes;
        let urls = remotes.iter().filter_map(|it| it.urls.first());
        let urls: Vec<_> = urls.map(host_port).collect();
        match (config.remote_of(forward), &to.remote) {
            (Some(_), _) => {}
            (None, None) if remotes.len() > 1 => {
                let text = format!(
                    "forward {name}: to does not say which of {} remotes leads there",
                    remotes.len()
                );
                let remedy = format!("write to {{ remote: HOST }}: {}", urls.join(", "));
                self.error(KEYS, text, &remedy);
            }
            (None, None) => {
                let text = format!("forward {name}: to names no remote, there is none");
                self.error(KEYS, text, "add the hub to leafnodes { remotes: [...] }");
            }
            (None, Some(remote)) => {
                let text = format!("forward {name}: to {remote:?} names no remote");
                let remedy = format!("it is one of: {}", urls.join(", "));
                self.error(KEYS, text, &remedy);
            }
        }
    }
}

/// How far blocks are is each box's own affair.
const FORWARD_MARKS: &str = "$FROND.forward.>";

fn add(denied: &mut Vec<String>, subject: &String) {
    if !denied.contains(subject) {
        denied.push(subject.clone());
    }
}

impl Config {
    /// What a block keeps is what is said on this box: what other boxes of the account say, they
    /// keep and forward themselves, and where they are with it.
    pub(crate) fn deny_forwarded(&mut self) {
        let of = |forward: &Forward| {
            let account = self.remote_of(forward)?.account.clone();
            Some((account, forward.subjects.clone()))
        };
        let all: Vec<_> = self.forwards.iter().filter_map(of).collect();
        for (account, subjects) in all {
            self.deny_kept(&account, &subjects);
        }
    }

    /// What a block of an account keeps is said on this box only.
    pub fn deny_kept(&mut self, account: &str, subjects: &[String]) {
        let marks = FORWARD_MARKS.to_owned();
        let remotes = self.leafnodes.remotes.iter_mut();
        for remote in remotes.filter(|it| it.account == account) {
            for subject in subjects.iter().chain([&marks]) {
                add(&mut remote.deny_imports, subject);
            }
            add(&mut remote.deny_exports, &marks);
        }
    }

    /// The remote that a block leads to.
    #[must_use]
    pub fn remote_of(&self, forward: &Forward) -> Option<&Remote> {
        match (&forward.to.remote, self.leafnodes.remotes.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(named), remotes) => remotes.iter().find(|remote| {
                let mut urls = remote.urls.iter();
                urls.any(|url| url.host == *named || host_port(url) == *named)
            }),
        }
    }
}

fn host_port(url: &RemoteUrl) -> String {
    format!("{}:{}", url.host, url.port)
}
