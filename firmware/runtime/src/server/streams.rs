//! Where the streams are: JetStream on and off while the server runs.
//!
//! spec: nats-server v2.15.1 server/reload.go `applyOptions`

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::{Builder, JoinHandle};

use frond_clock::{Instant, Trust};
use frond_config::Config;
use frond_ledger::Recovered;
use frond_store::{FileDisk, Store};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use super::Server;
use crate::clock::pause;
use crate::core::Core;
use crate::disk::Disk;
use crate::limits::{KEEP_TIME_EVERY, OPENING_STACK_BYTES, TRUST_CHECK_EVERY};
use crate::options::default_store_dir;
use crate::{banner, data_dir, known_time, space};

/// What the disk had.
type Opened = Result<(Store<FileDisk>, Recovered), String>;

/// Where the streams of this server are.
#[derive(Debug)]
pub(super) enum Streams {
    /// Nowhere: there is no JetStream.
    Off,
    /// On their way from the disk.
    Opening {
        dir: PathBuf,
        since: Instant,
        opened: oneshot::Receiver<Opened>,
    },
    /// Here.
    On,
    /// On their way to the disk.
    Closing {
        closed: oneshot::Receiver<()>,
        thread: Option<JoinHandle<()>>,
    },
}

/// They are where they were going.
#[derive(Debug)]
pub(super) enum Arrived {
    /// Here, from that directory, or they cannot be had.
    Here(PathBuf, Instant, Box<Opened>),
    /// On the disk.
    There,
}

impl Streams {
    /// Waits until they are where they are going.
    pub(super) async fn arrive(&mut self) -> Arrived {
        match self {
            Self::Off | Self::On => std::future::pending().await,
            Self::Opening { dir, since, opened } => {
                let lost = |_| Err("the thread that opens the data directory ended".to_owned());
                let opened = opened.await.unwrap_or_else(lost);
                Arrived::Here(dir.clone(), *since, Box::new(opened))
            }
            Self::Closing { closed, .. } => {
                // A sender that is gone has nothing left to write either.
                let _ = closed.await;
                Arrived::There
            }
        }
    }
}

impl Server {
    /// Another configuration is in force: JetStream begins or ends with it.
    pub(super) fn follow(&mut self, config: &Config) {
        match (&self.streams, config.jetstream.enabled) {
            (Streams::Off, true) => self.open_streams(config),
            (Streams::On, false) => self.close_streams(),
            (Streams::Off | Streams::Closing { .. }, false)
            | (Streams::On | Streams::Opening { .. }, true)
            // They go on to where they are going, and from there.
            | (Streams::Opening { .. }, false)
            | (Streams::Closing { .. }, true) => {}
        }
    }

    pub(super) fn take_arrival(&mut self, arrived: Arrived, config: &Config) {
        self.streams = Streams::Off;
        match arrived {
            Arrived::There => {
                while let Ok(event) = self.disk_events.try_recv() {
                    self.take_disk_event(event);
                }
                let now = self.core.clock().now();
                self.core.with_node(|node| node.end_jetstream(now));
                self.core.settle();
                self.core.meter().borrow_mut().set_disk(None);
                tracing::info!("JetStream Shutdown");
                self.follow(config);
            }
            Arrived::Here(dir, since, opened) => {
                if !config.jetstream.enabled || dir != store_dir(config) {
                    // What was wanted is not wanted any more.
                    drop(opened);
                    return self.follow(config);
                }
                let started =
                    (*opened).and_then(|opened| self.begin_streams(config, since, opened));
                if let Err(why) = started {
                    let why = why.trim_start_matches("Can't start JetStream: ");
                    tracing::warn!("Can't start JetStream: {why}");
                }
            }
        }
    }

    /// Opens the data directory. It may take its time, and clients are served meanwhile.
    fn open_streams(&mut self, config: &Config) {
        tracing::info!("Restarting JetStream");
        let dir = store_dir(config);
        banner::jetstream(config, &dir);
        let since = self.core.clock().now().mono;
        let (tell, opened) = oneshot::channel();
        let (place, bytes) = (dir.clone(), config.limits.max_payload);
        let encryption = config.jetstream.encryption.clone();
        let open = move || {
            let opened =
                random_nonce().and_then(|nonce| data_dir::open(&place, nonce, bytes, &encryption));
            // Nobody waits any more where the server has ended.
            let _ = tell.send(opened);
        };
        let thread = Builder::new().name("disk-open".into());
        match thread.stack_size(OPENING_STACK_BYTES).spawn(open) {
            Ok(_) => self.streams = Streams::Opening { dir, since, opened },
            Err(error) => tracing::warn!("Can't start JetStream: {error}"),
        }
    }

    /// Serves what was opened.
    pub(super) fn begin_streams(
        &mut self,
        config: &Config,
        since: Instant,
        (store, recovered): (Store<FileDisk>, Recovered),
    ) -> Result<(), String> {
        let counters = store.reader.counters();
        let disk = Disk::start(store, self.disk_news.clone())
            .map_err(|error| format!("cannot start the disk's threads: {error}"))?;
        self.core.disk().replace(Some(disk));
        let limits = space::limits(config, &store_dir(config));
        let clock = self.core.clock();
        let now = clock.now();
        self.core.with_node(|node| {
            node.judge_ages(now, clock.ages());
            node.start_jetstream(now, recovered, limits);
        });
        self.core.settle();
        self.core.meter().borrow_mut().set_disk(Some(counters));
        self.core
            .with_node(|node| banner::jetstream_ready(node, clock.now().mono.since(since)));
        self.streams = Streams::On;
        self.keep_time_in(&base_dir(config));
        Ok(())
    }

    /// The time is kept where the streams are, from now on.
    pub(super) fn keep_time_in(&mut self, dir: &Path) {
        let work = keep_time(self.core.clone(), known_time::path(dir));
        if let Some(former) = self.timekeeper.replace(spawn_local(work)) {
            former.abort();
        }
    }

    /// Writes what there is, while clients are served.
    fn close_streams(&mut self) {
        self.core.send_to_disk();
        let Some(mut disk) = self.core.disk().borrow_mut().take() else {
            return;
        };
        tracing::info!("Initiating JetStream Shutdown...");
        let (tell, closed) = oneshot::channel();
        let close = move || {
            disk.stop();
            let _ = tell.send(());
        };
        if let Some(keeper) = self.timekeeper.take() {
            keeper.abort();
        }
        // Where no thread is to be had the disk's own end by themselves, having written all.
        let thread = Builder::new().name("disk-close".into());
        let thread = thread.stack_size(OPENING_STACK_BYTES).spawn(close).ok();
        self.streams = Streams::Closing { closed, thread };
    }

    /// The server ends: what there is is on the disk when this returns.
    pub(super) fn end_streams(&mut self) {
        if let Streams::Closing { thread, .. } = &mut self.streams
            && let Some(thread) = thread.take()
        {
            let _ = thread.join();
            tracing::info!("JetStream Shutdown");
        }
        if let Some(mut disk) = self.core.disk().borrow_mut().take() {
            tracing::info!("Initiating JetStream Shutdown...");
            disk.stop();
            tracing::info!("JetStream Shutdown");
        }
    }
}

/// `<store_dir>/jetstream`, as nats-server names it.
pub(crate) fn store_dir(config: &Config) -> PathBuf {
    base_dir(config).join("jetstream")
}

/// `<store_dir>`.
pub(super) fn base_dir(config: &Config) -> PathBuf {
    let dir = config.jetstream.store_dir.as_ref();
    dir.map_or_else(default_store_dir, PathBuf::from)
}

/// Keeps the time now and then while it is to be believed, and tells the streams when it is.
async fn keep_time(core: Rc<Core>, path: PathBuf) {
    let mut told = None;
    let mut keep_at = Instant::START;
    loop {
        let now = core.clock().now();
        let ages = core.clock().ages();
        let is_new = told.as_ref() != Some(&ages);
        if is_new {
            core.with_node(|node| node.judge_ages(now, ages.clone()));
            core.settle();
        }
        if ages.trust == Trust::Trusted && (is_new || now.mono >= keep_at) {
            keep_at = now.mono + KEEP_TIME_EVERY;
            if let Err(error) = known_time::write(&path, core.clock().kept(), &ages.gaps) {
                tracing::warn!("the time could not be kept in {}: {error}", path.display());
            }
        }
        told = Some(ages);
        pause(TRUST_CHECK_EVERY).await;
    }
}

pub(super) fn random_nonce() -> Result<u64, String> {
    getrandom::u64().map_err(|error| format!("the system gives no randomness: {error}"))
}
