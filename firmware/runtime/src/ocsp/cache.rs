use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use data_encoding::BASE64;
use frond_config::OcspCache;
use frond_monitor::OcspCacheStats;
use frond_ocsp::Status;
use frond_s2::{FrameReader, FrameWriter};
use serde_json::{Value, json};

use super::words::{moment, now_ns};
use crate::limits::{OCSP_CACHED_MAX, THREAD_STACK_BYTES};
use crate::options::plain;

/// What responders said about peers, kept beyond a restart in nats-server's file.
///
/// spec: nats-server v2.15.1 server/ocsp_responsecache.go
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// As configured; `None`: nothing is kept.
    rules: Option<OcspCache>,
    kept: BTreeMap<String, Kept>,
    stats: OcspCacheStats,
    is_dirty: bool,
    /// Dropped, the thread that saves ends.
    saver: Option<Sender<()>>,
}

/// One answer.
#[derive(Clone, Debug)]
struct Kept {
    subject: String,
    cached_at: String,
    status: Status,
    expires: String,
    answer: Vec<u8>,
}

const FILE: &str = "cache.json";

impl Cache {
    /// From here on by these rules; what is not saved yet is saved before.
    pub(crate) fn apply(self: &Arc<Self>, rules: Option<OcspCache>) {
        self.save();
        let before = self.state().rules.take();
        if before.is_some() {
            tracing::debug!("Stopping OCSP peer cache");
        }
        let mut state = State::default();
        if let Some(rules) = rules {
            if rules.on {
                tracing::debug!("Starting OCSP peer cache");
                state.load(&rules.local_store);
                state.stats.cache_type = "local";
                tracing::info!("OCSP peer cache online, type [local]");
                state.saver = Some(self.save_every(rules.save_interval));
                state.rules = Some(rules);
            } else {
                tracing::info!("OCSP peer cache online, type [none]");
            }
        }
        *self.state() = state;
    }

    /// What monitoring shows of it.
    pub(crate) fn stats(&self) -> Option<OcspCacheStats> {
        let state = self.state();
        state.rules.as_ref().map(|_| state.stats)
    }

    pub(super) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut state = self.state();
        state.rules.as_ref()?;
        let found = state.kept.get(key).map(|kept| kept.answer.clone());
        if found.is_some() {
            state.stats.cache_hits += 1;
            tracing::debug!("OCSP peer cache hit for key [{key}]");
        } else {
            state.stats.cache_misses += 1;
            tracing::debug!("OCSP peer cache miss for key [{key}]");
        }
        found
    }

    pub(super) fn put(&self, key: &str, subject: &str, told: (Status, Option<i64>), answer: &[u8]) {
        let mut state = self.state();
        if state.rules.is_none() {
            return;
        }
        tracing::debug!("Caching OCSP response for [{subject}], key [{key}]");
        let kept = Kept {
            subject: subject.to_owned(),
            cached_at: moment(Some(now_ns().div_euclid(1_000_000_000) * 1_000_000_000)),
            status: told.0,
            expires: moment(told.1),
            answer: answer.to_vec(),
        };
        state.make_room(key);
        if let Some(before) = state.kept.insert(key.to_owned(), kept) {
            state.count(before.status, -1);
        }
        state.count(told.0, 1);
        state.is_dirty = true;
    }

    /// It was found and is of no use.
    pub(super) fn delete(&self, key: &str) {
        let mut state = self.state();
        let Some(status) = state.kept.get(key).map(|kept| kept.status) else {
            return;
        };
        state.stats.cache_hits -= 1;
        state.stats.cache_misses += 1;
        let preserves = state.rules.as_ref().is_some_and(|it| it.preserve_revoked);
        if status == Status::Revoked && preserves {
            tracing::debug!("Revoked OCSP response for key [{key}] preserved by cache policy");
            return;
        }
        tracing::debug!("Deleting OCSP peer cached response for key [{key}]");
        state.kept.remove(key);
        state.count(status, -1);
        state.is_dirty = true;
    }

    /// Writes the file, if there is something new.
    pub(crate) fn save(&self) {
        let (dir, text) = {
            let mut state = self.state();
            let (Some(rules), true) = (&state.rules, state.is_dirty) else {
                return;
            };
            let found = (PathBuf::from(&rules.local_store), state.text());
            state.is_dirty = false;
            found
        };
        let path = dir.join(FILE);
        tracing::debug!("Saving OCSP peer cache [{}]", path.display());
        match write(&dir, &path, text.as_bytes()) {
            Ok(()) => {
                let bytes = text.len();
                tracing::debug!("Saved OCSP peer cache successfully ({bytes} bytes)");
            }
            Err(error) => {
                self.state().is_dirty = true;
                tracing::error!("Unable to save OCSP peer cache: {}", plain(&error));
            }
        }
    }

    fn save_every(self: &Arc<Self>, every: Duration) -> Sender<()> {
        let (sender, ended): (Sender<()>, Receiver<()>) = channel();
        let cache = Arc::clone(self);
        let run = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tracing::debug!("OCSP peer cache save timer expired");
                cache.save();
            }
        };
        let thread = thread::Builder::new().name("ocsp cache".to_owned());
        if let Err(error) = thread.stack_size(THREAD_STACK_BYTES).spawn(run) {
            tracing::error!("Unable to save OCSP peer cache: {}", plain(&error));
        }
        sender
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self, status: Status, by: i64) {
        self.stats.cached_responses += by;
        let of_kind = match status {
            Status::Good => &mut self.stats.cached_good_responses,
            Status::Revoked => &mut self.stats.cached_revoked_responses,
            Status::Unknown => &mut self.stats.cached_unknown_responses,
        };
        *of_kind += by;
    }

    /// The oldest goes for a new one when there are too many.
    fn make_room(&mut self, key: &str) {
        if self.kept.len() < OCSP_CACHED_MAX || self.kept.contains_key(key) {
            return;
        }
        let oldest = self
            .kept
            .iter()
            .min_by(|a, b| a.1.cached_at.cmp(&b.1.cached_at));
        let oldest = oldest.map(|(key, kept)| (key.clone(), kept.status));
        if let Some((key, status)) = oldest {
            self.kept.remove(&key);
            self.count(status, -1);
        }
    }

    fn load(&mut self, dir: &str) {
        let path = Path::new(dir).join(FILE);
        tracing::debug!("Loading OCSP peer cache [{}]", path.display());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                tracing::debug!("No OCSP peer cache found, starting with empty cache");
                return;
            }
            Err(error) => {
                tracing::warn!("Unable to load OCSP peer cache: {}", plain(&error));
                return;
            }
        };
        let Ok(Value::Object(items)) = serde_json::from_str(&text) else {
            tracing::warn!("Unable to load OCSP peer cache: it is damaged");
            self.is_dirty = true;
            return;
        };
        for (key, item) in items.iter().take(OCSP_CACHED_MAX) {
            if let Some(kept) = Kept::read(item) {
                self.count(kept.status, 1);
                self.kept.insert(key.clone(), kept);
            }
        }
    }

    fn text(&self) -> String {
        let items = self
            .kept
            .iter()
            .map(|(key, kept)| (key.clone(), kept.item()));
        let items = Value::Object(items.collect());
        serde_json::to_string_pretty(&items).unwrap_or_default()
    }
}

impl Kept {
    fn read(item: &Value) -> Option<Self> {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let packed = BASE64.decode(text("resp")?.as_bytes()).ok()?;
        let (mut reader, mut answer) = (FrameReader::default(), Vec::new());
        reader.feed(&packed).ok()?;
        while reader.next(&mut answer).ok()? {}
        Some(Self {
            subject: text("subject").unwrap_or_default().to_owned(),
            cached_at: text("cached_at")?.to_owned(),
            status: match text("resp_status")? {
                "good" => Status::Good,
                "revoked" => Status::Revoked,
                _ => Status::Unknown,
            },
            expires: text("resp_expires").unwrap_or_default().to_owned(),
            answer,
        })
    }

    fn item(&self) -> Value {
        let (mut writer, mut packed) = (FrameWriter::default(), Vec::new());
        writer.write(&self.answer, &mut packed);
        writer.flush(&mut packed);
        json!({
            "subject": self.subject,
            "cached_at": self.cached_at,
            "resp_status": self.status.name(),
            "resp_expires": self.expires,
            "resp": BASE64.encode(&packed),
        })
    }
}

/// Beside it first, so that it is never half there.
pub(super) fn write(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let beside = path.with_extension("tmp");
    let mut file = fs::File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_outlives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let rules = OcspCache {
            local_store: dir.path().join("a").display().to_string(),
            preserve_revoked: true,
            ..OcspCache::default()
        };
        let cache = Arc::new(Cache::default());
        assert_eq!((cache.stats(), cache.get("k")), (None, None));
        cache.apply(Some(rules.clone()));
        cache.put("k", "CN=a", (Status::Good, Some(7)), b"answer");
        cache.put("r", "CN=b", (Status::Revoked, None), b"no");
        cache.apply(None);
        assert_eq!(cache.stats(), None);
        cache.apply(Some(rules));
        assert_eq!(cache.get("k").as_deref(), Some(&b"answer"[..]));
        assert_eq!(cache.get("x"), None);
        cache.delete("k");
        // Revoked stays revoked.
        cache.delete("r");
        let want = OcspCacheStats {
            cache_type: "local",
            cache_hits: -1,
            cache_misses: 3,
            cached_responses: 1,
            cached_revoked_responses: 1,
            ..OcspCacheStats::default()
        };
        assert_eq!(cache.stats(), Some(want));
        assert_eq!((cache.get("k"), cache.get("r").is_some()), (None, true));
    }
}
