use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::{Semaphore, oneshot};

use crate::limits::{HANDSHAKE_STEPS_AT_ONCE, SIDE_THREADS_NICE, THREAD_STACK_BYTES};

/// The thread that signs, beside the one that carries messages: a signature takes as long as
/// hundreds of messages. It is started for the first handshake, and nothing else waits for it or
/// is waited for by it: names that are looked up and passwords that are compared have threads of
/// their own.
#[derive(Debug)]
pub(crate) struct Signer {
    /// Whose step is done: each takes its turn along, so that what nobody waits for any more
    /// never piles up.
    turns: Arc<Semaphore>,
    jobs: RefCell<Option<Sender<Job>>>,
}

type Job = Box<dyn FnOnce() + Send>;

impl Signer {
    pub(crate) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(HANDSHAKE_STEPS_AT_ONCE)),
            jobs: RefCell::new(None),
        }
    }

    /// Has `work` done there, unless nobody waits for it by then.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let gone = |_| io::Error::other("the signing thread is gone");
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(io::Error::other)?;
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move || {
            if !answer.is_closed() {
                let _ = answer.send(work());
            }
            drop(turn);
        }))?;
        answered.await.map_err(gone)
    }

    fn send(&self, job: Job) -> io::Result<()> {
        let mut jobs = self.jobs.borrow_mut();
        let sender = match jobs.take() {
            Some(sender) => sender,
            None => start()?,
        };
        let sent = sender.send(job);
        *jobs = sent.is_ok().then_some(sender);
        sent.map_err(|_| io::Error::other("the signing thread is gone"))
    }
}

fn start() -> io::Result<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    thread::Builder::new()
        .name("sign".to_owned())
        .stack_size(THREAD_STACK_BYTES)
        .spawn(move || {
            // Linux counts it for each thread; who may not has a thread like any other.
            let _ = rustix::process::nice(SIDE_THREADS_NICE);
            for job in jobs {
                job();
            }
        })?;
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_nobody_waits_for_is_not_done() {
        let signer = Signer::new();
        assert_eq!(signer.run(|| 7).await.unwrap(), 7);
        let (go, wait) = channel::<()>();
        let done = Arc::new(AtomicUsize::new(0));
        let first = signer.run(move || wait.recv().is_ok());
        let count = || {
            let done = Arc::clone(&done);
            move || done.fetch_add(1, Ordering::Relaxed)
        };
        let (left, third) = (signer.run(count()), signer.run(count()));
        let mut left = Box::pin(left);
        let ask = async {
            tokio::select! {
                biased;
                _ = &mut left => unreachable!("the first holds its turn"),
                () = std::future::ready(()) => {}
            }
            drop(left);
            go.send(()).unwrap();
        };
        let (first, (), third) = tokio::join!(first, ask, third);
        assert!(first.unwrap());
        assert_eq!((third.unwrap(), done.load(Ordering::Relaxed)), (0, 1));
    }
}
