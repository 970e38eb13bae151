//! Between the broker and the streams: outputs of one become inputs of the other.

use std::collections::BTreeMap;

use frond_account::{AccountId, PeerKind};
use frond_broker::{Broker, Conn, Level, Source, TraceMark};
use frond_clock::{Ages, Now};
use frond_config::Config;
use frond_jetstream::{
    self as jetstream, Allowance, BatchLimits, Facts, JetStream, Reach, Solo, Tenant,
};
use frond_ledger::Recovered;
use frond_subject::is_subset;
use frond_wire::MessageBuf;

use crate::claims::Waiter;
use crate::owner::Owner;
use crate::{Node, Output, StorageLimits, VERSION, setup};

/// The streams of a node that has JetStream.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) machine: JetStream,
    pub(crate) limits: StorageLimits,
    /// Streams and messages the disk had at the start.
    pub(crate) recovered: (usize, u64),
    /// The reply subject of the delivery that is being published.
    ack_reply: String,
    /// JetStream is switched off: nobody reaches them, and what is on its way to the disk is still
    /// acknowledged.
    pub(crate) are_leaving: bool,
}

/// The streams' question who listens, answered by the broker.
struct Listeners<'a> {
    broker: &'a Broker,
    /// Who sent the message that is handled.
    from: Option<Source>,
}

impl<'a> Listeners<'a> {
    const fn of(broker: &'a Broker) -> Self {
        Self { broker, from: None }
    }
}

impl Reach for Listeners<'_> {
    fn has_interest(&self, tenant: Tenant, subject: &str) -> bool {
        self.broker.has_interest(AccountId(tenant.0), subject)
    }

    fn has_receiver(&self, tenant: Tenant, subject: &str, group: Option<&str>) -> bool {
        self.broker
            .has_receiver(AccountId(tenant.0), subject, group)
    }

    fn asker(&self, tenant: Tenant) -> Option<String> {
        let from = self.from?;
        Some(self.broker.asker(AccountId(tenant.0), from))
    }

    fn has_subscription(&self, tenant: Tenant, subject: &str) -> bool {
        self.broker.has_subscription(AccountId(tenant.0), subject)
    }
}

impl Node {
    /// Brings the streams back and answers the API in every account that has JetStream.
    pub fn start_jetstream(&mut self, now: Now, recovered: Recovered, limits: StorageLimits) {
        let streams = recovered.streams.len();
        let messages = recovered
            .streams
            .iter()
            .map(|stream| stream.heads.len())
            .sum();
        let facts = self.stream_facts(&limits);
        let seed = u64::from_le_bytes(self.seed.random[8..16].try_into().unwrap_or_default());
        let mut machine = JetStream::new(facts, seed, Box::new(Solo::new()), recovered);
        machine.judge_ages(now, self.ages.clone(), &Listeners::of(&self.broker));
        self.streams = Some(Streams {
            machine,
            limits,
            recovered: (streams, messages),
            ack_reply: String::new(),
            are_leaving: false,
        });
        if !self.facts().jetstream {
            self.publish_facts(now);
        }
        self.enable_accounts(now);
        self.look_up_stored(now);
        self.settle(now);
        // Where a reload switched them on, the remotes are there and know nothing of left streams.
        if !self.remotes.is_empty() {
            let config = self.config.clone();
            if let Err(text) = self.reload(now, &config) {
                let level = Level::Error;
                self.outputs.push_back(Output::Log { level, text });
            }
        }
    }

    /// How old messages are from here on; also to be told before [`Node::start_jetstream`].
    pub fn judge_ages(&mut self, now: Now, ages: Ages) {
        self.ages = ages;
        if let Some(streams) = &mut self.streams {
            let reach = Listeners::of(&self.broker);
            streams.machine.judge_ages(now, self.ages.clone(), &reach);
        }
        self.settle(now);
    }

    /// Streams and messages that were there at the start.
    #[must_use]
    pub fn recovered(&self) -> (usize, u64) {
        self.streams
            .as_ref()
            .map_or((0, 0), |streams| streams.recovered)
    }

    pub(crate) fn stream_facts(&self, limits: &StorageLimits) -> Facts {
        let bounds = &self.config.jetstream.limits;
        let number =
            |value: Option<u64>| value.map_or(0, |value| i64::try_from(value).unwrap_or(i64::MAX));
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let batches = BatchLimits::default();
        let per_stream = bounds.batch_max_inflight_per_stream.map(count);
        let in_all = bounds.batch_max_inflight_total.map(count);
        Facts {
            server_name: self.facts().name.as_str().into(),
            domain: self.config.jetstream.domain.as_deref().map(Into::into),
            version: VERSION.into(),
            memory_bytes_max: Some(limits.memory_bytes_max),
            storage_bytes_max: Some(limits.file_bytes_max),
            index_bytes_max: limits.index_bytes_max,
            closed: closed(&self.config),
            unkept: unkept(&self.config),
            strict: self.config.jetstream.strict,
            duplicate_window_ns_max: bounds
                .duplicates
                .map(|window| i64::try_from(window.as_nanos()).unwrap_or(i64::MAX)),
            max_ack_pending: number(bounds.max_ack_pending),
            max_request_batch: number(bounds.max_request_batch),
            default_max_consumers: number(bounds.default_max_consumers),
            payload_bytes_max: count(self.config.limits.max_payload),
            requests_waiting_max: count(self.config.jetstream.request_queue_limit),
            infos_waiting_max: count(self.config.jetstream.info_queue_limit),
            batches: BatchLimits {
                messages_max: bounds.batch_max_msgs,
                stream_open_max: per_stream.unwrap_or(batches.stream_open_max),
                open_max: in_all.unwrap_or(batches.open_max),
                fast_stream_open_max: per_stream.unwrap_or(batches.fast_stream_open_max),
                fast_open_max: in_all.unwrap_or(batches.fast_open_max),
                timeout: bounds.batch_timeout,
            },
            ..Facts::default()
        }
    }

    /// Accounts that have JetStream, by the configuration in force; those that had it have it no
    /// more.
    pub(crate) fn enable_accounts(&mut self, now: Now) {
        let Some(streams) = self.serving() else {
            return;
        };
        let directory = self.broker.directory();
        let mut wanted: BTreeMap<AccountId, Allowance> = (0..)
            .map(AccountId)
            .zip(directory.accounts())
            .filter(|(id, _)| streams.machine.knows(Tenant(id.0)))
            .filter(|(id, _)| directory.claimed(*id).is_none())
            .map(|(id, _)| (id, Allowance::Off))
            .collect();
        for (name, limits) in setup::jetstream_accounts(&self.config) {
            wanted.extend(directory.find(&name).map(|id| (id, limits.into())));
        }
        for (id, limits) in wanted {
            self.enable_streams(now, id, limits);
        }
        self.enable_all_claimed(now);
        self.turn_away_others(now);
    }

    /// Accounts without streams are told so, unless they ask another account for them.
    pub(crate) fn turn_away_others(&mut self, now: Now) {
        let directory = self.broker.directory();
        let Some(streams) = self.streams.as_mut().filter(|it| !it.are_leaving) else {
            return;
        };
        let system = directory.system_account();
        streams.machine.serve_system(now, Tenant(system.0));
        for (id, account) in (0..).map(AccountId).zip(directory.accounts()) {
            let asks_elsewhere = account
                .sharing
                .services
                .iter()
                .any(|import| is_subset("$JS.API.INFO", &import.from));
            let away = account.exists && id != system && !asks_elsewhere;
            streams.machine.turn_away(now, Tenant(id.0), away);
        }
    }

    /// Lets an account use streams, or changes what it may use.
    pub(crate) fn enable_streams(&mut self, now: Now, account: AccountId, allowance: Allowance) {
        let name = self.broker.directory().account(account);
        let name = name.map(|account| account.name.clone()).unwrap_or_default();
        if let Some(streams) = self.streams.as_mut().filter(|it| !it.are_leaving) {
            let reach = Listeners::of(&self.broker);
            let tenant = Tenant(account.0);
            streams
                .machine
                .enable(now, tenant, &name, allowance, &reach);
        }
    }

    pub(crate) fn shut_down_streams(&mut self, now: Now) {
        if let Some(streams) = &mut self.streams {
            streams.machine.shut_down(now, &Listeners::of(&self.broker));
        }
    }

    pub(crate) fn tell_streams(&mut self, now: Now, input: jetstream::Input<'_>) {
        if let Some(streams) = &mut self.streams {
            streams
                .machine
                .handle(now, input, &Listeners::of(&self.broker));
        }
    }

    /// Moves outputs to inputs until neither side wants anything more. The streams are drained
    /// only when the broker is empty, so that all messages of one read share one batch.
    pub(crate) fn settle(&mut self, now: Now) {
        loop {
            while let Some(output) = self.broker.poll() {
                self.take_broker_output(now, output);
            }
            let mut quiet = true;
            while let Some(output) = self
                .streams
                .as_mut()
                .and_then(|streams| streams.machine.poll())
            {
                quiet = false;
                self.take_streams_output(now, output);
            }
            if quiet {
                return;
            }
        }
    }

    fn take_broker_output(&mut self, now: Now, output: frond_broker::Output) {
        use frond_broker::Output as From;
        match output {
            From::Flush(conn) => self.outputs.push_back(Output::Flush(conn)),
            From::Close { conn, cause } => self.outputs.push_back(Output::Close { conn, cause }),
            From::Dial {
                link,
                host,
                port,
                timeout,
                tls_first,
            } => self.outputs.push_back(Output::Dial {
                link,
                host,
                port,
                timeout,
                tls_first,
            }),
            From::Secure {
                link,
                conn,
                server_name,
            } => self.outputs.push_back(Output::Secure {
                link,
                conn,
                server_name,
            }),
            From::Pack(pack) => self.outputs.push_back(Output::Pack(pack)),
            From::Ask {
                conn,
                token,
                question,
            } => self.find_out(now, conn, token, question),
            From::LookUp(key) => self.look_up(now, &key, Waiter::Link),
            From::Log { level, text } => self.outputs.push_back(Output::Log { level, text }),
            From::Internal {
                account,
                id,
                message,
                from,
                trace,
            } => self.take_internal(now, (account, id), message, from, trace),
            From::Traced(report) => self.tell_trace(now, &report),
            From::InterestChanged {
                account, subject, ..
            } => {
                if account == self.broker.directory().system_account() {
                    self.listened(now);
                }
                let input = jetstream::Input::Interest {
                    tenant: Tenant(account.0),
                    subject: &subject,
                };
                self.tell_streams(now, input);
            }
            From::Connected(conn) => {
                self.clients.insert(conn);
                if let Some(client) = self.broker.client(conn) {
                    self.tell_connect(now, &client, PeerKind::Client);
                }
            }
            From::Disconnected(client) => {
                self.clients.remove(&Conn(client.client.cid));
                self.tell_disconnect(now, &client);
                self.last_closed = Some(client);
            }
            From::LinkConnected(link) => self.tell_connect(now, &link, PeerKind::Leafnode),
            From::LinkDisconnected(link) => self.tell_disconnect(now, &link),
            From::Rejected(client) => self.tell_rejection(now, &client),
            From::Population(account) => self.population_changed(now, account),
        }
    }

    /// A message for one of our own subscriptions.
    fn take_internal(
        &mut self,
        now: Now,
        (account, id): (AccountId, u64),
        message: MessageBuf,
        from: Source,
        trace: Option<TraceMark>,
    ) {
        match Owner::of(id) {
            Some(Owner::JetStream) => {
                let message = match trace {
                    None => Some(message),
                    Some(mark) => self.traced_for_stream(id, message, mark),
                };
                let Some(message) = message else {
                    return;
                };
                let input = jetstream::Input::Message {
                    tenant: Tenant(account.0),
                    sub: jetstream::SubId(id),
                    message,
                };
                if let Some(streams) = &mut self.streams {
                    let reach = Listeners {
                        broker: &self.broker,
                        from: Some(from),
                    };
                    streams.machine.handle(now, input, &reach);
                }
            }
            Some(Owner::System) => self.asked(now, account, id, &message, from),
            Some(Owner::Claims) => self.claims_message(now, Owner::own(id), &message),
            Some(Owner::Callout) => self.called_out(now, account, &message),
            Some(Owner::Accounts) | None => {}
        }
    }

    fn take_streams_output(&mut self, now: Now, output: jetstream::Output) {
        use jetstream::Output as From;
        match output {
            From::Subscribe {
                tenant,
                subject,
                sub,
            } => {
                if self.serving().is_some() {
                    self.broker
                        .subscribe_internal(AccountId(tenant.0), &subject, sub.0);
                }
            }
            From::Unsubscribe { tenant, sub } => {
                self.broker.unsubscribe_internal(AccountId(tenant.0), sub.0);
            }
            From::Publish { tenant, message } => {
                let account = AccountId(tenant.0);
                self.broker
                    .publish_internal(now, account, &message.message(), None);
            }
            From::Deliver { tenant, parcel } => {
                let (account, shown) = (AccountId(tenant.0), Some(parcel.shown()));
                if let Some(streams) = &mut self.streams {
                    let message = parcel.message(&mut streams.ack_reply);
                    self.broker.publish_internal(now, account, &message, shown);
                }
            }
            From::Append(batch) => self.outputs.push_back(Output::Append(batch)),
            From::Fetch { ticket, query } => {
                self.outputs.push_back(Output::Fetch { ticket, query })
            }
            From::Log { level, text } => {
                self.outputs.push_back(Output::Log {
                    level: level_of(level),
                    text,
                });
            }
        }
    }
}

const fn level_of(level: jetstream::Level) -> Level {
    match level {
        jetstream::Level::Debug => Level::Debug,
        jetstream::Level::Info => Level::Info,
        jetstream::Level::Warn => Level::Warn,
        jetstream::Level::Error => Level::Error,
    }
}

/// Where the fleet is spoken to, and what its buckets hold: by their own names no leaf gets there,
/// and by a stream's hand neither.
fn closed(config: &Config) -> Vec<Box<str>> {
    let Some(fleet) = &config.fleet else {
        return Vec::new();
    };
    let buckets = [&fleet.bucket, &fleet.registry, &fleet.rollouts];
    let buckets = buckets.map(|bucket| format!("$KV.{bucket}.>"));
    // By a request for one, too.
    let own = ["$FROND.>", "$JS.API.>", "$JS.*.API.>"].map(str::to_owned);
    own.into_iter().chain(buckets).map(Into::into).collect()
}

/// Requests to the fleet; its events may be kept.
fn unkept(config: &Config) -> Vec<Box<str>> {
    let fleet = config.fleet.as_ref();
    fleet.map(|_| "$FROND.FLEET.*".into()).into_iter().collect()
}
