//! The other servers of the system, as far as they tell of themselves.
//!
//! spec: nats-server v2.15.1 server/events.go `remoteServerUpdate`, `remoteServerShutdown`,
//! `checkRemoteServers`

use std::collections::BTreeMap;

use frond_clock::{Instant, Now};
use frond_wire::Message;

use crate::Node;
use crate::limits::{ORPHAN_AFTER, OTHER_SERVERS_MAX};

/// When each was last heard of, by its id.
#[derive(Debug, Default)]
pub(crate) struct Others(BTreeMap<Box<str>, Instant>);

impl Others {
    fn told(&mut self, now: Instant, id: &str) {
        if !self.0.contains_key(id) && self.0.len() >= OTHER_SERVERS_MAX {
            self.0.retain(|_, heard| is_recent(now, *heard));
            if self.0.len() >= OTHER_SERVERS_MAX {
                return;
            }
        }
        self.0.insert(id.into(), now);
    }

    fn left(&mut self, id: &str) {
        self.0.remove(id);
    }

    fn count(&self, now: Instant) -> usize {
        let heard = self.0.values();
        heard.filter(|heard| is_recent(now, **heard)).count()
    }
}

fn is_recent(now: Instant, heard: Instant) -> bool {
    now.since(heard) <= ORPHAN_AFTER
}

impl Node {
    /// A server tells its figures, or that it ends.
    pub(crate) fn hear_of_server(&mut self, now: Now, message: &Message<'_>) {
        let mut words = message.subject.split('.').skip(2);
        let (Some(id), Some(what)) = (words.next(), words.next()) else {
            return;
        };
        if id == self.facts().id {
            return;
        }
        if let Some(system) = &mut self.system {
            match what {
                "SHUTDOWN" => system.others.left(id),
                _ => system.others.told(now.mono, id),
            }
        }
    }

    /// Servers that are heard of, besides this one; `None`: it does not listen.
    pub(crate) fn servers_heard(&self, now: Now) -> Option<usize> {
        let system = self.system.as_ref()?;
        self.hears_of_servers()
            .then(|| system.others.count(now.mono))
    }

    /// Alone, or as somebody's leafnode, a server has nobody to listen for.
    pub(crate) fn hears_of_servers(&self) -> bool {
        let config = &self.config;
        config.cluster.listen.is_some() || config.gateway.listen.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_is_silent_for_long_or_says_goodbye_is_gone() {
        let start = Instant::from_nanos(5);
        let mut others = Others::default();
        others.told(start, "A");
        others.told(start + Duration::from_secs(60), "B");
        assert_eq!(others.count(start + ORPHAN_AFTER), 2);
        let later = start + ORPHAN_AFTER + Duration::from_secs(1);
        assert_eq!(others.count(later), 1);
        others.left("B");
        assert_eq!(others.count(later), 0);
    }

    #[test]
    fn no_more_are_kept_than_there_may_be() {
        let start = Instant::from_nanos(5);
        let mut others = Others::default();
        for number in 0..OTHER_SERVERS_MAX + 5 {
            others.told(start, &number.to_string());
        }
        assert_eq!(others.count(start), OTHER_SERVERS_MAX);
        others.told(start + ORPHAN_AFTER * 2, "late");
        assert_eq!(others.0.len(), 1);
    }
}
