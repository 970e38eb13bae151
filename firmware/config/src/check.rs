//! Rules across options. spec: nats-server v2.15.1 server/server.go validateOptions

use crate::config::Config;
use crate::duration::Go;
use crate::error::ConfigError;
use crate::limits::{PAYLOAD_BYTES_ADVISED, PAYLOADS_IN_MEMORY_MIN};
use crate::options::auth::Identity;
use crate::position::Position;
use crate::secret::Secret;

mod appliance;
mod forward;
mod operator;
mod peers;
mod websocket;

pub use peers::Abilities;
pub(crate) use peers::abilities;

pub(crate) const SYSTEM_ACCOUNT: &str = "$SYS";
const GLOBAL_ACCOUNT: &str = "$G";

/// Collects errors at the places of the options they are about.
struct Checker<'c> {
    config: &'c Config,
    errors: Vec<ConfigError>,
}

pub(crate) fn check(config: &Config) -> Vec<ConfigError> {
    let mut checker = Checker {
        config,
        errors: Vec::new(),
    };
    checker.server();
    checker.monitoring();
    checker.operator();
    checker.users();
    checker.leafnodes();
    checker.gateway();
    checker.cluster();
    checker.jetstream();
    checker.appliance();
    checker.fleet();
    checker.ota();
    checker.forwards();
    checker.websocket();
    checker.errors
}

impl Checker<'_> {
    fn error(&mut self, keys: &[&str], text: impl Into<String>, remedy: &str) {
        let error = match self.config.places.of(keys) {
            Some(at) => ConfigError::option(at, text, remedy),
            None => ConfigError::placeless(text, remedy),
        };
        self.errors.push(error);
    }

    fn error_at(&mut self, at: Option<&Position>, text: String, remedy: &str) {
        self.errors.push(match at {
            Some(at) => ConfigError::option(at, text, remedy),
            None => ConfigError::placeless(text, remedy),
        });
    }

    fn server(&mut self) {
        let config = self.config;
        let (grace, duration) = (config.lame_duck_grace_period, config.lame_duck_duration);
        if grace >= duration {
            let text = format!(
                "lame duck grace period ({}) should be strictly lower than lame duck duration ({})",
                Go(grace),
                Go(duration)
            );
            self.error(&["lame_duck_grace_period", "lame_duck_duration"], text, "");
        }
        let (payload, pending) = (config.limits.max_payload, config.limits.max_pending);
        if payload > pending {
            let text =
                format!("max_payload ({payload}) cannot be higher than max_pending ({pending})");
            self.error(&["max_payload", "max_pending"], text, "raise max_pending");
        }
        if let Some(memory) = config.limits.max_connections_memory
            && memory / PAYLOADS_IN_MEMORY_MIN < payload
        {
            let text = format!(
                "max_connections_memory ({memory}) has no room for {PAYLOADS_IN_MEMORY_MIN} times max_payload ({payload})"
            );
            let remedy = "raise it, or lower max_payload";
            self.error(&["max_connections_memory", "max_payload"], text, remedy);
        }
        if config
            .server_name
            .as_ref()
            .is_some_and(|name| name.contains(' '))
        {
            self.error(&["server_name"], "server name cannot contain spaces", "");
        }
        if let Some(advertise) = &config.client_advertise
            && !(is_host_port(advertise) || is_host_port(&format!("x{advertise}")))
        {
            let text = format!("invalid ClientAdvertise value of {advertise}");
            self.error(&["client_advertise"], text, "write host:port");
        }
        if let Some(advertise) = &config.leafnodes.advertise
            && !is_host_port(advertise)
        {
            let text = format!("invalid leafnode advertise value of {advertise}");
            self.error(&["leafnodes", "leaf"], text, "write host:port");
        }
    }

    /// spec: nats-server v2.15.1 server/server.go `startMonitoring`
    fn monitoring(&mut self) {
        let config = self.config;
        if let Some((http, https)) = config.monitor_both {
            let text = format!("can't specify both HTTP ({http}) and HTTPs ({https}) ports");
            self.error(&["https_port", "https"], text, "remove one of them");
        }
        if config.monitor_tls && config.tls.is_none() {
            let text = "TLS cert and key required for HTTPS";
            self.error(&["https_port", "https"], text, "add a tls block");
        }
    }

    fn users(&mut self) {
        let config = self.config;
        let auth = &config.authorization;
        let account_users = config
            .accounts
            .iter()
            .any(|account| !account.users.is_empty());
        let keys = &["authorization", "accounts"];
        if account_users && auth.user.is_some() {
            self.error(keys, "Can not have a single user/pass and accounts", "");
        }
        if account_users && auth.token.is_some() {
            self.error(keys, "Can not have a token and accounts", "");
        }
        self.no_auth_user();
        self.callout();
        if let Some(name) = &config.system_account
            && !config.no_system_account
            && name != SYSTEM_ACCOUNT
            && config.operator_mode.resolver.is_none()
            && !config.operator_mode.is_on()
            && !self.has_account(name)
        {
            let text = "error resolving system account: account missing";
            let remedy = format!("add {name:?} to accounts");
            self.error(&["system_account", "system"], text, &remedy);
        }
    }

    fn no_auth_user(&mut self) {
        if let Some(name) = &self.config.no_auth_user {
            self.no_auth_user_is_known(&["no_auth_user"], name);
        }
    }

    fn no_auth_user_is_known(&mut self, keys: &[&str], name: &str) {
        let config = self.config;
        if !config.operator_mode.operators.is_empty() {
            let text = "no_auth_user not compatible with Trusted Operator";
            return self.error(keys, text, "remove it");
        }
        let account_users = config.accounts.iter().flat_map(|account| &account.users);
        let mut users = config
            .authorization
            .users
            .iter()
            .chain(account_users)
            .peekable();
        let text = if users.peek().is_none() {
            format!("no_auth_user: \"{name}\" present, but users/nkeys are not defined")
        } else if users.any(|user| user.identity.name() == name) {
            return;
        } else {
            format!(
                "no_auth_user: \"{name}\" not present as user or nkey in authorization block or \
                 account configuration"
            )
        };
        self.error(keys, text, "");
    }

    fn callout(&mut self) {
        let Some(callout) = &self.config.authorization.callout else {
            return;
        };
        for name in &callout.allowed_accounts {
            if !self
                .config
                .accounts
                .iter()
                .any(|account| account.name == *name)
            {
                let text = format!(
                    "auth_callout allowed account {name:?} not found in configured accounts"
                );
                self.error(&["authorization"], text, "add it to accounts");
            }
        }
    }

    /// Whether the configuration names it; with an operator it may come from anywhere.
    fn has_account(&self, name: &str) -> bool {
        let config = self.config;
        !config.operator_mode.operators.is_empty()
            || name == GLOBAL_ACCOUNT
            || config.accounts.iter().any(|account| account.name == name)
            || (name == SYSTEM_ACCOUNT
                && config.system_account.is_none()
                && !config.no_system_account)
    }

    fn leafnodes(&mut self) {
        let config = self.config;
        let leaf = &config.leafnodes;
        let auth = &leaf.authorization;
        let accepted = auth
            .users
            .iter()
            .map(|user| &user.account)
            .chain([&auth.account]);
        for account in accepted.flatten() {
            if !self.has_account(account) {
                let text = format!(
                    "cannot find local account {account:?} specified in leafnode authorization"
                );
                self.error(&["leafnodes", "leaf"], text, "add it to accounts");
            }
        }
        for (index, remote) in leaf.remotes.iter().enumerate() {
            let at = config.places.of_remote(index);
            if !self.has_account(&remote.account) {
                let text = format!(
                    "cannot find local account {:?} specified in leafnode remote",
                    remote.account
                );
                self.error_at(at, text, "add it to accounts");
            }
            if leaf
                .remotes
                .iter()
                .take(index)
                .any(|other| other.is_same(remote))
            {
                let text = format!("duplicate remote {}", remote.name());
                self.error_at(at, text, "remove one of them");
            }
        }
    }

    fn jetstream(&mut self) {
        if let Some(domain) = &self.config.jetstream.domain {
            let api = format!("$JS.{domain}.API.>");
            if !frond_subject::is_valid_filter(&api) {
                let text = format!("invalid domain name: derived {api:?} is not a valid subject");
                self.error(&["jetstream"], text, "");
            }
            if domain.contains(['.', '*', '>']) {
                let text = "invalid domain name: may not contain ., * or >";
                self.error(&["jetstream"], text, "");
            }
        }
        self.default_domains();
    }

    fn default_domains(&mut self) {
        let config = self.config;
        let key = &["default_js_domain"];
        let system = config.system_account.as_deref().unwrap_or(SYSTEM_ACCOUNT);
        for (name, domain) in &config.default_js_domain {
            let account = config.accounts.iter().find(|account| account.name == *name);
            match account {
                Some(account) if account.jetstream.is_some() && !domain.is_empty() => {
                    let text = format!(
                        "default_js_domain contains account name {name:?} with enabled JetStream"
                    );
                    self.error(key, text, "");
                }
                None if !config.operator_mode.operators.is_empty() => {
                    if !crate::nkey::is_public_account(name) {
                        let text = format!(
                            "default_js_domain contains account name {name:?}, which is not a \
                             valid public account nkey"
                        );
                        self.error(key, text, "");
                    }
                }
                None if name != GLOBAL_ACCOUNT => {
                    let text = format!(
                        "in non operator mode, `default_js_domain` references non existing account \
                         {name:?}"
                    );
                    self.error(key, text, "add it to accounts");
                }
                Some(_) | None => {}
            }
            if name == system && account.is_some() {
                let text = format!("system account {name:?} can not be in default_js_domain");
                self.error(key, text, "");
            }
            if !domain.is_empty() && !frond_subject::is_valid_filter(&format!("$JS.{domain}.API.>"))
            {
                let text = format!(
                    "default_js_domain contains account {name:?} with invalid domain name {domain:?}"
                );
                self.error(key, text, "");
            }
        }
    }
}

/// `host`, `host:port` or `[v6]:port`.
fn is_host_port(text: &str) -> bool {
    match crate::report::split_host_port(text) {
        Some((host, port)) => {
            !host.is_empty()
                && port
                    .parse::<i32>()
                    .is_ok_and(|p| (-1..=65_535).contains(&p))
        }
        None => !text.is_empty() && !text.contains(':'),
    }
}

pub(crate) fn advice(config: &Config) -> Vec<String> {
    let mut advice = Vec::new();
    if has_plain_passwords(config) {
        advice.push("Plaintext passwords detected, use nkeys or bcrypt".to_owned());
    }
    advice.extend(peers::advice(config));
    if !config.default_js_domain.is_empty() {
        let text = "The option `default_js_domain` is a temporary backwards compatibility measure \
                    and will be removed";
        advice.push(text.to_owned());
    }
    if config.limits.max_payload > PAYLOAD_BYTES_ADVISED {
        advice.push(
            "Maximum payloads over 8.00 MB are generally discouraged and could lead to poor \
             performance"
                .to_owned(),
        );
    }
    advice
}

fn has_plain_passwords(config: &Config) -> bool {
    let plain = |secret: &Secret| !secret.expose().is_empty() && !secret.is_bcrypt();
    let auth = &config.authorization;
    let account_users = config.accounts.iter().flat_map(|account| &account.users);
    auth.password.as_ref().is_some_and(plain)
        || auth.token.as_ref().is_some_and(plain)
        || auth
            .users
            .iter()
            .chain(account_users)
            .any(|user| match &user.identity {
                Identity::Password { password, .. } => plain(password),
                Identity::Nkey(_) => false,
            })
}

#[cfg(test)]
mod tests;
