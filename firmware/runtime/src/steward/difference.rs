//! What would change between two configurations, for people to read.

use std::collections::BTreeMap;

use frond_config::{Config, changes};

/// Lines about listeners, hubs, accounts and users, and how it can be taken.
#[must_use]
pub(super) fn lines(old: &Config, new: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    match changes(old, new) {
        Ok(changes) => {
            let options = changes.options.iter().map(|change| change.option.name());
            lines.extend(options.map(|name| format!("changes while it runs: {name}")));
            if !changes.remotes.is_empty() {
                lines.push("changes while it runs: hubs".to_owned());
            }
        }
        Err(why) => lines.push(format!("needs a restart: {why}")),
    }
    compare("listener", &listeners(old), &listeners(new), &mut lines);
    compare("hub", &hubs(old), &hubs(new), &mut lines);
    compare("account", &accounts(old), &accounts(new), &mut lines);
    compare("user", &users(old), &users(new), &mut lines);
    lines
}

fn compare(
    what: &str,
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
    lines: &mut Vec<String>,
) {
    for (name, is) in new {
        match old.get(name) {
            None => lines.push(format!("{what} {name}: added")),
            Some(was) if was != is => lines.push(format!("{what} {name}: changed")),
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    lines.extend(gone.map(|name| format!("{what} {name}: removed")));
}

pub(super) fn listeners(config: &Config) -> BTreeMap<String, String> {
    let places = [
        ("monitoring", &config.monitor),
        ("leafnodes", &config.leafnodes.listen),
        ("websocket", &config.websocket.listen),
        ("cluster", &config.cluster.listen),
        ("gateway", &config.gateway.listen),
    ];
    let mut all = BTreeMap::new();
    let client = format!("{}:{}", config.host, config.port);
    all.insert("clients".to_owned(), client);
    for (name, place) in places {
        if let Some(at) = place {
            all.insert(name.to_owned(), format!("{}:{}", at.host, at.port));
        }
    }
    all
}

fn hubs(config: &Config) -> BTreeMap<String, String> {
    let remotes = config.leafnodes.remotes.iter().map(|remote| {
        let urls = remote.urls.iter().map(ToString::to_string);
        let name = urls.collect::<Vec<_>>().join(",");
        (name, format!("{remote:?}"))
    });
    remotes.collect()
}

fn accounts(config: &Config) -> BTreeMap<String, String> {
    let accounts = config.accounts.iter();
    let accounts = accounts.map(|account| {
        let mut rest = account.clone();
        rest.users = Vec::new();
        (account.name.clone(), format!("{rest:?}"))
    });
    accounts.collect()
}

fn users(config: &Config) -> BTreeMap<String, String> {
    let mut users = BTreeMap::new();
    for user in &config.authorization.users {
        users.insert(user.identity.name().to_owned(), format!("{user:?}"));
    }
    for account in &config.accounts {
        for user in &account.users {
            let name = format!("{} of account {}", user.identity.name(), account.name);
            users.insert(name, format!("{user:?}"));
        }
    }
    if let Some(user) = &config.authorization.user {
        let may = format!("{:?}", config.authorization.default_permissions);
        users.insert(user.clone(), may);
    }
    users
}
