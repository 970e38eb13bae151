use std::cell::RefCell;
use std::sync::Arc;

use frond_config::OcspCache;
use tokio::sync::mpsc::Receiver;

use super::{Cache, Keeper, News, Responders, Staple, Teller};

/// Everything of this process that asks about certificates.
#[derive(Debug)]
pub(crate) struct Desk {
    cache: Arc<Cache>,
    responders: Arc<Responders>,
    rules: RefCell<Option<OcspCache>>,
    teller: Teller,
    heard: RefCell<Option<Receiver<News>>>,
    keepers: RefCell<Vec<Keeper>>,
}

impl Default for Desk {
    fn default() -> Self {
        let (teller, heard) = Teller::new();
        Self {
            cache: Arc::default(),
            responders: Arc::default(),
            rules: RefCell::default(),
            teller,
            heard: RefCell::new(Some(heard)),
            keepers: RefCell::default(),
        }
    }
}

impl Desk {
    /// What responders said of peers.
    pub(crate) const fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Those who say it.
    pub(crate) const fn responders(&self) -> &Arc<Responders> {
        &self.responders
    }

    /// Where news is told.
    pub(crate) const fn teller(&self) -> &Teller {
        &self.teller
    }

    /// What is told, for the one who listens.
    pub(crate) fn listen(&self) -> Option<Receiver<News>> {
        self.heard.borrow_mut().take()
    }

    /// From here on these staples are kept fresh, and the cache has these rules.
    pub(crate) fn replace(&self, staples: Vec<Arc<Staple>>, rules: Option<OcspCache>) {
        let before = self.keepers.take();
        let keepers = staples
            .into_iter()
            .map(|staple| Keeper::start(staple, &before, &self.teller));
        self.keepers.replace(keepers.collect());
        if *self.rules.borrow() != rules {
            self.cache.apply(rules.clone());
            self.rules.replace(rules);
        }
    }

    /// The process ends: nothing is asked any more, and what is known is saved.
    pub(crate) fn stop(&self) {
        self.replace(Vec::new(), None);
    }
}
