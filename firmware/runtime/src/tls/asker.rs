use std::io;
use std::sync::Arc;
use std::thread;

use tokio::sync::{Semaphore, oneshot};

use crate::limits::{OCSP_HANDSHAKES_AT_ONCE, SIDE_THREADS_NICE, THREAD_STACK_BYTES};

/// Steps of handshakes that may wait for what others say of the peer: each has a thread of its
/// own, so that those that wait for nobody do not wait for it. Further ones wait for a turn.
#[derive(Debug)]
pub(crate) struct Asker(Arc<Semaphore>);

impl Default for Asker {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(OCSP_HANDSHAKES_AT_ONCE)))
    }
}

impl Asker {
    /// Has `work` done there, unless nobody waits for it by then.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let turn = Arc::clone(&self.0).acquire_owned().await;
        let turn = turn.map_err(io::Error::other)?;
        let (answer, answered) = oneshot::channel();
        thread::Builder::new()
            .name("ask".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || {
                let _ = rustix::process::nice(SIDE_THREADS_NICE);
                if !answer.is_closed() {
                    let _ = answer.send(work());
                }
                drop(turn);
            })?;
        answered.await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[tokio::test]
    async fn who_waits_for_nobody_does_not_wait_for_a_crowd_that_does() {
        let asker = Asker::default();
        let (go, wait) = channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let crowd = (0..OCSP_HANDSHAKES_AT_ONCE / 2).map(|_| {
            let wait = Arc::clone(&wait);
            let held = async {
                asker
                    .run(move || wait.lock().is_ok_and(|it| it.recv().is_ok()))
                    .await
            };
            Box::pin(held)
        });
        let mut crowd = crowd.collect::<Vec<_>>();
        let turns = Arc::clone(&asker.0);
        let all = async {
            for one in &mut crowd {
                tokio::select! {
                    biased;
                    _ = one => unreachable!("it waits"),
                    () = std::future::ready(()) => {}
                }
            }
        };
        all.await;
        assert!(turns.available_permits() > 0);
        assert_eq!(asker.run(|| 7).await.unwrap(), 7);
        drop(go);
        for one in crowd {
            assert!(!one.await.unwrap());
        }
    }
}
