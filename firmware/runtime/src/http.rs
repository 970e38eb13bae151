//! Monitoring over HTTP: one request after another on each connection, and a bounded number of
//! connections of which a slow one never keeps another from its answer.

mod exchange;
mod peers;

use std::rc::Rc;

use tokio::net::TcpListener;

use crate::clock::pause;
use crate::core::Core;
use crate::limits::ACCEPT_PAUSE_MAX;
use peers::Peers;

/// Serves the monitoring documents until the task is aborted.
pub(crate) async fn serve(core: Rc<Core>, listener: TcpListener) {
    let peers = Rc::new(Peers::default());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let seat = Peers::seat(&peers, core.clock().now().mono);
                let number = seat.number();
                let core = Rc::clone(&core);
                let task = tokio::task::spawn_local(async move {
                    // A peer that leaves early is its own affair.
                    let _ = exchange::converse(&core, &seat, stream).await;
                });
                peers.carried_by(number, task.abort_handle());
            }
            Err(_) => pause(ACCEPT_PAUSE_MAX).await,
        }
    }
}
