use core::time::Duration;

use crate::{Agreed, Compression, Upcalls};
use frond_clock::Instant;

/// How one connection is compressed: what this end wants, and what came of it.
#[derive(Clone, Debug)]
pub struct Packs {
    wish: Compression,
    /// Its WebSocket compresses: what it carries is not compressed twice.
    is_deflated: bool,
    agreed: Option<Agreed>,
    since: Instant,
}

/// What an `INFO` of the peer led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Everything goes on uncompressed.
    Bare,
    /// Both ends switch, this one calling its part so.
    Packed(&'static str),
    /// The peer's word for it is unknown; the text for an `-ERR`.
    Unknown(String),
}

impl Packs {
    /// For a connection that is there since `now`.
    ///
    /// spec: nats-server v2.15.1 server/leafnode.go `negotiateLeafCompression`, `createLeafNode`
    #[must_use]
    pub fn new(wish: &Compression, now: Instant, up: &dyn Upcalls) -> Self {
        Self {
            wish: wish.clone(),
            is_deflated: up.is_deflated(),
            agreed: None,
            since: now,
        }
    }

    /// As this end tells it in its `INFO`.
    #[must_use]
    pub const fn told(&self) -> &'static str {
        if self.is_deflated {
            return "";
        }
        self.wish.name()
    }

    /// Whether there is something to agree on, and both ends have not.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.agreed.is_none() && self.wish.is_wanted() && !self.is_deflated
    }

    /// The peer calls its wish so.
    pub fn settle(&mut self, now: Instant, peer: &str) -> Settled {
        let rtt = now.since(self.since);
        match self.wish.agree(peer, rtt) {
            Ok(agreed) => {
                self.agreed = Some(agreed);
                match agreed {
                    Agreed::NotSupported | Agreed::Off => Settled::Bare,
                    Agreed::Packed(packing) => Settled::Packed(self.wish.answer(packing)),
                }
            }
            Err(text) => Settled::Unknown(text),
        }
    }

    /// Nothing was agreed on, and the peer calls that so.
    ///
    /// spec: nats-server v2.15.1 server/leafnode.go `processLeafnodeInfo`, `processLeafNodeConnect`
    pub fn go_without(&mut self, peer: &str) {
        let is_known = match self.wish {
            Compression::NotSupported => false,
            Compression::Off
            | Compression::Accept
            | Compression::Fixed(_)
            | Compression::Auto(_) => {
                let is_quiet = self.is_deflated && self.wish.is_wanted() && peer.is_empty();
                is_quiet || !matches!(peer, "" | "not supported")
            }
        };
        let outcome = if is_known {
            Agreed::Off
        } else {
            Agreed::NotSupported
        };
        self.agreed.get_or_insert(outcome);
    }

    /// From here on frames are written and read.
    pub fn begin(&self, up: &mut dyn Upcalls) {
        if let Some(Agreed::Packed(packing)) = self.agreed {
            up.pack(packing);
        }
    }

    /// A round trip takes that long: more or less is done.
    pub fn suit(&mut self, rtt: Duration, up: &mut dyn Upcalls) {
        let Some(Agreed::Packed(before)) = self.agreed else {
            return;
        };
        if let Some(packing) = self.wish.for_rtt(rtt).filter(|new| *new != before) {
            self.agreed = Some(Agreed::Packed(packing));
            up.pack(packing);
        }
    }

    /// This end wants something else from here on; false: both ends have to agree anew.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `clusterOption.Apply`
    pub fn change(
        &mut self,
        wish: &Compression,
        rtt: Option<Duration>,
        up: &mut dyn Upcalls,
    ) -> bool {
        if self.wish == *wish {
            return true;
        }
        if self.is_deflated {
            self.wish = wish.clone();
            return true;
        }
        let before = match self.agreed {
            Some(Agreed::Packed(before)) => before,
            Some(Agreed::NotSupported) => {
                self.wish = wish.clone();
                return true;
            }
            Some(Agreed::Off) | None => return false,
        };
        let packing = match wish {
            Compression::NotSupported | Compression::Off | Compression::Accept => return false,
            Compression::Fixed(packing) => *packing,
            Compression::Auto(_) => rtt.and_then(|rtt| wish.for_rtt(rtt)).unwrap_or(before),
        };
        self.wish = wish.clone();
        if packing != before {
            self.agreed = Some(Agreed::Packed(packing));
            up.pack(packing);
        }
        true
    }

    /// As it is called in `CONNECT` and in monitoring.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.agreed {
            Some(agreed) => agreed.name(),
            None => Agreed::Off.name(),
        }
    }
}
