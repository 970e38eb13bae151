mod hello;
mod link;
mod login;

use core::time::Duration;

use frond_broker::{Doorway, Level, Upcalls};
use frond_clock::{Instant, Now};
use frond_wire::{ServerInfo, encode};

use crate::clusters::Clusters;
use crate::inbound::Inbound;
use crate::keeper::hear_of;
use crate::limits::{
    BACKOFF_MAX, DIAL_GRACE, DIAL_TIMEOUT, GREETING_TIMEOUT, JITTER, RECONNECT_INTERVAL,
    START_DELAY,
};
use crate::outbound::Outbound;
use crate::target::Target;

/// One connection to a server of another cluster, or the wish for one.
#[derive(Debug)]
pub struct Gateway {
    clusters: Clusters,
    side: Side,
    state: State,
    /// The peer's own words for why it is about to close.
    said: Option<String>,
    last_error: Option<String>,
    /// Where a peer waits that dialed, while its password is compared.
    door: Doorway,
}

/// Who opened the connection.
#[derive(Debug)]
enum Side {
    Accepted,
    Dialed(Dialed),
}

/// What a dialed gateway is for.
#[derive(Debug)]
struct Dialed {
    /// The cluster that is to answer.
    cluster: String,
    is_configured: bool,
    /// Where the last dial went.
    target: Option<Target>,
    /// Dials so far, to take the addresses in turn.
    turns: usize,
    /// Dials since the last success.
    attempts: u64,
    has_been_up: bool,
    /// What was logged last, to log a cause once and not each second.
    logged: Option<String>,
}

#[derive(Debug)]
enum State {
    Idle,
    Dialing {
        until: Instant,
    },
    /// Dialed; the other server says who it is.
    AwaitingInfo {
        until: Instant,
    },
    /// Accepted and said who we are; `CONNECT` and then `INFO` are pending.
    AwaitingConnect {
        until: Instant,
    },
    /// `CONNECT` came.
    AwaitingPeer {
        until: Instant,
    },
    /// Messages go there.
    Outbound(Box<Outbound>),
    /// Messages come from there.
    Inbound(Box<Inbound>),
    /// Between two dials.
    Waiting {
        until: Instant,
    },
    /// Nothing more is said.
    Ended,
}

impl Dialed {
    const fn kind(&self) -> &'static str {
        if self.is_configured {
            "explicit"
        } else {
            "implicit"
        }
    }
}

impl Gateway {
    pub(crate) const fn accepted(clusters: Clusters) -> Self {
        Self::new(clusters, Side::Accepted)
    }

    pub(crate) fn dialed(clusters: Clusters, cluster: &str, is_configured: bool) -> Self {
        let dialed = Dialed {
            cluster: cluster.to_owned(),
            is_configured,
            target: None,
            turns: 0,
            attempts: 0,
            has_been_up: false,
            logged: None,
        };
        Self::new(clusters, Side::Dialed(dialed))
    }

    const fn new(clusters: Clusters, side: Side) -> Self {
        Self {
            clusters,
            side,
            state: State::Idle,
            said: None,
            last_error: None,
            door: Doorway::new(),
        }
    }

    /// The first dial: a configured cluster waits until this one has found itself.
    fn begin(&mut self, now: Now, up: &mut dyn Upcalls) {
        match &self.side {
            Side::Dialed(dialed) if dialed.is_configured => {
                let until = now.mono + START_DELAY;
                self.state = State::Waiting { until };
            }
            Side::Dialed(_) => self.dial(now, up),
            Side::Accepted => {}
        }
    }

    fn dial(&mut self, now: Now, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &mut self.side else {
            return;
        };
        self.said = None;
        let targets = self.clusters.targets(&dialed.cluster);
        if dialed.turns == 0 && !targets.is_empty() {
            let below = u64::try_from(targets.len()).unwrap_or(1);
            dialed.turns = usize::try_from(up.random().below(below)).unwrap_or(0);
        }
        let turn = dialed.turns.checked_rem(targets.len()).unwrap_or(0);
        dialed.turns = dialed.turns.wrapping_add(1);
        dialed.attempts += 1;
        let Some(target) = targets.into_iter().nth(turn) else {
            return self.fail(now, None, "no address is known", "Read Error", up);
        };
        let level = match dialed.attempts {
            1 => Level::Info,
            _ => Level::Debug,
        };
        let text = format!(
            "gateway: Connecting to {} gateway {:?} ({target}) (attempt {})",
            dialed.kind(),
            dialed.cluster,
            dialed.attempts
        );
        up.log(level, text);
        let encrypts = self.clusters.planned(|plan| plan.encrypts(&dialed.cluster));
        let name = encrypts.then(|| self.clusters.server_name(&dialed.cluster, &target));
        up.dial(&target.host, target.port, DIAL_TIMEOUT, name.as_deref());
        dialed.target = Some(target);
        self.state = State::Dialing {
            until: now.mono + DIAL_TIMEOUT + DIAL_GRACE,
        };
    }

    /// Connected: who accepted speaks first.
    fn greet(&mut self, now: Now, up: &mut dyn Upcalls) {
        let until = now.mono + GREETING_TIMEOUT;
        match &self.side {
            Side::Accepted => {
                up.log_peer(Level::Info, "Processing inbound gateway connection");
                let info = hello::info(&self.clusters, up);
                encode::info(up.out(), &info);
                let until = now.mono + self.clusters.planned(|plan| plan.auth_timeout);
                self.state = State::AwaitingConnect { until };
            }
            Side::Dialed(dialed) => {
                let text = format!(
                    "Creating outbound gateway connection to {:?}",
                    dialed.cluster
                );
                up.log_peer(Level::Info, &text);
                self.state = State::AwaitingInfo { until };
            }
        }
    }

    /// The server that was dialed says who it is.
    ///
    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayInfo`, the outbound part
    fn on_greeting(&mut self, now: Now, info: &ServerInfo, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &self.side else {
            return;
        };
        let wanted = dialed.cluster.clone();
        if !self.is_wanted(now, &wanted, info, up) {
            return;
        }
        self.clusters.place(&wanted, &info.gateway_urls);
        if !self.clusters.reach(&wanted, up.link()) {
            self.state = State::Ended;
            up.detach();
            return up.close("Duplicate Gateway");
        }
        let Side::Dialed(dialed) = &mut self.side else {
            return;
        };
        let connect = hello::connect(&self.clusters, dialed.target.as_ref(), up.server());
        encode::connect(up.out(), &connect);
        let own = hello::info(&self.clusters, up);
        encode::info(up.out(), &own);
        self.last_error = None;
        up.introduce(&info.server_name, &info.version);
        let text = format!(
            "Outbound gateway connection to {wanted:?} ({}) registered",
            info.server_id
        );
        up.log_peer(Level::Info, &text);
        let outbound = Outbound::begin(self.clusters.clone(), &wanted, info, now, up);
        self.state = State::Outbound(Box::new(outbound));
        up.set_crossings(self.clusters.nearest_first());
        self.flood(up);
    }

    /// Whether who was dialed is of the wanted cluster; else the connection fails.
    ///
    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayInfo`
    fn is_wanted(
        &mut self,
        now: Now,
        wanted: &str,
        info: &ServerInfo,
        up: &mut dyn Upcalls,
    ) -> bool {
        if info.gateway.is_empty() {
            let text = format!("Attempt to connect to gateway {wanted:?} using wrong port");
            self.fail(now, Some(&text), &text, "Incorrect Port", up);
        } else if info.gateway != wanted {
            let (own, found) = (self.clusters.planned(|p| p.name.clone()), &info.gateway);
            let words = format!(
                "Failing connection to gateway {wanted:?}, remote gateway name is {found:?}"
            );
            let text = format!(
                "Connection from {own:?} rejected, wanted to connect to {wanted:?}, this is {found:?}"
            );
            self.fail(now, Some(&text), &words, WRONG_GATEWAY, up);
        } else if let Some(words) = duplicate(info, up) {
            self.fail(now, None, &words, DUPLICATE_NAME, up);
        } else {
            return true;
        }
        false
    }

    /// The servers of this cluster dial the other cluster too.
    fn flood(&self, up: &mut dyn Upcalls) {
        if let State::Outbound(outbound) = &self.state {
            let cluster = &outbound.cluster;
            let mut info = hello::gossip(cluster, self.clusters.urls(cluster), up.server());
            info.server_id = format!("GW{}", info.server_id);
            info.server_name.clone_from(&up.server().name);
            let mut bytes = Vec::new();
            encode::info(&mut bytes, &info);
            up.write_to_neighbours(&bytes);
        }
    }

    /// The server that dialed says who it is: it is told what is wanted here.
    ///
    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayInfo`, the inbound part
    fn on_caller(&mut self, now: Now, info: &ServerInfo, up: &mut dyn Upcalls) {
        if info.gateway.is_empty() {
            let text = "attempted to connect to gateway port";
            return self.refuse(Some(text), "Incorrect Port", up);
        }
        // nats-server looks at `CONNECT` alone; here it is this name that counts from now on.
        if !self.is_welcome(&info.gateway, up) {
            return;
        }
        if let Some(words) = duplicate(info, up) {
            up.log_peer(Level::Error, &words);
            return self.refuse(None, DUPLICATE_NAME, up);
        }
        up.introduce(&info.server_name, &info.version);
        let text = format!(
            "Inbound gateway connection from {:?} ({}) registered",
            info.gateway, info.server_id
        );
        up.log_peer(Level::Info, &text);
        self.clusters.called_by(up.link(), &info.gateway);
        let mut inbound = Inbound::begin(self.clusters.clone(), info, now, up);
        inbound.tell_groups(up);
        hear_of(&self.clusters, &info.gateway, &info.gateway_urls, up);
        for (cluster, urls) in self.clusters.others(&info.gateway) {
            let told = hello::gossip(&cluster, urls, up.server());
            encode::info(up.out(), &told);
        }
        inbound.tell_all(up);
        self.state = State::Inbound(Box::new(inbound));
    }

    /// Says what is wrong, if there are words for it, and closes.
    fn refuse(&mut self, text: Option<&str>, cause: &str, up: &mut dyn Upcalls) {
        if let Some(text) = text {
            encode::err(up.out(), text);
            let (level, words) = self.door.told_as(text);
            up.log_peer(level, &words);
        }
        self.depart(up);
        self.state = State::Ended;
        up.close(cause);
    }

    /// The connection is of no use: it closes, and a dialer tries again.
    fn fail(
        &mut self,
        now: Now,
        text: Option<&str>,
        words: &str,
        cause: &str,
        up: &mut dyn Upcalls,
    ) {
        match &self.side {
            Side::Accepted => self.refuse(text, cause, up),
            Side::Dialed(_) => {
                if let Some(text) = text {
                    encode::err(up.out(), text);
                }
                self.depart(up);
                self.wait(now, words, up);
                up.close(cause);
            }
        }
    }

    /// Gives up the place, if it has one.
    fn depart(&mut self, up: &mut dyn Upcalls) {
        match &self.state {
            State::Outbound(outbound) => {
                self.clusters.lose(&outbound.cluster, up.link());
                up.set_crossings(self.clusters.nearest_first());
                let text = format!("gateway: no way to {:?} any more", outbound.cluster);
                up.log(Level::Info, text);
            }
            State::Inbound(_) => self.clusters.left_by(up.link()),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Waiting { .. }
            | State::Ended => {}
        }
    }

    /// The peer took us in: the next loss is a new one.
    fn is_settled(&mut self) {
        if let Side::Dialed(dialed) = &mut self.side {
            (dialed.attempts, dialed.logged) = (0, None);
            dialed.has_been_up = true;
        }
    }

    /// Plans the next dial, or ends.
    fn wait(&mut self, now: Now, words: &str, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &mut self.side else {
            self.state = State::Ended;
            return;
        };
        let retries = self.clusters.planned(|plan| plan.connect_retries);
        let backs_off = self.clusters.planned(|plan| plan.connect_backoff);
        let jitter = u64::try_from(JITTER.as_nanos()).unwrap_or(u64::MAX);
        let jitter = Duration::from_nanos(up.random().below(jitter));
        let was_up = dialed.attempts == 0;
        let is_called = self.clusters.is_called_by(&dialed.cluster);
        if !dialed.is_configured && !is_called && dialed.attempts > retries {
            self.clusters.forget(&dialed.cluster);
            self.state = State::Ended;
            return up.detach();
        }
        let pause = if was_up && !dialed.is_configured {
            jitter
        } else if backs_off && dialed.is_configured && !dialed.has_been_up {
            let doublings = u32::try_from(dialed.attempts.min(6)).unwrap_or(6);
            BACKOFF_MAX.min(RECONNECT_INTERVAL * 2_u32.pow(doublings.saturating_sub(1)))
        } else {
            RECONNECT_INTERVAL + jitter
        };
        self.complain(words, up);
        self.state = State::Waiting {
            until: now.mono + pause,
        };
    }

    /// Says what is wrong: once for each cause, and with every so manieth dial.
    fn complain(&mut self, words: &str, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &mut self.side else {
            return;
        };
        self.last_error = Some(words.to_owned());
        let facts = up.server();
        let every = if dialed.has_been_up {
            facts.reconnect_error_reports
        } else {
            facts.connect_error_reports
        };
        let is_due = dialed.attempts > 0 && dialed.attempts.checked_rem(every) == Some(0);
        if dialed.logged.as_deref() == Some(words) && !is_due {
            return;
        }
        dialed.logged = Some(words.to_owned());
        let at = dialed.target.as_ref();
        let text = format!(
            "gateway: Error connecting to {} gateway {:?} ({}) (attempt {}): {words}",
            dialed.kind(),
            dialed.cluster,
            at.map_or_else(String::new, ToString::to_string),
            dialed.attempts
        );
        up.log(Level::Error, text);
    }
}

/// What is wrong with the peer's name, if something is.
fn duplicate(info: &ServerInfo, up: &dyn Upcalls) -> Option<String> {
    let name = &info.server_name;
    let is_taken = info.server_id == up.server().id || up.is_neighbour(name);
    is_taken.then(|| format!("Remote server has a duplicate name: {name:?}"))
}

const WRONG_GATEWAY: &str = "Wrong Gateway";
const DUPLICATE_NAME: &str = "Duplicate Server Name";
const PROTOCOL_VIOLATION: &str = "Protocol Violation";
const STALE: &str = "Stale Connection";

#[cfg(test)]
mod tests;
