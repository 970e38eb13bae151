//! A stream must not feed itself.
//!
//! spec: nats-server v2.15.1 server/stream.go `checkStreamCfg`

use std::collections::{BTreeSet, VecDeque};

use frond_subject::overlaps;

use crate::errors::ApiError;
use crate::io::Tenant;
use crate::jetstream::JetStream;
use crate::stream::config::{StreamConfig, StreamSource};
use crate::stream::validate;

impl JetStream {
    /// Whether what a stream takes from streams of its account comes back to it.
    pub(super) fn check_cycle(
        &self,
        tenant: Tenant,
        config: &StreamConfig,
    ) -> Result<(), ApiError> {
        let is_near = |source: &&StreamSource| source.external.is_none();
        let mut found = BTreeSet::from([config.name.as_str()]);
        let (mut seen, mut next) = (BTreeSet::new(), VecDeque::from([config]));
        while let Some(stream) = next.pop_front() {
            seen.insert(stream.name.as_str());
            let feeds = |source: &StreamSource| {
                let filter = source.filter_subject.as_str();
                filter.is_empty() || stream.subjects.iter().any(|it| overlaps(it, filter))
            };
            let sources = stream.sources.iter().map(|source| (source, feeds(source)));
            let mirror = stream.mirror.iter().map(|mirror| (mirror, true));
            for (origin, feeds) in sources.chain(mirror).filter(|(origin, _)| is_near(origin)) {
                if seen.contains(origin.name.as_str()) {
                    if feeds {
                        return Err(validate::invalid("detected cycle"));
                    }
                } else if found.insert(origin.name.as_str()) {
                    let host = self.find_stream(tenant, &origin.name);
                    next.extend(host.map(|host| &host.stream.config));
                }
            }
        }
        Ok(())
    }
}
