//! Whether the disk has power, and what is held while nobody knows yet that it has not.

use std::fmt;

use interop::Random;
use tokio::sync::watch;

use crate::disk::{Disk, Model};

type Held = Box<dyn FnOnce() + Send>;

/// The disk and its plug.
pub(crate) struct Powered {
    disk: Disk,
    random: Random,
    plug: Plug,
    is_pulled: watch::Sender<bool>,
}

enum Plug {
    /// After so many more operations it is pulled by itself.
    In { left: Option<u64> },
    /// Nothing more reaches the disk, and nobody gets an answer: they are dead and don't know it.
    Pulled { held: Vec<Held> },
    /// Whoever still asks hears of an error.
    Out,
}

impl Powered {
    pub(crate) fn new(model: Model, random: Random) -> Self {
        Self {
            disk: Disk::new(model),
            random,
            plug: Plug::In { left: None },
            is_pulled: watch::Sender::new(false),
        }
    }

    /// Does it, or holds it back, or refuses it.
    pub(crate) fn with<R: Send + 'static>(
        &mut self,
        reply: R,
        refuse: fn(R),
        act: impl FnOnce(&mut Disk, R),
    ) {
        if let Plug::In { left: Some(left) } = &mut self.plug {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => self.pull(),
            }
        }
        match &mut self.plug {
            Plug::In { .. } => act(&mut self.disk, reply),
            Plug::Pulled { held } => held.push(Box::new(move || refuse(reply))),
            Plug::Out => refuse(reply),
        }
    }

    pub(crate) fn pull(&mut self) {
        if let Plug::In { .. } = self.plug {
            self.plug = Plug::Pulled { held: Vec::new() };
            self.is_pulled.send_replace(true);
        }
    }

    pub(crate) fn pull_after(&mut self, operations: u64) {
        self.plug = Plug::In {
            left: Some(operations),
        };
    }

    /// Whether it is pulled, now and later.
    pub(crate) fn is_pulled(&self) -> watch::Receiver<bool> {
        self.is_pulled.subscribe()
    }

    pub(crate) fn set_model(&mut self, model: Model) {
        self.disk.set_model(model);
    }

    /// Those who were held hear of an error now.
    pub(crate) fn refuse(&mut self) {
        if let Plug::Pulled { held } = std::mem::replace(&mut self.plug, Plug::Out) {
            held.into_iter().for_each(|refuse| refuse());
        }
    }

    /// The power comes back, to what is left.
    pub(crate) fn restore(&mut self) {
        let disk = std::mem::replace(&mut self.disk, Disk::new(Model::Posix));
        self.disk = disk.cut(&mut self.random);
        self.plug = Plug::In { left: None };
        self.is_pulled.send_replace(false);
    }
}

impl fmt::Debug for Powered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Powered").finish_non_exhaustive()
    }
}
