//! What accounts by JWT want from outside: their directory, a URL, a time zone.

use std::rc::Rc;

use frond_config::{Config, Resolver};
use frond_node::{ClaimsNews, ClaimsWish, Input, NodeSeed};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{spawn_blocking, spawn_local};

use crate::claims_dir::ClaimsDir;
use crate::core::Core;
use crate::fetch::{self, Secrets};
use crate::tls::{Contexts, Scratch};
use crate::zone;

/// The directory's wishes, one after the other; none are waiting unless an operator pushes
/// accounts faster than the disk takes them.
#[derive(Debug)]
pub(crate) struct ClaimsDisk(Option<UnboundedSender<ClaimsWish>>);

impl ClaimsDisk {
    /// No directory: nothing is kept, and that is no fault.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Starts what writes into the directory.
    pub(crate) fn start(core: &Rc<Core>, dir: ClaimsDir) -> Self {
        let (wishes, queue) = unbounded_channel();
        spawn_local(write(Rc::clone(core), dir, queue));
        Self(Some(wishes))
    }
}

async fn write(core: Rc<Core>, dir: ClaimsDir, mut queue: UnboundedReceiver<ClaimsWish>) {
    while let Some(wish) = queue.recv().await {
        let dir = dir.clone();
        let done = spawn_blocking(move || match wish {
            ClaimsWish::Keep { ticket, key, text } => Some((ticket, dir.keep(&key, &text))),
            ClaimsWish::Remove {
                ticket,
                key,
                renames,
            } => Some((ticket, dir.remove(&key, renames))),
            ClaimsWish::Fetch { .. } | ClaimsWish::Zone { .. } => None,
        });
        if let Ok(Some((ticket, result))) = done.await {
            core.handle(Input::Claims(ClaimsNews::Stored { ticket, result }));
        }
    }
}

/// Carries out one wish.
pub(crate) fn carry_out(core: &Rc<Core>, disk: &ClaimsDisk, wish: ClaimsWish) {
    let core = Rc::clone(core);
    match wish {
        ClaimsWish::Keep { ticket, .. } | ClaimsWish::Remove { ticket, .. } => match &disk.0 {
            Some(queue) => {
                // The queue ends with the process.
                let _ = queue.send(wish);
            }
            None => {
                spawn_local(async move {
                    let result = Ok(());
                    core.handle(Input::Claims(ClaimsNews::Stored { ticket, result }));
                });
            }
        },
        ClaimsWish::Fetch { key, url } => {
            spawn_local(async move {
                let secrets = Secrets {
                    contexts: core.tls(),
                    scratch: core.scratch(),
                };
                let result = fetch::get(&url, secrets).await;
                core.handle(Input::Claims(ClaimsNews::Fetched { key, result }));
            });
        }
        ClaimsWish::Zone { conn, token, name } => {
            spawn_local(async move {
                let of = name.clone();
                let zone = spawn_blocking(move || zone::read(&of)).await;
                core.handle(Input::Claims(ClaimsNews::Zone {
                    conn,
                    token,
                    name,
                    zone: zone.ok().flatten(),
                }));
            });
        }
    }
}

/// A URL resolver must answer at the start, unless the accounts of the last run are here.
///
/// spec: nats-server v2.15.1 server/server.go `NewServer`
///
/// # Errors
/// What the URL said.
pub(crate) async fn check_url(
    config: &Config,
    seed: &NodeSeed,
    contexts: &Contexts,
) -> Result<(), String> {
    let authority = frond_node::authority(config).map_err(|errors| errors.to_string())?;
    let Some(Resolver::Url(url)) = &authority.resolver else {
        return Ok(());
    };
    let slash = if url.ends_with('/') { "" } else { "/" };
    let scratch = &Scratch::new();
    let secrets = Secrets { contexts, scratch };
    match fetch::get(&format!("{url}{slash}"), secrets).await {
        Ok(_) => Ok(()),
        Err(why) if seed.jwts.is_empty() => Err(why),
        Err(why) => {
            tracing::warn!("{why}; accounts are those of the last run");
            Ok(())
        }
    }
}
