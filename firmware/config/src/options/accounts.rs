use crate::nkey;
use crate::options::auth::{self, Names, User};
use crate::options::exports::{self, Export};
use crate::options::imports::{self, Import};
use crate::options::mappings::{self, Mapping};
use crate::options::msg_trace::{self, MsgTrace};
use crate::options::permissions::{self, Permissions};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};

/// One account of the `accounts` block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Its name; never `$G`.
    pub name: String,
    /// Its public account nkey, `A...`.
    pub nkey: Option<String>,
    /// Its users.
    pub users: Vec<User>,
    /// Given to users without permissions of their own; already applied to `users`.
    pub default_permissions: Option<Permissions>,
    /// JetStream in this account; `None` is off.
    pub jetstream: Option<AccountJetStream>,
    /// What its connections may use.
    pub limits: AccountLimits,
    /// What other accounts may import.
    pub exports: Vec<Export>,
    /// What it takes from other accounts.
    pub imports: Vec<Import>,
    /// What it renames.
    pub mappings: Vec<Mapping>,
    /// Where its messages with a `traceparent` are traced to.
    pub msg_trace: Option<MsgTrace>,
}

/// What an account may use of JetStream. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountJetStream {
    /// Bytes in memory streams.
    pub max_memory: Option<u64>,
    /// Bytes in file streams.
    pub max_store: Option<u64>,
    /// Streams.
    pub max_streams: Option<u64>,
    /// Consumers per stream.
    pub max_consumers: Option<u64>,
    /// Each stream must have a byte limit.
    pub max_bytes_required: bool,
    /// Bytes in one memory stream.
    pub memory_max_stream_bytes: Option<u64>,
    /// Bytes in one file stream.
    pub store_max_stream_bytes: Option<u64>,
    /// Unacknowledged messages of one consumer.
    pub max_ack_pending: Option<u64>,
}

/// What the connections of an account may use. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountLimits {
    /// Client connections.
    pub max_connections: Option<u64>,
    /// Subscriptions of one connection.
    pub max_subscriptions: Option<u64>,
    /// Bytes of one message.
    pub max_payload: Option<u64>,
    /// Leafnode connections.
    pub max_leafnodes: Option<u64>,
}

/// The `accounts` block: a list of names, or a map of blocks.
pub(crate) fn read(value: &Value, names: &mut Names, report: &mut Report) -> Option<Vec<Account>> {
    let mut accounts: Vec<Account> = Vec::new();
    match &value.kind {
        Kind::Array(values) => {
            for value in values {
                let Some(name) = report.string(value) else {
                    continue;
                };
                if is_reserved(&name, value, report) {
                    continue;
                }
                if accounts.iter().any(|a| a.name == name) {
                    let text = format!("Duplicate Account Entry: {name}");
                    report.error(&value.at, text, "remove one of them");
                    continue;
                }
                accounts.push(Account {
                    name,
                    ..Account::default()
                });
            }
        }
        Kind::Map(map) => {
            for entry in map.iter().filter(|entry| !entry.used) {
                let Some(map) = entry.value.as_map() else {
                    report.error(
                        &entry.value.at,
                        "Expected map entries for accounts",
                        "write {}",
                    );
                    continue;
                };
                if !is_reserved(&entry.key, &entry.value, report) {
                    accounts.push(read_account(&entry.key, map, names, report));
                }
            }
        }
        Kind::String(_) | Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) => {
            let got = value.kind.go_name();
            let text = format!("Expected map or list to define accounts, got {got}");
            report.error(&value.at, text, "write accounts { NAME { ... } }");
            return None;
        }
    }
    Some(accounts)
}

fn is_reserved(name: &str, value: &Value, report: &mut Report) -> bool {
    let reserved = name == "$G";
    if reserved {
        let remedy = "users of the global account go into authorization";
        report.error(&value.at, format!("{name:?} is a Reserved Account"), remedy);
    }
    reserved
}

fn read_account(name: &str, map: &Map, names: &mut Names, report: &mut Report) -> Account {
    let mut account = Account {
        name: name.to_owned(),
        ..Account::default()
    };
    let mut users = Vec::new();
    for entry in map {
        let value = &entry.value;
        match entry.key.to_lowercase().as_str() {
            "nkey" => match value.as_str() {
                Some(key) if nkey::is_public_account(key) => account.nkey = Some(key.to_owned()),
                other => {
                    let text = format!(
                        "Not a valid public nkey for an account: {:?}",
                        other.unwrap_or_default()
                    );
                    report.error(&value.at, text, "it has 56 characters and starts with A");
                }
            },
            "users" => set(&mut users, auth::read_users(value, report)),
            "default_permissions" => {
                account.default_permissions = permissions::read(value, report);
            }
            "jetstream" => set(&mut account.jetstream, read_jetstream(value, report)),
            "limits" => set(&mut account.limits, read_limits(value, report)),
            "exports" => set(&mut account.exports, exports::read(value, report)),
            "imports" => set(&mut account.imports, imports::read(value, report)),
            "mappings" | "maps" => set(&mut account.mappings, mappings::read(value, report)),
            "msg_trace" | "trace_dest" => account.msg_trace = msg_trace::read(entry, report),
            _ => report.other(Block::Account, entry),
        }
    }
    names.add(&users, report);
    account.users = auth::with_defaults(users, account.default_permissions.as_ref());
    account
}

fn read_jetstream(value: &Value, report: &mut Report) -> Option<Option<AccountJetStream>> {
    match &value.kind {
        Kind::Bool(on) => Some(on.then(AccountJetStream::default)),
        Kind::String(text) => match text.to_ascii_lowercase().as_str() {
            "enabled" | "enable" => Some(Some(AccountJetStream::default())),
            "disabled" | "disable" => Some(None),
            _ => {
                let text =
                    format!("Expected 'enabled' or 'disabled' for string value, got '{text}'");
                report.error(&value.at, text, "");
                None
            }
        },
        Kind::Map(map) => Some(Some(read_jetstream_limits(map, report))),
        Kind::Integer(_) | Kind::Float(_) | Kind::Date(_) | Kind::Array(_) => {
            let got = value.kind.go_name();
            let text = format!("Expected map, bool or string to define JetStream, got {got}");
            report.error(&value.at, text, "write jetstream: enabled");
            None
        }
    }
}

fn read_jetstream_limits(map: &Map, report: &mut Report) -> AccountJetStream {
    let mut limits = AccountJetStream::default();
    for entry in map {
        let value = &entry.value;
        let target = match entry.key.to_lowercase().as_str() {
            "max_memory" | "max_mem" | "mem" | "memory" => &mut limits.max_memory,
            "max_store" | "max_file" | "max_disk" | "store" | "disk" => &mut limits.max_store,
            "max_streams" | "streams" => &mut limits.max_streams,
            "max_consumers" | "consumers" => &mut limits.max_consumers,
            "mem_max_stream_bytes" | "memory_max_stream_bytes" => {
                &mut limits.memory_max_stream_bytes
            }
            "disk_max_stream_bytes" | "store_max_stream_bytes" => {
                &mut limits.store_max_stream_bytes
            }
            "max_ack_pending" => &mut limits.max_ack_pending,
            "max_bytes_required" | "max_stream_bytes" | "max_bytes" => {
                set(&mut limits.max_bytes_required, report.boolean(value));
                continue;
            }
            "cluster_traffic" => {
                cluster_traffic(value, report);
                continue;
            }
            _ => {
                report.other(Block::AccountJetStream, entry);
                continue;
            }
        };
        // Zero bytes or streams is a limit here, only less is none.
        if let Kind::Integer(n) = value.kind {
            *target = u64::try_from(n).ok();
        } else {
            let text = format!("Expected a parseable size for {:?}", entry.key);
            report.error(
                &value.at,
                text,
                "write a number such as 10GB, without quotes",
            );
        }
    }
    limits
}

/// Which account carries replication; there is none to carry yet.
fn cluster_traffic(value: &Value, report: &mut Report) {
    match report.string(value).as_deref() {
        None | Some("system" | "") => {}
        Some("owner") => report.unsupported_value(value, "cluster_traffic"),
        Some(other) => {
            let text = format!(
                "Expected 'system' or 'owner' string value for \"cluster_traffic\", got {other}"
            );
            report.error(&value.at, text, "");
        }
    }
}

fn read_limits(value: &Value, report: &mut Report) -> Option<AccountLimits> {
    let map = report.map(value, "Expected account limits to be a map/struct")?;
    let mut limits = AccountLimits::default();
    for entry in map {
        let target = match entry.key.to_lowercase().as_str() {
            "max_connections" | "max_conn" => &mut limits.max_connections,
            "max_subscriptions" | "max_subs" => &mut limits.max_subscriptions,
            "max_payload" | "max_pay" => &mut limits.max_payload,
            "max_leafnodes" | "max_leafs" => &mut limits.max_leafnodes,
            _ => {
                report.other(Block::AccountLimits, entry);
                continue;
            }
        };
        if let Some(n) = report.integer(&entry.value) {
            *target = u64::try_from(n).ok();
        }
    }
    Some(limits)
}
