//! Which subjects are answered, and as what.
//!
//! spec: nats-server v2.15.1 server/events.go `initEventTracking`, `registerSystemImports`

/// One thing that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// A document about the server.
    Server(&'static str),
    /// A document about the account that the subject names.
    Account(&'static str),
    /// A document about the account that asks.
    Own(&'static str),
    /// What all accounts, or those named, send and get.
    AccountStatz,
    /// The connections of the account that the subject names.
    AccountConns,
    /// Name, host and id.
    Idz,
    /// The figures of the heartbeat.
    Statsz,
    /// Who the asking client is.
    UserInfo,
    /// How many subscribers a subject has in the account that asks.
    Subscribers,
    /// How many subscribers a subject has, for another server.
    SubscriberCount,
    /// Reads the configuration again.
    Reload,
    /// Closes a connection.
    Kick,
    /// Asks a client to go elsewhere.
    LameDuck,
    /// Another server tells of itself.
    OtherServer,
}

/// What is answered in the system account.
pub(crate) fn of_server(id: &str) -> Vec<(String, Service)> {
    let mut all = vec![("$SYS.REQ.SERVER.PING".to_owned(), Service::Statsz)];
    let documents = SERVER_DOCUMENTS.map(|name| (name, Service::Server(name)));
    let short = [("IDZ", Service::Idz), ("STATSZ", Service::Statsz)];
    for (name, service) in documents.into_iter().chain(short) {
        all.push((format!("$SYS.REQ.SERVER.{id}.{name}"), service));
        all.push((format!("$SYS.REQ.SERVER.PING.{name}"), service));
    }
    for (name, service) in [
        ("RELOAD", Service::Reload),
        ("KICK", Service::Kick),
        ("LDM", Service::LameDuck),
    ] {
        all.push((format!("$SYS.REQ.SERVER.{id}.{name}"), service));
    }
    let documents = ACCOUNT_DOCUMENTS.map(|name| (name, Service::Account(name)));
    let conns = [("CONNS", Service::AccountConns)];
    for (name, service) in documents.into_iter().chain(conns) {
        all.push((format!("$SYS.REQ.ACCOUNT.*.{name}"), service));
    }
    for (subject, service) in [
        ("$SYS.REQ.ACCOUNT.PING.STATZ", Service::AccountStatz),
        ("$SYS.REQ.ACCOUNT.NSUBS", Service::SubscriberCount),
        ("$SYS.DEBUG.SUBSCRIBERS", Service::Subscribers),
    ] {
        all.push((subject.to_owned(), service));
    }
    all
}

/// What is answered in every account; the system's own users ask the services above instead.
pub(crate) fn of_account(is_system: bool) -> &'static [(&'static str, Service)] {
    if is_system {
        &OF_SYSTEM_ACCOUNT
    } else {
        &OF_ACCOUNT
    }
}

const OF_SYSTEM_ACCOUNT: [(&str, Service); 1] = [("$SYS.REQ.USER.INFO", Service::UserInfo)];

const OF_ACCOUNT: [(&str, Service); 4] = [
    ("$SYS.REQ.USER.INFO", Service::UserInfo),
    ("$SYS.REQ.ACCOUNT.PING.CONNZ", Service::Own("CONNZ")),
    ("$SYS.REQ.SERVER.PING.CONNZ", Service::Own("CONNZ")),
    ("$SYS.REQ.ACCOUNT.PING.STATZ", Service::Own("STATZ")),
];

const SERVER_DOCUMENTS: [&str; 13] = [
    "VARZ",
    "SUBSZ",
    "CONNZ",
    "ROUTEZ",
    "GATEWAYZ",
    "LEAFZ",
    "ACCOUNTZ",
    "JSZ",
    "HEALTHZ",
    "PROFILEZ",
    "EXPVARZ",
    "IPQUEUESZ",
    "RAFTZ",
];

const ACCOUNT_DOCUMENTS: [&str; 6] = ["SUBSZ", "CONNZ", "LEAFZ", "JSZ", "INFO", "STATZ"];
