use std::io;
use std::path::Path;
use std::rc::Rc;

use frond_config::Config;
use frond_node::{Input, Listener, Node};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, spawn_local};

use crate::attend::{self, Beside, Turn};
use crate::clock::{Clock, pause};
use crate::core::Core;
use crate::disk::{Disk, DiskEvent};
use crate::files::{Ports, Traces, url};
use crate::limits::SETTLED_AFTER;
use crate::log::Log;
use crate::meter::Meter;
use crate::options::Options;
use crate::signals::{self, Order};
use crate::steward::{Hands, Keeper, News, Steward, Text, Took};
use crate::tls::{self, Contexts};
use crate::websocket::Door;
use crate::{
    Product, addresses, banner, check, claims, data_dir, http, known_time, listener, ocsp, reload,
    space,
};

mod streams;

pub(crate) use streams::store_dir;
use streams::{Streams, base_dir, random_nonce};

/// A server that listens, until it is told to end.
#[derive(Debug)]
pub(crate) struct Server {
    core: Rc<Core>,
    beside: Beside,
    /// What accepts clients.
    tasks: Vec<JoinHandle<()>>,
    /// What looks after certificates and time and accepts other servers, until the end.
    keepers: Vec<JoinHandle<()>>,
    /// Monitoring answers until the end, also while the clients are led away.
    monitor: Option<JoinHandle<()>>,
    traces: Traces,
    orders: UnboundedReceiver<Order>,
    disk_events: UnboundedReceiver<DiskEvent>,
    /// For the disk's threads of streams that come later.
    disk_news: UnboundedSender<DiskEvent>,
    streams: Streams,
    /// What keeps the time, while there are streams.
    timekeeper: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the data directory, builds the node, binds every listener, says so.
    ///
    /// # Errors
    /// What to print as the reason why there is no server.
    pub(crate) async fn start(product: &Product, options: &Options) -> Result<Self, String> {
        let beside = Beside::begin(product.attend);
        beside.tell(Turn::Opening);
        let known = known_time::path(&base_dir(&options.config));
        let (floor, gaps) = known_time::read(&known);
        let clock = Clock::start(floor, gaps);
        let config = &options.config;
        let seed = check::seed(product, config)?;
        let contexts = Contexts::default();
        let loaded = contexts.load(config)?;
        loaded.begin_staples()?;
        contexts.replace(loaded);
        claims::check_url(config, &seed, &contexts).await?;
        let nonce = random_nonce()?;
        let mut node = Node::build(clock.now(), config, seed)?;
        banner::starting(product, node.facts(), options);
        let (events, disk_events) = unbounded_channel();
        let (mut disk, mut counters) = (None, None);
        if config.jetstream.enabled {
            let started = clock.now().mono;
            let dir = store_dir(config);
            banner::jetstream(config, &dir);
            let (bytes, encryption) = (config.limits.max_payload, &config.jetstream.encryption);
            let (store, recovered) = data_dir::open(&dir, nonce, bytes, encryption)?;
            node.judge_ages(clock.now(), clock.ages());
            node.start_jetstream(clock.now(), recovered, space::limits(config, &dir));
            counters = Some(store.reader.counters());
            disk = Some(
                Disk::start(store, events.clone())
                    .map_err(|e| format!("cannot start the disk's threads: {e}"))?,
            );
            banner::jetstream_ready(&node, clock.now().mono.since(started));
        }
        let mut meter = Meter::new(clock.now(), counters, &options.digest);
        meter.set_ocsp_cache(contexts.desk().cache());
        let core = Core::new(clock, node, disk, meter, contexts);
        core.keep_claims_in(check::claims_dir(config)?);
        core.settle();
        let (orders_in, orders) = unbounded_channel();
        if let Some(news) = core.tls().desk().listen() {
            spawn_local(ocsp::attend(Rc::clone(&core), news, orders_in.clone()));
        }
        signals::listen(orders_in)
            .map_err(|error| format!("cannot listen for signals: {error}"))?;
        let mut server = Self {
            core,
            beside,
            tasks: Vec::new(),
            keepers: Vec::new(),
            monitor: None,
            traces: Traces::default(),
            orders,
            disk_events,
            disk_news: events,
            streams: Streams::Off,
            timekeeper: None,
        };
        server.core.tell_cert_ends();
        server.listen(config).await?;
        let (core, beside) = (&server.core, &server.beside);
        server.keepers.extend(attend::begin(core, beside, config));
        let keep = spawn_local(tls::keep(Rc::clone(&server.core)));
        server.keepers.push(keep);
        if config.jetstream.enabled {
            server.streams = Streams::On;
            server.keep_time_in(&base_dir(config));
        }
        Ok(server)
    }

    /// Binds everything before anything is served, so that a start fails whole.
    async fn listen(&mut self, config: &Config) -> Result<(), String> {
        let mut ports = Ports::new();
        let now = self.core.clock().now();
        if let Some(at) = &config.monitor {
            let (listener, on) = bound(&at.host, at.port, "monitoring").await?;
            let scheme = if config.monitor_tls { "https" } else { "http" };
            tracing::info!("Starting {scheme} monitor on {on}");
            banner::status_page(scheme, &on);
            ports.insert("monitoring", vec![url_of(scheme, &listener)]);
            self.core
                .with_node(|node| node.set_monitor_port(local_port(&listener)));
            let serve = http::serve(Rc::clone(&self.core), self.beside.clone(), listener);
            self.monitor = Some(spawn_local(serve));
        }
        let mut leaf = None;
        if let Some(at) = &config.leafnodes.listen {
            let (listener, on) = bound(&at.host, at.port, "leafnode").await?;
            tracing::info!("Listening for leafnode connections on {on}");
            ports.insert("leafnodes", vec![url_of("nats-leaf", &listener)]);
            self.core
                .with_node(|node| node.set_leaf_port(local_port(&listener)));
            leaf = Some(listener);
        }
        let websocket = self.listen_for_websockets(config, &mut ports).await?;
        self.core
            .with_node(|node| node.set_addresses(addresses::own()));
        // Routes tell where the gateways are.
        let gateway = self.listen_for_gateways(config, &mut ports).await?;
        let route = self.listen_for_routes(config, &mut ports).await?;
        let (client, on) = bound(&config.host, config.port, "client").await?;
        ports.insert("nats", vec![url_of("nats", &client)]);
        self.core
            .with_node(|node| node.set_client_port(now, local_port(&client)));
        self.leave_traces(config, &ports)
            .map_err(|error| error.to_string())?;
        let wants_login = self.core.with_node(|node| node.wants_login());
        banner::listening(&client, &on, wants_login);
        if config.proxy_protocol {
            tracing::info!("PROXY protocol enabled for client connections");
        }
        if config.tls.is_some() {
            tracing::info!(
                "TLS {} for client connections",
                if config.allow_non_tls {
                    "available"
                } else {
                    "required"
                }
            );
        }
        let doors = [
            (leaf, Listener::Leaf),
            (route, Listener::Route),
            (gateway, Listener::Gateway),
            (websocket, Listener::WebSocket),
            (Some(client), Listener::Client),
        ];
        for (listener, kind) in doors {
            let listener = listener.map(|at| listener::accept(Rc::clone(&self.core), at, kind));
            let tasks = match kind {
                Listener::Client | Listener::WebSocket => &mut self.tasks,
                // Other servers come and go to the end.
                Listener::Leaf | Listener::Route | Listener::Gateway => &mut self.keepers,
            };
            tasks.extend(listener.map(spawn_local));
        }
        self.core.with_node(|node| node.start_links(now))?;
        self.core.handle(Input::Time);
        tracing::info!("Server is ready");
        self.tasks.push(spawn_local(give_back_code()));
        Ok(())
    }

    async fn listen_for_websockets(
        &self,
        config: &Config,
        ports: &mut Ports,
    ) -> Result<Option<TcpListener>, String> {
        let Some(at) = &config.websocket.listen else {
            return Ok(None);
        };
        let (listener, on) = bound(&at.host, at.port, "websocket").await?;
        let scheme = match config.websocket.tls {
            Some(_) => "wss",
            None => "ws",
        };
        tracing::info!("Listening for websocket clients on {scheme}://{on}");
        if scheme == "ws" {
            tracing::warn!("Websocket not configured with TLS. DO NOT USE IN PRODUCTION!");
        }
        ports.insert("websocket", vec![url_of(scheme, &listener)]);
        self.core
            .with_node(|node| node.set_websocket_port(local_port(&listener)));
        self.core.open_door(Door::new(config));
        Ok(Some(listener))
    }

    async fn listen_for_routes(
        &self,
        config: &Config,
        ports: &mut Ports,
    ) -> Result<Option<TcpListener>, String> {
        let Some(at) = &config.cluster.listen else {
            return Ok(None);
        };
        let (listener, on) = bound(&at.host, at.port, "route").await?;
        let now = self.core.clock().now();
        let name = self.core.with_node(|node| {
            node.set_route_port(now, local_port(&listener));
            node.facts().cluster.clone()
        });
        tracing::info!("Cluster name is {name}");
        tracing::info!("Listening for route connections on {on}");
        if config.jetstream.enabled {
            tracing::warn!(
                "JetStream is not replicated in the cluster yet: each server keeps streams of its own"
            );
        }
        ports.insert("cluster", vec![url_of("nats-route", &listener)]);
        Ok(Some(listener))
    }

    async fn listen_for_gateways(
        &self,
        config: &Config,
        ports: &mut Ports,
    ) -> Result<Option<TcpListener>, String> {
        let Some(at) = &config.gateway.listen else {
            return Ok(None);
        };
        let (listener, on) = bound(&at.host, at.port, "gateway").await?;
        let now = self.core.clock().now();
        self.core
            .with_node(|node| node.set_gateway_port(now, local_port(&listener)));
        let name = config.gateway.name.as_deref().unwrap_or_default();
        tracing::info!("Gateway name is {name}");
        tracing::info!("Listening for gateways connections on {on}");
        ports.insert("gateway", vec![url_of("nats", &listener)]);
        Ok(Some(listener))
    }

    fn leave_traces(&mut self, config: &Config, ports: &Ports) -> io::Result<()> {
        if let Some(path) = &config.pid_file {
            self.traces.write_pid(Path::new(path))?;
        }
        if let Some(dir) = &config.ports_file_dir {
            // As nats-server, which runs without it.
            if let Err(why) = self.traces.write_ports(Path::new(dir), ports) {
                tracing::error!("Error writing ports file ({dir}): {why}");
            }
        }
        Ok(())
    }

    /// Runs until an order or the lame duck's end.
    pub(crate) async fn run(
        mut self,
        hands: &mut Hands<'_>,
        steward: Option<(&mut dyn Steward, Text)>,
    ) -> Took {
        let mut keeper =
            steward.map(|(steward, text)| Keeper::start(steward, &self.core, text, hands.options));
        let mut took = keeper.as_mut().map_or(Took::Nothing, |it| it.begin(hands));
        while took == Took::Nothing {
            if self.core.is_finished() {
                break;
            }
            while let Some(ticket) = self.core.next_reload() {
                let answer = self.reload(hands, keeper.as_ref());
                self.core.handle(Input::Reloaded { ticket, answer });
            }
            self.core.send_to_disk();
            let (clock, deadline) = (self.core.clock(), self.core.arm());
            tokio::select! {
                biased;
                Some(order) = self.orders.recv() => {
                    if let Some(name) = order.signal() {
                        tracing::info!("Trapped {name:?} signal");
                    }
                    match order {
                        Order::Stop(_) | Order::End => break,
                        Order::LameDuck => self.lame_duck(),
                        Order::Reload => drop(self.reload(hands, keeper.as_ref())),
                        Order::Reopen => reopen(hands.log),
                    }
                }
                Some(event) = self.disk_events.recv() => self.on_disk(event),
                arrived = self.streams.arrive() => {
                    self.take_arrival(arrived, &hands.options.config);
                }
                () = self.core.alarm.notified() => {}
                news = news(keeper.as_mut()) => if let Some(keeper) = &mut keeper {
                    took = keeper.take(news, hands);
                },
                () = clock.until(deadline) => self.core.handle(Input::Time),
            }
        }
        if let Some(keeper) = keeper {
            keeper.stop();
        }
        self.stop();
        took
    }

    /// Reads the text in effect again.
    fn reload(&mut self, hands: &mut Hands<'_>, keeper: Option<&Keeper<'_>>) -> Result<(), String> {
        let own = Text::Own;
        let text = keeper.map_or(&own, Keeper::text);
        let reread = hands.reread;
        let again = || reread(text);
        reload::reload(&self.core, hands.options, hands.log, &again)?;
        self.follow(&hands.options.config);
        Ok(())
    }

    fn lame_duck(&mut self) {
        tracing::info!("Entering lame duck mode, stop accepting new clients");
        for task in self.tasks.drain(..) {
            task.abort();
        }
        self.core.handle(Input::LameDuck);
    }

    fn on_disk(&mut self, first: DiskEvent) {
        let mut next = Some(first);
        while let Some(event) = next {
            self.take_disk_event(event);
            next = self.disk_events.try_recv().ok();
        }
        self.core.flush();
    }

    fn take_disk_event(&self, event: DiskEvent) {
        match event {
            DiskEvent::Committed { receipts, bytes } => {
                for receipt in receipts {
                    self.core.step(Input::Committed(receipt));
                }
                self.core.disk_done(bytes);
            }
            DiskEvent::Refused {
                tickets,
                fault,
                bytes,
            } => {
                for ticket in tickets {
                    self.core.step(Input::Refused {
                        ticket,
                        fault: fault.clone(),
                    });
                }
                self.core.disk_heard();
                self.core.disk_done(bytes);
            }
            DiskEvent::Fetched { ticket, fetched } => {
                self.core.step(Input::Fetched { ticket, fetched })
            }
            DiskEvent::Free(bytes) => self.core.step(Input::DiskFree(bytes)),
            DiskEvent::Unreadable(found) => {
                let (stream, seqs) = (found.stream, found.seqs);
                self.core.step(Input::Unreadable { stream, seqs });
            }
        }
    }

    /// Ends in good order: nobody new, the last state on the disk, no traces left.
    fn stop(mut self) {
        tracing::info!("Initiating Shutdown...");
        attend::end(&self.core, &self.beside);
        let tasks = self.tasks.drain(..).chain(self.keepers.drain(..));
        let others = self
            .monitor
            .take()
            .into_iter()
            .chain(self.timekeeper.take());
        for task in tasks.chain(others) {
            task.abort();
        }
        self.core.handle(Input::Stop);
        self.core.tls().desk().stop();
        self.end_streams();
        self.traces.remove();
        tracing::info!("Server Exiting..");
    }
}

async fn news(keeper: Option<&mut Keeper<'_>>) -> News {
    match keeper {
        Some(keeper) => keeper.next().await,
        None => std::future::pending().await,
    }
}

/// spec: nats-server v2.15.1 server/log.go `ReOpenLogFile`
fn reopen(log: &Log) {
    match log.reopen() {
        Ok(true) => tracing::info!("File log re-opened"),
        Ok(false) => tracing::info!("File log re-open ignored, not a file logger"),
        Err(error) => {
            tracing::error!("the log file could not be opened again, the old one goes on: {error}")
        }
    }
}

/// Binds, and says how the log names the place.
async fn bound(host: &str, port: u16, what: &str) -> Result<(TcpListener, String), String> {
    let shown = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let listener = listener::bind(host, port)
        .await
        .map_err(|error| format!("Error listening on {what} port: {shown}:{port}, \"{error}\""))?;
    let on = format!("{shown}:{}", local_port(&listener));
    Ok((listener, on))
}

fn local_port(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |at| at.port())
}

fn url_of(scheme: &str, listener: &TcpListener) -> String {
    listener
        .local_addr()
        .map_or_else(|_| String::new(), |at| url(scheme, at))
}

/// Once everything runs that runs all the time.
async fn give_back_code() {
    pause(SETTLED_AFTER).await;
    // Nobody is served slower for it, and nobody needs to know when the kernel refuses.
    if let Err(error) = frond_trim::give_back_code() {
        tracing::debug!("The code of the start stays in memory: {error}");
    }
}
