mod hello;
mod link;
mod state;

use std::collections::BTreeMap;

use frond_broker::{Level, LinkPeer, Packs, Pulse, ServerFacts, Settled, Upcalls};
use frond_clock::{Now, Timestamp};
use frond_wire::{Op, ServerInfo, encode};

use crate::border::{border, domain_lines};
use crate::limits::{CONNECT_INFO_TIMEOUT, DIAL_GRACE, SECURE_TIMEOUT, SETTLED_AFTER};
use crate::remote::{Remote, RemoteUrl};
use crate::session::{Handled, Session, Terms, pace};
use crate::trouble::{Trouble, printable};
use crate::urls::Urls;
use hello::{CLUSTER_WITH_SPACES, Greeted, Hello, OwnEnd, WRONG_PORT};
use state::State;

/// One configured remote: dials its hub, and dials again, for as long as it exists.
#[derive(Debug)]
pub struct Solicit {
    remote: Remote,
    urls: Urls,
    state: State,
    /// Since when there is a link, or none, for monitoring; `None`: since ever.
    since: Option<Timestamp>,
    /// The peer's own words for why it is about to close.
    said: Option<(Trouble, String)>,
    /// What was logged per url, to log a cause once and not each second.
    logged: BTreeMap<String, String>,
    /// Refusals in a row.
    refusals: u32,
    /// Dials since the link was last up.
    attempts: u64,
    has_been_up: bool,
    /// What was said of streams, to say it once.
    told_border: Option<String>,
    last_error: Option<String>,
    /// How the connection is compressed, while there is one.
    packs: Option<Packs>,
}

impl Solicit {
    /// A remote that dials when it is first woken; its deadline has already passed.
    #[must_use]
    pub fn new(remote: Remote) -> Self {
        let state = if remote.disabled {
            State::Disabled
        } else {
            State::Idle
        };
        Self {
            urls: Urls::new(remote.urls.clone()),
            remote,
            state,
            since: None,
            said: None,
            logged: BTreeMap::new(),
            refusals: 0,
            attempts: 0,
            has_been_up: false,
            told_border: None,
            last_error: None,
            packs: None,
        }
    }

    fn enter(&mut self, now: Now, state: State) {
        if self.since.is_none() || self.state.reach() != state.reach() {
            self.since = Some(now.wall);
        }
        self.state = state;
    }

    /// The configured remote.
    #[must_use]
    pub const fn remote(&self) -> &Remote {
        &self.remote
    }

    fn dial(&mut self, now: Now, up: &mut dyn Upcalls) {
        if self.attempts == 0 && !self.remote.no_randomize && matches!(self.state, State::Idle) {
            self.urls.shuffle(up.random());
        }
        self.said = None;
        let Some(url) = self.urls.advance() else {
            return self.wait(now, Trouble::Refused, "this remote has no url", up);
        };
        self.attempts += 1;
        self.enter(
            now,
            State::Dialing {
                until: now.mono + self.dial_time(),
            },
        );
        let name = self.remote.tls_first.then(|| self.urls.server_name(&url));
        up.dial(
            &url.host,
            url.port,
            self.remote.dial_timeout,
            name.as_deref(),
        );
    }

    /// What a dial may take with all that comes before the hub's first word: each step has a time of
    /// its own, this only keeps a link from being stuck.
    fn dial_time(&self) -> core::time::Duration {
        let mut time = self.remote.dial_timeout + DIAL_GRACE;
        if self.remote.tls_first {
            time += SECURE_TIMEOUT;
        }
        if self.remote.websocket {
            time += self.remote.first_info_timeout;
        }
        time
    }

    fn on_first_info(&mut self, now: Now, info: &ServerInfo, up: &mut dyn Upcalls) {
        let hello = match Hello::read(info) {
            Ok(hello) => hello,
            Err(WRONG_PORT) => {
                let text = format!("{WRONG_PORT}: this is no leafnode listener");
                return self.give_up(now, Trouble::Refused, &text, "Incorrect Port", up);
            }
            Err(why) => {
                if why == CLUSTER_WITH_SPACES {
                    encode::err(up.out(), why);
                }
                return self.give_up(now, Trouble::Refused, why, PROTOCOL_VIOLATION, up);
            }
        };
        let url = self.urls.current().cloned();
        let url = url.unwrap_or_else(|| RemoteUrl::new("", 0));
        if (info.tls_required || self.remote.tls || url.tls) && !up.is_secured() {
            self.enter(
                now,
                State::Securing {
                    until: now.mono + SECURE_TIMEOUT,
                    info: Box::new(info.clone()),
                },
            );
            return up.secure(&self.urls.server_name(&url));
        }
        if self.negotiates(now, info, up) {
            return;
        }
        let Some(account) = up.account(&self.remote.account) else {
            let text = format!("there is no local account {:?}", self.remote.account);
            return self.give_up(now, Trouble::Refused, &text, "Missing Account", up);
        };
        let own = OwnEnd {
            facts: up.server(),
            jetstream: up.has_jetstream(account),
            compression: self.packs(now, up).name(),
        };
        match hello.connect(&self.remote, self.urls.current(), &own) {
            Ok(connect) => encode::connect(up.out(), &connect),
            Err(why) => {
                return self.give_up(now, Trouble::Refused, &why, "Authentication Failure", up);
            }
        }
        self.discover(info);
        let greeted = Box::new(Greeted { hello, account });
        if greeted.hello.answers_connect {
            self.enter(
                now,
                State::AwaitingConnectInfo {
                    until: now.mono + CONNECT_INFO_TIMEOUT,
                    greeted,
                },
            );
        } else {
            self.go_up(now, greeted, None, up);
        }
    }

    /// Whether compression is agreed upon, so that the hub greets once more, in frames.
    ///
    /// spec: nats-server v2.15.1 server/leafnode.go `negotiateLeafCompression`
    fn negotiates(&mut self, now: Now, info: &ServerInfo, up: &mut dyn Upcalls) -> bool {
        let mut packs = self.packs(now, up);
        if !packs.is_open() {
            packs.go_without(&info.compression);
            self.packs = Some(packs);
            return false;
        }
        let settled = packs.settle(now.mono, &info.compression);
        match settled {
            Settled::Bare => {}
            Settled::Packed(name) => {
                let info = ServerInfo {
                    client_id: u64::from(up.link().0),
                    compression: name.to_owned(),
                    ..ServerInfo::default()
                };
                encode::info(up.out(), &info);
                packs.begin(up);
                // This greeting is an answer: it is a round trip away.
                let patience = self.remote.first_info_timeout.max(CONNECT_INFO_TIMEOUT);
                self.enter(
                    now,
                    State::AwaitingInfo {
                        until: now.mono + patience,
                    },
                );
            }
            Settled::Unknown(ref text) => {
                self.offend(now, Trouble::Refused, Some(text), up);
            }
        }
        self.packs = Some(packs);
        settled != Settled::Bare
    }

    fn packs(&self, now: Now, up: &dyn Upcalls) -> Packs {
        let known = self.packs.clone();
        known.unwrap_or_else(|| Packs::new(&self.remote.compression, now.mono, up))
    }

    fn go_up(
        &mut self,
        now: Now,
        greeted: Box<Greeted>,
        answer: Option<&ServerInfo>,
        up: &mut dyn Upcalls,
    ) {
        let hello = &greeted.hello;
        let own = (self.remote.ping_interval, self.remote.pings_outstanding_max);
        let (interval, outstanding) = pace(up.server(), own);
        let terms = Terms {
            account: greeted.account,
            peer: hello.peer(&self.remote, answer),
            gate: hello.gate(&self.remote, answer, &*up, greeted.account),
            headers: hello.headers,
            isolated: self.remote.isolate,
            peer_payload_max: hello.payload_bytes_max,
            replies: None,
            pulse: Pulse::new(now.mono, interval, outstanding),
            packs: self.packs(now, up),
        };
        if dials_us(&terms, up) {
            let text = loop_text(&self.remote.account);
            return self.offend(now, Trouble::Mistake, Some(&text), up);
        }
        let Some(session) = Session::bind(terms, up) else {
            let text = "the local account has no room for another connection";
            return self.wait(now, Trouble::Refused, text, up);
        };
        let mut session = Box::new(session);
        session.send_snapshot(up);
        up.log(
            Level::Info,
            format!(
                "leafnode: attached account {:?} to hub {:?} at {}",
                self.remote.account,
                hello.name,
                self.place()
            ),
        );
        for text in domain_lines(&*up, greeted.account, session.peer(), &hello.domain) {
            up.log_peer(Level::Info, &text);
        }
        if let Some(text) = border(&*up, greeted.account, &hello.domain)
            && self.told_border.as_ref() != Some(&text)
        {
            up.log(Level::Info, text.clone());
            self.told_border = Some(text);
        }
        self.urls.stay();
        self.logged.clear();
        self.attempts = 0;
        self.has_been_up = true;
        self.enter(
            now,
            State::Up {
                since: now.mono,
                greeted,
                session,
            },
        );
    }

    /// An `INFO` after the handshake: other urls, other permissions.
    fn on_later_info(&mut self, info: &ServerInfo, up: &mut dyn Upcalls) {
        self.discover(info);
        if let State::Up {
            greeted, session, ..
        } = &mut self.state
            && (info.import.is_some() || info.export.is_some())
        {
            let (hello, account) = (&greeted.hello, greeted.account);
            let gate = hello.gate(&self.remote, Some(info), &*up, account);
            session.change_gate(gate, up);
        }
    }

    fn on_info(&mut self, now: Now, json: &[u8], up: &mut dyn Upcalls) {
        let Ok(info) = ServerInfo::parse(json) else {
            return self.give_up(now, Trouble::Line, "unreadable INFO", "Parse Error", up);
        };
        match core::mem::replace(&mut self.state, State::Idle) {
            state @ State::AwaitingInfo { .. } => {
                self.state = state;
                self.on_first_info(now, &info, up);
            }
            State::AwaitingConnectInfo { greeted, .. } if info.connect_info => {
                self.discover(&info);
                self.go_up(now, greeted, Some(&info), up);
            }
            state @ (State::Idle
            | State::Dialing { .. }
            | State::Securing { .. }
            | State::AwaitingConnectInfo { .. }
            | State::Up { .. }
            | State::Waiting { .. }
            | State::Disabled) => {
                self.state = state;
                self.on_later_info(&info, up);
            }
        }
    }

    /// The peer closes after most errors; we only act on loops, as nats-server does.
    fn on_err(&mut self, now: Now, text: &str, up: &mut dyn Upcalls) {
        let text = printable(text);
        let Some(trouble) = Trouble::of_err(&text) else {
            return up.log(
                Level::Warn,
                format!("leafnode: hub at {} says: {text}", self.place()),
            );
        };
        let looped = text.contains("Loop detected");
        let words = format!("the hub says: {text}{}", Trouble::advice(&text));
        if looped {
            self.give_up(now, trouble, &words, PROTOCOL_VIOLATION, up);
        } else {
            self.said = Some((trouble, words));
        }
    }

    fn on_session_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        let State::Up { session, .. } = &mut self.state else {
            return;
        };
        match session.on_op(now, op, up) {
            Handled::Fine => {}
            Handled::NotMine | Handled::Protocol => self.offend(now, Trouble::Line, None, up),
            Handled::Loop => {
                let text = loop_text(session.account_name());
                self.offend(now, Trouble::Mistake, Some(&text), up);
            }
            Handled::Offence(text) => self.offend(now, Trouble::Mistake, Some(&text), up),
            Handled::TooMuch(text) => self.offend(now, Trouble::Refused, Some(text), up),
        }
    }

    /// Tells the peer what it did wrong and closes.
    fn offend(&mut self, now: Now, trouble: Trouble, text: Option<&str>, up: &mut dyn Upcalls) {
        let text = text.unwrap_or("Unknown Protocol Operation");
        encode::err(up.out(), text);
        let words = format!("{text}{}", Trouble::advice(text));
        self.give_up(now, trouble, &words, PROTOCOL_VIOLATION, up);
    }

    /// Closes the connection for our own reasons.
    fn give_up(
        &mut self,
        now: Now,
        trouble: Trouble,
        words: &str,
        cause: &str,
        up: &mut dyn Upcalls,
    ) {
        self.wait(now, trouble, words, up);
        up.close(cause);
    }

    /// Plans the next dial.
    fn wait(&mut self, now: Now, trouble: Trouble, words: &str, up: &mut dyn Upcalls) {
        let was_up = match &self.state {
            State::Up { since, .. } => {
                if now.mono.since(*since) >= SETTLED_AFTER {
                    self.refusals = 0;
                }
                true
            }
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::Securing { .. }
            | State::AwaitingConnectInfo { .. }
            | State::Waiting { .. }
            | State::Disabled => false,
        };
        let pause = trouble.pause(self.remote.reconnect_interval, self.refusals, up.random());
        match trouble {
            Trouble::Refused | Trouble::Namesake => self.refusals = self.refusals.saturating_add(1),
            Trouble::Line | Trouble::Mistake | Trouble::MinVersion => {}
        }
        self.complain(was_up, words, pause, up);
        self.enter(
            now,
            State::Waiting {
                until: now.mono + pause,
            },
        );
    }

    /// Says what is wrong: once per url and cause, and with every so manieth dial.
    fn complain(
        &mut self,
        was_up: bool,
        words: &str,
        pause: core::time::Duration,
        up: &mut dyn Upcalls,
    ) {
        let place = self.place();
        self.last_error = Some(format!("{place}: {words}"));
        let known = self.logged.insert(place.clone(), words.to_owned());
        if known.as_deref() == Some(words) && !self.is_report_due(up.server()) {
            return;
        }
        let account = &self.remote.account;
        let pause = pause.as_secs().max(1);
        if was_up {
            let text = format!(
                "leafnode: account {account:?} lost hub at {place}: {words}; trying again every {pause} s or so"
            );
            return up.log(Level::Warn, text);
        }
        // As nats-server begins it.
        let attempt = self.attempts.max(1);
        let text = format!(
            "Error trying to connect as leafnode to remote server {place:?} (attempt {attempt}): {words}; account {account:?} tries again every {pause} s or so"
        );
        up.log(Level::Error, text);
    }

    /// spec: nats-server v2.15.1 server/server.go `shouldReportConnectErr`
    fn is_report_due(&self, facts: &ServerFacts) -> bool {
        let every = if self.has_been_up {
            facts.reconnect_error_reports
        } else {
            facts.connect_error_reports
        };
        self.attempts > 0 && self.attempts.checked_rem(every) == Some(0)
    }

    fn discover(&mut self, info: &ServerInfo) {
        let urls = if self.remote.websocket {
            &info.ws_connect_urls
        } else {
            &info.leafnode_urls
        };
        let told = !info.leafnode_urls.is_empty() || !info.ws_connect_urls.is_empty();
        if told && !self.remote.ignore_discovered_servers {
            self.urls.discover(urls);
        }
    }

    fn place(&self) -> String {
        self.urls
            .current()
            .map_or_else(|| "nowhere".to_owned(), ToString::to_string)
    }
}

/// Whether the hub's cluster has a leafnode connection to the same account here: two servers that
/// dial each other. Neither's loop subject could show it, as nothing returns to its own cluster.
/// spec: nats-server v2.15.1 `registerWithAccount` in server/client.go
fn dials_us(terms: &Terms, up: &dyn Upcalls) -> bool {
    let hub = &terms.peer;
    let is_the_same = |other: &LinkPeer| !other.is_hub && other.cluster == hub.cluster;
    let mut dials = false;
    up.each_peer(&mut |_, account, other| {
        dials |= account == terms.account && is_the_same(other);
    });
    !hub.cluster.is_empty() && dials
}

/// What both ends of a loop say.
pub(crate) fn loop_text(account: &str) -> String {
    format!(
        "Loop detected for leafnode account=\"{account}\". Delaying attempt to reconnect for 30s"
    )
}

const PROTOCOL_VIOLATION: &str = "Protocol Violation";
const STALE: &str = "Stale Connection";

#[cfg(test)]
mod tests;
