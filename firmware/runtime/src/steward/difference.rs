//! What would change between two configurations, for people to read.

use std::collections::BTreeMap;

use frond_config::{Change, Config, changes};

/// Lines about listeners, hubs, accounts and users, and how it can be taken.
#[must_use]
pub(super) fn lines(old: &Config, new: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    match changes(old, new) {
        Ok(found) => {
            let before = changes(new, old).map(|it| it.options);
            let before = before.unwrap_or_default();
            let options = found.options.iter();
            lines.extend(options.map(|change| live(change, &before)));
            if !found.remotes.is_empty() {
                lines.push("changes while it runs: hubs".to_owned());
            }
        }
        Err(why) => lines.push(format!("needs a restart: {why}")),
    }
    listen(&listeners(old), &listeners(new), &mut lines);
    compare("hub", &hubs(old), &hubs(new), &mut lines);
    compare("account", &accounts(old), &accounts(new), &mut lines);
    compare("user", &users(old), &users(new), &mut lines);
    lines
}

/// An option that is taken over, with what it is and was unless that is long or secret.
fn live(change: &Change, before: &[Change]) -> String {
    let was = before.iter().find(|it| it.option == change.option);
    let was = was.filter(|was| !was.value.is_empty() && was.value != change.value);
    let was = was.map_or_else(String::new, |was| format!(" (now {})", was.value));
    format!("changes while it runs: {change}{was}")
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

/// `compare`, with where they listen.
fn listen(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>, lines: &mut Vec<String>) {
    for (name, is) in new {
        match old.get(name) {
            None => lines.push(format!("listener {name}: added on {is}")),
            Some(was) if was != is => {
                lines.push(format!("listener {name}: changed to {is} (now {was})"));
            }
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    lines.extend(gone.map(|(name, was)| format!("listener {name}: removed (now {was})")));
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

#[cfg(test)]
mod tests {
    use frond_config::{Nothing, load_text};

    use super::*;

    fn config(text: &str) -> Config {
        load_text(text, "x.conf", &Nothing).unwrap().config
    }

    #[test]
    fn what_changes_is_told_with_its_values_and_without_secrets() {
        let old = config("max_payload: 1000\nauthorization { user: a, password: old-secret }");
        let new = config(
            "max_payload: 2000\nauthorization { user: a, password: new-secret }\n\
             port: 4333\nhttp: \"127.0.0.1:8222\"",
        );
        let told = lines(&old, &new).join("\n");
        for line in [
            "listener clients: changed to 0.0.0.0:4333 (now 0.0.0.0:4222)",
            "listener monitoring: added on 127.0.0.1:8222",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
        let new = config("max_payload: 2000\nauthorization { user: a, password: new-secret }");
        let told = [told, lines(&old, &new).join("\n")].join("\n");
        for line in [
            "changes while it runs: max_payload = 2000 (now 1000)",
            "changes while it runs: authorization password\n",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
        assert!(!told.contains("secret"), "{told}");
    }
}
