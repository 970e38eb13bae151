use frond_account::Trust;
use frond_account::jwt::{AccountClaims, OperatorClaims, UserClaims};
use frond_config::{Config, ConfigError, ConfigErrors, Resolver};

use crate::VERSION;

/// What the operators of a configuration say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authority {
    /// Whose word counts; `None`: accounts are those of the configuration.
    pub trust: Option<Trust>,
    /// The operators.
    pub operators: Vec<OperatorClaims>,
    /// The configured system account, or the only operator's.
    pub system_account: Option<String>,
    /// The configured source of accounts, or the only operator's.
    pub resolver: Option<Resolver>,
}

/// The option's names, for the places of errors.
const OPERATOR: &[&str] = &[
    "operator",
    "operators",
    "roots",
    "root",
    "root_operators",
    "root_operator",
];

/// Reads and checks the JWTs that a configuration holds.
///
/// spec: nats-server v2.15.1 server/jwt.go `validateTrustedOperators`
///
/// # Errors
/// Everything that does not hold or does not fit together.
pub fn authority(config: &Config) -> Result<Authority, ConfigErrors> {
    let mut errors = Vec::new();
    let mode = &config.operator_mode;
    let mut operators = Vec::new();
    for text in &mode.operators {
        match OperatorClaims::decode(text) {
            Ok(claims) => operators.push(claims),
            Err(why) => {
                let text = format!("error parsing operator JWT: {why}");
                errors.push(config.wrong(OPERATOR, text));
            }
        }
    }
    for text in mode.preload.values() {
        if AccountClaims::decode(text).is_err() {
            errors.push(config.wrong(&["resolver_preload"], "invalid account JWT"));
        }
    }
    if !errors.is_empty() {
        return Err(ConfigErrors(errors));
    }
    let authority = Authority::of(config, operators);
    if !authority.operators.is_empty() {
        authority.check(config, &mut errors);
    }
    if let Some(Resolver::Url(_)) = &authority.resolver
        && !mode.preload.is_empty()
    {
        let text =
            "resolver preloads only available for writeable resolver types MEM/DIR/CACHE_DIR";
        errors.push(config.wrong(&["resolver_preload"], text));
    }
    if errors.is_empty() {
        Ok(authority)
    } else {
        Err(ConfigErrors(errors))
    }
}

impl Authority {
    fn of(config: &Config, operators: Vec<OperatorClaims>) -> Self {
        let mode = &config.operator_mode;
        let mut trust = Trust {
            issuers: mode.trusted_keys.iter().cloned().collect(),
            pinned: mode.pinned_accounts.clone(),
            sentinel: mode.default_sentinel.clone(),
            ..Trust::default()
        };
        for operator in &operators {
            trust.add(operator);
        }
        let only = match operators.as_slice() {
            [only] => Some(&only.nats),
            _ => None,
        };
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        let system = config.system_account.clone();
        let system_account = system.or_else(|| only.and_then(|only| some(&only.system_account)));
        if let Some(system) = &system_account
            && !trust.pinned.is_empty()
        {
            trust.pinned.insert(system.clone());
        }
        let named = only.and_then(|only| some(&only.account_server_url));
        let resolver = mode.resolver.clone();
        Self {
            trust: mode.is_on().then_some(trust),
            system_account,
            resolver: resolver.or_else(|| {
                let url = named.filter(|url| url.starts_with("http"))?;
                // nsc appends the same.
                Some(Resolver::Url(format!("{url}/accounts")))
            }),
            operators,
        }
    }

    fn check(&self, config: &Config, errors: &mut Vec<ConfigError>) {
        let mut wrong = |keys: &[&str], text: String| errors.push(config.wrong(keys, text));
        if let Some(sentinel) = &config.operator_mode.default_sentinel
            && let Err(text) = check_sentinel(sentinel)
        {
            wrong(&["default_sentinel"], text.to_owned());
        }
        if self.resolver.is_none() {
            let text = "operators require an account resolver to be configured";
            wrong(OPERATOR, text.to_owned());
        }
        let named = |claims: &OperatorClaims| claims.nats.system_account.clone();
        let mut theirs = self
            .operators
            .iter()
            .map(named)
            .filter(|key| !key.is_empty());
        match &config.system_account {
            Some(system) => {
                let theirs: Vec<String> = theirs.collect();
                if !theirs.is_empty() && !theirs.contains(system) {
                    let text = "system_account in config and operator JWT must be identical";
                    wrong(&["system_account", "system"], text.to_owned());
                }
            }
            None => {
                if theirs.next().is_none() && self.needs_system_account() {
                    let text = "using nats based account resolver - the system account needs to \
                                be specified in configuration or the operator jwt";
                    wrong(
                        &["resolver", "account_resolver", "accounts_resolver"],
                        text.to_owned(),
                    );
                }
            }
        }
        for operator in &self.operators {
            if let Err(text) = check_version(operator) {
                wrong(OPERATOR, text);
            }
        }
        let keys = self.trust.iter().flat_map(|trust| &trust.issuers);
        for key in keys {
            if !frond_account::nkey::is_public_key(frond_account::nkey::Role::Operator, key) {
                let text =
                    format!("trusted Keys {key:?} are required to be a valid public operator nkey");
                wrong(OPERATOR, text);
            }
        }
    }

    const fn needs_system_account(&self) -> bool {
        match &self.resolver {
            Some(Resolver::Full { .. } | Resolver::Cache { .. }) => true,
            Some(Resolver::Memory | Resolver::Url(_)) | None => false,
        }
    }
}

fn check_sentinel(text: &str) -> Result<(), &'static str> {
    let Ok(user) = UserClaims::decode(text) else {
        return Err("default sentinel JWT not valid");
    };
    let scoped = !user.nats.issuer_account.is_empty() && user.nats.may.is_empty();
    if user.nats.may.bearer_token || scoped {
        Ok(())
    } else {
        Err("default sentinel must be a bearer token")
    }
}

fn check_version(operator: &OperatorClaims) -> Result<(), String> {
    let (subject, asserted) = (&operator.subject, &operator.nats.assert_server_version);
    if asserted.is_empty() {
        return Ok(());
    }
    let parts: Vec<&str> = asserted.split('.').collect();
    let [major, minor, update] = parts.as_slice() else {
        return Err(format!(
            "operator {subject} expects version {asserted} got error instead: asserted server \
             version must be of the form <major>.<minor>.<update>"
        ));
    };
    let mut ours = VERSION
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    for (name, part) in [("major", major), ("minor", minor), ("update", update)] {
        let Ok(wanted) = part.parse::<u32>() else {
            return Err(format!(
                "operator {subject} expects version {asserted} got error instead: asserted \
                 server version cant parse {part} to int"
            ));
        };
        let own = ours.next().unwrap_or(0);
        if wanted > own {
            return Err(format!(
                "operator {subject} expected {name} version {wanted} > server {name} version {own}"
            ));
        }
        if wanted < own {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
