use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use frond_clock::{Now, Timestamp, Trust};
use frond_monitor::{CertEnds, Configuration, DiskCounts, Process};
use frond_store::Counters;

use crate::attend::Noticeboard;
use crate::forwards::Forwards;
use crate::ocsp::Cache;
use crate::space::{cpu_seconds, resident_bytes};
use crate::threads;

/// What monitoring shows of the process, which a node can't know of itself.
#[derive(Debug)]
pub(crate) struct Meter {
    requests: BTreeMap<String, u64>,
    disk: Option<Arc<Counters>>,
    last: (Now, f64),
    cpu_percent: f64,
    config_loaded: Timestamp,
    config_digest: String,
    certs: CertEnds,
    configuration: Option<Configuration>,
    ocsp_cache: Option<Arc<Cache>>,
    forwards: Rc<Forwards>,
    board: Noticeboard,
}

impl Meter {
    /// From the moment the server started; with the store's counters, when there is one.
    pub(crate) fn new(now: Now, disk: Option<Arc<Counters>>, config_digest: &str) -> Self {
        Self {
            config_loaded: now.wall,
            config_digest: config_digest.to_owned(),
            requests: BTreeMap::new(),
            disk,
            last: (now, cpu_seconds()),
            cpu_percent: 0.0,
            certs: CertEnds::default(),
            configuration: None,
            ocsp_cache: None,
            forwards: Rc::default(),
            board: Noticeboard::default(),
        }
    }

    /// The store's counters, while there is one.
    pub(crate) fn set_disk(&mut self, disk: Option<Arc<Counters>>) {
        self.disk = disk;
    }

    /// Another configuration is in force.
    pub(crate) fn reloaded(&mut self, now: Now, config_digest: &str) {
        self.config_loaded = now.wall;
        config_digest.clone_into(&mut self.config_digest);
    }

    /// Where the configuration stands.
    pub(crate) fn set_configuration(&mut self, configuration: Configuration) {
        self.configuration = Some(configuration);
    }

    /// What is kept of what responders said of peers.
    pub(crate) fn set_ocsp_cache(&mut self, cache: &Arc<Cache>) {
        self.ocsp_cache = Some(Arc::clone(cache));
    }

    /// What is brought to hubs.
    pub(crate) fn forwards(&self) -> Rc<Forwards> {
        Rc::clone(&self.forwards)
    }

    /// What the sensors of this box say.
    pub(crate) fn board(&self) -> Noticeboard {
        self.board.clone()
    }

    /// When the configuration in force was read.
    pub(crate) const fn config_loaded(&self) -> Timestamp {
        self.config_loaded
    }

    /// When certificates end.
    pub(crate) const fn certs(&self) -> CertEnds {
        self.certs
    }

    /// When certificates end.
    pub(crate) const fn set_certs(&mut self, certs: CertEnds) {
        self.certs = certs;
    }

    /// Counts a request for `path` and hands over what is known of the process.
    pub(crate) fn measure<T>(
        &mut self,
        now: Now,
        trust: Trust,
        path: &str,
        tell: impl FnOnce(&Process<'_>) -> T,
    ) -> T {
        if let Some(name) = frond_monitor::counted_as(path) {
            *self.requests.entry(name.to_owned()).or_default() += 1;
        }
        self.measure_cpu(now);
        let forwards = self.forwards.statuses();
        let (sensors, troubles) = self.board.pinned();
        tell(&Process {
            resident_bytes: resident_bytes(),
            cpu_percent: self.cpu_percent,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            http_req_stats: &self.requests,
            disk: self.disk.as_deref().map(disk_counts),
            config_loaded: self.config_loaded,
            config_digest: &self.config_digest,
            certs: self.certs,
            ocsp_cache: self.ocsp_cache.as_ref().and_then(|cache| cache.stats()),
            trust,
            threads: threads::all,
            sensors: &sensors,
            troubles: &troubles,
            forwards: &forwards,
            configuration: self.configuration.as_ref(),
        })
    }

    /// Over at least a second, so that the measuring itself does not show.
    fn measure_cpu(&mut self, now: Now) {
        let (then, before) = self.last;
        let seconds = now.mono.since(then.mono).as_secs_f64();
        if seconds < 1.0 {
            return;
        }
        let used = cpu_seconds();
        self.cpu_percent = ((used - before) / seconds * 100.0).max(0.0).round();
        self.last = (now, used);
    }
}

fn disk_counts(counters: &Counters) -> DiskCounts {
    let counts = counters.now();
    DiskCounts {
        syncs: counts.syncs,
        journal_bytes: counts.journal_bytes,
        frames: counts.frames,
        checkpoints: counts.checkpoints,
        unfolded_bytes: counts.unfolded_bytes,
        messages: counts.messages,
        scrub_passes: counts.scrub_passes,
        scrub_bytes: counts.scrub_bytes,
        scrub_damaged: counts.scrub_damaged,
        scrubbed_at: counts.scrubbed_at,
    }
}
