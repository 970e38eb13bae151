use crate::options::server::Listen;
use crate::options::tls::{Side, Tls};
use crate::report::{Port, Report, set};
use crate::secret::Secret;
use crate::unsupported::Block;
use crate::value::{Entry, Kind, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The `websocket` block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSocket {
    /// Where browsers and others connect; `None` nowhere.
    pub listen: Option<Listen>,
    /// The address announced to them.
    pub advertise: Option<String>,
    /// Without TLS, on purpose.
    pub no_tls: bool,
    /// Its TLS; where there is any it is used, whatever `no_tls` says.
    pub tls: Option<Tls>,
    /// A page must come from this server.
    pub same_origin: bool,
    /// A page must come from one of these; empty is any.
    pub allowed_origins: Vec<String>,
    /// How long the upgrade may take; `None` for ever.
    pub handshake_timeout: Option<Duration>,
    /// Messages may be compressed.
    pub compression: bool,
    /// Who may connect here, instead of the server's `authorization`.
    pub authorization: WebSocketAuthorization,
    /// Who a client without credentials is, here.
    pub no_auth_user: Option<String>,
    /// Cookies that stand for what `CONNECT` may say.
    pub cookies: WebSocketCookies,
    /// Further headers of the answer to an upgrade.
    pub headers: BTreeMap<String, String>,
    /// Between two pings; `None` takes that of the server.
    pub ping_interval: Option<Duration>,
}

/// The `authorization` of `websocket`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSocketAuthorization {
    /// The name of the single user.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// The token that every client must show.
    pub token: Option<Secret>,
    /// How long a client may take to authenticate; `None` takes that of the server.
    pub timeout: Option<Duration>,
}

/// Names of cookies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSocketCookies {
    /// Holds a user's JWT.
    pub jwt: Option<String>,
    /// Holds a user's name.
    pub user: Option<String>,
    /// Holds a password.
    pub password: Option<String>,
    /// Holds a token.
    pub token: Option<String>,
}

impl WebSocket {
    /// spec: nats-server v2.15.1 server/opts.go `parseWebsocket`
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "Expected websocket to be a map")?;
        let mut socket = Self::default();
        let (mut host, mut port) = (String::new(), Port::Unset);
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "listen" => {
                    if let Some(listen) = report.listen(value) {
                        (host, port) = listen;
                    }
                }
                "port" => set(&mut port, report.port(value)),
                "host" | "net" => set(&mut host, report.string(value)),
                key => {
                    if !(socket.read_handshake(key, value, report)
                        || socket.read_people(key, value, report))
                    {
                        report.other(Block::WebSocket, entry);
                    }
                }
            }
        }
        socket.listen = port.bind().map(|port| Listen::new(&host, "0.0.0.0", port));
        Some(socket)
    }

    /// Whether the server's own `authorization` doesn't count here.
    /// spec: nats-server v2.15.1 server/websocket.go `wsConfigAuth`
    #[must_use]
    pub fn overrides_authorization(&self) -> bool {
        let auth = &self.authorization;
        auth.user.is_some() || auth.token.is_some() || self.no_auth_user.is_some()
    }

    fn read_handshake(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "advertise" => set(&mut self.advertise, report.text(value)),
            "no_tls" => set(&mut self.no_tls, report.boolean(value)),
            "tls" => self.tls = Tls::read(value, Side::Server, report),
            "same_origin" => set(&mut self.same_origin, report.boolean(value)),
            "allowed_origins" | "allowed_origin" | "allow_origins" | "allow_origin" | "origins"
            | "origin" => {
                let origins = report.strings("allowed origins", value);
                set(&mut self.allowed_origins, origins);
            }
            "handshake_timeout" => {
                set(
                    &mut self.handshake_timeout,
                    read_handshake_timeout(value, report),
                );
            }
            "compress" | "compression" => set(&mut self.compression, report.boolean(value)),
            "headers" => set(&mut self.headers, read_headers(value, report)),
            "ping_interval" => {
                let interval = report.duration("ping_interval", value);
                self.ping_interval = interval.filter(|interval| !interval.is_zero());
            }
            _ => return false,
        }
        true
    }

    fn read_people(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        let cookies = &mut self.cookies;
        match key {
            "authorization" | "authentication" => {
                let authorization = WebSocketAuthorization::read(value, report);
                set(&mut self.authorization, authorization);
            }
            "jwt_cookie" => set(&mut cookies.jwt, report.text(value)),
            "user_cookie" => set(&mut cookies.user, report.text(value)),
            "pass_cookie" => set(&mut cookies.password, report.text(value)),
            "token_cookie" => set(&mut cookies.token, report.text(value)),
            "no_auth_user" => set(&mut self.no_auth_user, report.text(value)),
            _ => return false,
        }
        true
    }
}

impl WebSocketAuthorization {
    /// spec: nats-server v2.15.1 server/opts.go `parseSimpleAuth`
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let map = report.map(value, "Expected authorization to be a map/struct")?;
        let mut auth = Self::default();
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "user" | "username" => set(&mut auth.user, report.text(value)),
                "pass" | "password" => set(&mut auth.password, report.secret(value)),
                "token" => set(&mut auth.token, report.secret(value)),
                "timeout" => auth.timeout = read_auth_timeout(entry, report),
                _ => report.other(Block::WebSocketAuthorization, entry),
            }
        }
        Some(auth)
    }
}

/// Seconds. nats-server takes a text as one second, without a word.
fn read_auth_timeout(entry: &Entry, report: &mut Report) -> Option<Duration> {
    let value = &entry.value;
    let timeout = match &value.kind {
        Kind::Integer(n) => u64::try_from(*n).ok().map(Duration::from_secs),
        Kind::Float(f) => Duration::try_from_secs_f64(*f).ok(),
        Kind::String(_) => {
            let text = format!("{:?} is no number of seconds, 1 is used", entry.key);
            report.note(&value.at, text);
            Some(Duration::from_secs(1))
        }
        Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = "error parsing authorization config, 'timeout' wrong type";
            report.error(&value.at, text, "write a number of seconds");
            None
        }
    };
    timeout.filter(|timeout| !timeout.is_zero())
}

/// A Go duration or seconds; nothing and less is no limit.
fn read_handshake_timeout(value: &Value, report: &mut Report) -> Option<Option<Duration>> {
    let positive = |nanos: i64| u64::try_from(nanos).ok().filter(|nanos| *nanos > 0);
    match &value.kind {
        Kind::Integer(n) => {
            let seconds = u64::try_from(*n).ok().filter(|n| *n > 0);
            Some(seconds.map(Duration::from_secs))
        }
        Kind::String(text) => match crate::duration::parse(text) {
            Ok(nanos) => Some(positive(nanos).map(Duration::from_nanos)),
            Err(why) => {
                report.error(&value.at, why, "write \"2s\" or a number of seconds");
                None
            }
        },
        Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!(
                "error parsing handshake timeout: unsupported type {}",
                value.kind.go_name()
            );
            report.error(&value.at, text, "write \"2s\" or a number of seconds");
            None
        }
    }
}

fn read_headers(value: &Value, report: &mut Report) -> Option<BTreeMap<String, String>> {
    let Kind::Map(map) = &value.kind else {
        let text = format!(
            "error parsing headers: unsupported type {}",
            value.kind.go_name()
        );
        report.error(&value.at, text, "write { Name: \"value\" }");
        return None;
    };
    let mut headers = BTreeMap::new();
    for entry in map {
        match entry.value.as_str() {
            Some(text) => {
                headers.insert(entry.key.clone(), text.to_owned());
            }
            None => {
                let text = format!(
                    "error parsing header key {}: unsupported type {}",
                    entry.key,
                    entry.value.kind.go_name()
                );
                report.error(&entry.value.at, text, "put the value in quotes");
            }
        }
    }
    Some(headers)
}
