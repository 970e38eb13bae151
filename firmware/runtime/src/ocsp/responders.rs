use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ask::{Answer, Method, ask};
use crate::fetch::Place;
use crate::limits::{OCSP_DOWN_TIME, OCSP_LATE_MAX, OCSP_RESPONDERS_MAX};

/// Responders that do not answer in time: after a few peers in a row that waited for one in vain
/// nobody else does for a while, and then one peer tries for all.
#[derive(Debug, Default)]
pub(crate) struct Responders(Mutex<Late>);

#[derive(Debug, Default)]
struct Late(BTreeMap<String, Standing>);

/// Of a responder that was late.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// How often in a row.
    late: u32,
    /// When it may be asked again.
    until: Instant,
}

impl Responders {
    /// Asks `url` within `timeout`, unless whoever is there does not answer these days.
    ///
    /// # Errors
    /// In Go's words, or that it is not asked.
    pub(super) fn ask(
        &self,
        url: &str,
        method: Method<'_>,
        timeout: Duration,
    ) -> Result<Answer, String> {
        let authority = Place::of(url)?.authority.to_owned();
        let began = Instant::now();
        if !self.with(|late| late.may_ask(&authority, began, timeout)) {
            return Err(format!(
                "responder {authority} did not answer in time to {OCSP_LATE_MAX} peers in a row: it is not asked for {} s",
                OCSP_DOWN_TIME.as_secs()
            ));
        }
        let answer = ask(url, method, timeout);
        let now = Instant::now();
        let is_late = answer.is_err() && now.duration_since(began) >= timeout;
        self.with(|late| late.heard(authority, now, is_late));
        answer
    }

    fn with<T>(&self, work: impl FnOnce(&mut Late) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Late {
    fn may_ask(&mut self, authority: &str, now: Instant, timeout: Duration) -> bool {
        let Some(standing) = self.0.get_mut(authority) else {
            return true;
        };
        if standing.late < OCSP_LATE_MAX {
            return true;
        }
        let is_over = now >= standing.until;
        if is_over {
            // The others wait for what this one finds.
            standing.until = now + timeout + OCSP_DOWN_TIME;
        }
        is_over
    }

    fn heard(&mut self, authority: String, now: Instant, is_late: bool) {
        if !is_late {
            self.0.remove(&authority);
            return;
        }
        if self.0.len() >= OCSP_RESPONDERS_MAX && !self.0.contains_key(&authority) {
            self.0.retain(|_, it| now < it.until);
            if self.0.len() >= OCSP_RESPONDERS_MAX {
                return;
            }
        }
        let until = now + OCSP_DOWN_TIME;
        let standing = self
            .0
            .entry(authority)
            .or_insert(Standing { late: 0, until });
        standing.late = standing.late.saturating_add(1);
        standing.until = until;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    #[test]
    fn after_a_few_late_answers_one_peer_tries_for_all() {
        let (mut late, now) = (Late::default(), Instant::now());
        for _ in 1..OCSP_LATE_MAX {
            late.heard("a".to_owned(), now, true);
        }
        assert!(late.may_ask("a", now, LIMIT));
        // One answer, whatever it says, and it starts from the beginning.
        late.heard("a".to_owned(), now, false);
        for _ in 0..OCSP_LATE_MAX {
            assert!(late.may_ask("a", now, LIMIT));
            late.heard("a".to_owned(), now, true);
        }
        assert!(!late.may_ask("a", now, LIMIT));
        assert!(late.may_ask("b", now, LIMIT));
        let later = now + OCSP_DOWN_TIME;
        assert!(late.may_ask("a", later, LIMIT));
        assert!(!late.may_ask("a", later, LIMIT));
        late.heard("a".to_owned(), later + LIMIT, true);
        assert!(!late.may_ask("a", later + LIMIT, LIMIT));
        let again = later + LIMIT + OCSP_DOWN_TIME;
        assert!(late.may_ask("a", again, LIMIT));
        late.heard("a".to_owned(), again, false);
        assert!(late.may_ask("a", again, LIMIT));
    }

    #[test]
    fn those_that_are_remembered_are_not_without_number() {
        let (mut late, now) = (Late::default(), Instant::now());
        for at in 0..2 * OCSP_RESPONDERS_MAX {
            late.heard(at.to_string(), now, true);
        }
        assert_eq!(late.0.len(), OCSP_RESPONDERS_MAX);
        late.heard("new".to_owned(), now + 2 * OCSP_DOWN_TIME, true);
        assert_eq!(late.0.len(), 1);
    }

    #[test]
    fn who_comes_after_those_does_not_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        let responders = Responders::default();
        let limit = Duration::from_millis(20);
        std::thread::scope(|scope| {
            for _ in 0..OCSP_LATE_MAX {
                scope.spawn(|| {
                    responders
                        .ask(&url, Method::Get, limit)
                        .map(|_| ())
                        .unwrap_err()
                });
            }
        });
        let why = responders.ask(&url, Method::Get, Duration::from_secs(3600));
        let why = why.map(|_| ()).unwrap_err();
        assert!(why.contains("is not asked"), "{why}");
        // One that says no at once is asked each time.
        drop(listener);
        let responders = Responders::default();
        for _ in 0..2 * OCSP_LATE_MAX {
            let why = responders.ask(&url, Method::Get, LIMIT).map(|_| ());
            assert!(why.unwrap_err().contains("connect"));
        }
    }
}
