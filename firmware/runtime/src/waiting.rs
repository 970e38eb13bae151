use std::cell::RefCell;
use std::collections::VecDeque;

use tokio::task::AbortHandle;

use crate::limits::UPGRADES_MAX;

/// Peers on their way in that nobody knows yet, oldest first, each a task that lets it in.
#[derive(Debug, Default)]
pub(crate) struct Waiting(RefCell<VecDeque<AbortHandle>>);

impl Waiting {
    /// One more is on its way in; of too many the oldest is let go.
    pub(crate) fn add(&self, one: AbortHandle) {
        let mut waiting = self.0.borrow_mut();
        if waiting.len() >= UPGRADES_MAX {
            waiting.retain(|one| !one.is_finished());
        }
        if waiting.len() >= UPGRADES_MAX
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.abort();
        }
        waiting.push_back(one);
    }

    /// Lets the oldest `count` go.
    pub(crate) fn shed(&self, count: usize) {
        let mut waiting = self.0.borrow_mut();
        waiting.retain(|one| !one.is_finished());
        let count = count.min(waiting.len());
        for one in waiting.drain(..count) {
            one.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_too_many_the_oldest_goes() {
        let waiting = Waiting::default();
        let mut tasks: Vec<_> = (0..UPGRADES_MAX + 3)
            .map(|_| tokio::spawn(std::future::pending::<()>()))
            .collect();
        for task in &tasks {
            waiting.add(task.abort_handle());
        }
        for task in tasks.drain(..3) {
            assert!(task.await.unwrap_err().is_cancelled());
        }
        assert!(tasks.iter().all(|task| !task.is_finished()));
        assert_eq!(waiting.0.borrow().len(), UPGRADES_MAX);
    }
}
