//! `STREAM.CREATE`, `INFO`, `LIST`, `NAMES`, `DELETE`.

use frond_ledger::{Record, StreamId};
use frond_subject::{Tree, matches};
use serde::Serialize;

use super::answer;
use super::info::{Shown, StreamInfo};
use super::json::{flexible_object, request};
use super::pages::PageRequest;
use super::{Call, Key, Outcome};
use crate::actions::Action;
use crate::errors::{self, ApiError};
use crate::host::{Host, Presence};
use crate::io::{Reach, Tenant};
use crate::jetstream::JetStream;
use crate::limits::{DELETED_TOLD_MAX, LIST_PAGE_MAX, NAMES_PAGE_MAX, SUBJECTS_PAGE_MAX};
use crate::pending::{Change, Pending, What};
use crate::scarcity::Scarcity;
use crate::stream::Stream;
use crate::stream::config::StreamConfig;
use crate::stream::decode::stream_config;
use crate::stream::{recover, validate};

#[derive(Serialize)]
struct Names {
    total: usize,
    offset: usize,
    limit: usize,
    /// `null` when there are none, as Go writes it.
    streams: Option<Vec<Box<str>>>,
}

#[derive(Serialize)]
struct List {
    total: usize,
    offset: usize,
    limit: usize,
    streams: Vec<StreamInfo>,
}

#[derive(Serialize)]
struct Paged {
    total: usize,
    offset: usize,
    limit: usize,
    #[serde(flatten)]
    info: StreamInfo,
}

#[derive(Debug, Default)]
struct InfoRequest {
    offset: usize,
    deleted_details: bool,
    subjects_filter: String,
}

impl JetStream {
    pub(super) fn stream_create(&mut self, call: &Call, name: &str, reach: &dyn Reach) -> Outcome {
        let asked = stream_config(call.body(), self.facts.strict)?;
        let mut config = asked.config;
        if config.name != name {
            return Err(errors::STREAM_MISMATCH);
        }
        if name.contains(['\\', '/']) {
            return Err(errors::STREAM_NAME_CONTAINS_PATH_SEPARATORS);
        }
        if config.sealed {
            return Err(validate::invalid(
                "stream configuration for create can not be sealed",
            ));
        }
        if config.mirror_direct && config.mirror.is_none() {
            return Err(validate::invalid(
                "stream has no mirror but does have mirror direct",
            ));
        }
        self.check_count(call.tenant, None, &config)?;
        self.bound_window(&mut config, asked.pedantic)?;
        validate::normalise(&mut config, asked.pedantic)?;
        self.inherit(call.tenant, &mut config, asked.pedantic)?;
        self.check_size(call.tenant, &config)?;
        validate::copies(&config)?;
        if let Some(host) = self.find_stream(call.tenant, name) {
            if host.stream.config != config {
                return Err(errors::STREAM_NAME_EXIST);
            }
            return Ok(Some(self.created(host.id())));
        }
        if self.is_name_taken(call.tenant, name) {
            return Err(errors::STREAM_NAME_EXIST);
        }
        self.check_room(call.tenant, None, &config)?;
        self.check_overlap(call.tenant, name, &config)?;
        self.create_stream(call, config, reach)
    }

    pub(super) fn stream_names(&self, call: &Call) -> Outcome {
        let of = "JSApiStreamNamesRequest";
        let asked = PageRequest::parse(call.body(), of, self.facts.strict)?;
        let hosts = self.hosts_of(call.tenant).map(|host| &host.stream.config);
        let wanted = hosts.filter(|config| asked.names(config));
        let all: Vec<Box<str>> = wanted.map(|config| config.name.as_str().into()).collect();
        let (total, offset, names) = asked.cut(all, NAMES_PAGE_MAX);
        let streams = (!names.is_empty()).then_some(names);
        let page = Names {
            total,
            offset,
            limit: NAMES_PAGE_MAX,
            streams,
        };
        Ok(Some(answer::success("stream_names_response", &page)))
    }

    pub(super) fn stream_list(&self, call: &Call) -> Outcome {
        let of = "JSApiStreamListRequest";
        let asked = PageRequest::parse(call.body(), of, self.facts.strict)?;
        let hosts = self.hosts_of(call.tenant);
        let all: Vec<&Host> = hosts
            .filter(|host| asked.names(&host.stream.config))
            .collect();
        let (total, offset, hosts) = asked.cut(all, LIST_PAGE_MAX);
        let streams = hosts
            .into_iter()
            .map(|h| self.describe(h, Shown::Listed))
            .collect();
        let page = List {
            total,
            offset,
            limit: LIST_PAGE_MAX,
            streams,
        };
        Ok(Some(answer::success("stream_list_response", &page)))
    }

    pub(super) fn stream_info(&self, call: &Call, name: &str) -> Outcome {
        let mut asked = InfoRequest::default();
        let body = flexible_object(call.body());
        let of = "JSApiStreamInfoRequest";
        request(body, of, self.facts.strict, |name, field| {
            match name {
                "offset" => asked.offset = usize::try_from(field.int64("int")?).unwrap_or(0),
                "deleted_details" => asked.deleted_details = field.bool()?,
                "subjects_filter" => asked.subjects_filter = field.string()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let host = self
            .find_stream(call.tenant, name)
            .ok_or(errors::STREAM_NOT_FOUND)?;
        let mut paged = Paged {
            total: 0,
            offset: 0,
            limit: 0,
            info: self.describe(host, Shown::Asked),
        };
        if asked.deleted_details {
            paged.info.state.deleted = gaps(host);
        }
        if !asked.subjects_filter.is_empty() {
            page_of_subjects(host, &asked, &mut paged);
        }
        Ok(Some(answer::success("stream_info_response", &paged)))
    }

    pub(super) fn stream_delete(&mut self, call: &Call, name: &str, reach: &dyn Reach) -> Outcome {
        if !is_empty(call.body()) {
            return Err(errors::NOT_EMPTY_REQUEST);
        }
        let host = self
            .find_stream(call.tenant, name)
            .ok_or(errors::STREAM_NOT_FOUND)?;
        let id = host.id();
        let group = host.stream.group();
        let is_memory = host.stream.is_memory();
        let change = self.change(call, id, What::DeleteStream, name, "");
        if is_memory {
            self.changed(change, reach);
            return Ok(None);
        }
        let records = vec![Record::Stream {
            stream: id,
            meta: None,
        }];
        self.propose_change(group, records, change)?;
        if let Some(host) = self.hosts.get_mut(&id) {
            host.presence = Presence::Leaving;
        }
        Ok(None)
    }

    /// The stream of this name that everybody sees.
    pub(crate) fn find_stream(&self, tenant: Tenant, name: &str) -> Option<&Host> {
        let id = self.accounts.get(&tenant)?.by_name.get(name)?;
        self.hosts.get(id).filter(|host| host.is_here())
    }

    /// The answer to a create call.
    pub(crate) fn created(&self, id: StreamId) -> Vec<u8> {
        let Some(host) = self.hosts.get(&id) else {
            return answer::failure("stream_create_response", &errors::STREAM_NOT_FOUND);
        };
        let mut info = self.describe(host, Shown::Created);
        info.did_create = true;
        answer::success("stream_create_response", &info)
    }

    /// A change, its stream or consumer locked until it is over.
    pub(crate) fn change(
        &mut self,
        call: &Call,
        stream: StreamId,
        what: What,
        name: &str,
        consumer: &str,
    ) -> Change {
        let lock: Key = (call.tenant, name.into(), consumer.into());
        self.locks.hold(lock.clone());
        Change {
            call: call.clone(),
            stream,
            what,
            lock,
        }
    }

    /// Proposes a change; it is answered when it is kept.
    pub(super) fn propose_change(
        &mut self,
        group: crate::replicator::GroupId,
        records: Vec<Record>,
        change: Change,
    ) -> Outcome {
        let lock = change.lock.clone();
        let pending = Pending::Change(Box::new(change));
        match self.journal.propose(self.now, group, records, pending) {
            Ok(()) => Ok(None),
            Err(_) => {
                self.locks.release(&lock);
                Err(errors::CLUSTER_NOT_LEADER)
            }
        }
    }

    /// Whether another stream of the account listens on one of the subjects.
    pub(crate) fn check_overlap(
        &self,
        tenant: Tenant,
        name: &str,
        config: &StreamConfig,
    ) -> Result<(), ApiError> {
        let hosts = self
            .hosts
            .values()
            .filter(|host| host.stream.tenant == tenant && host.presence != Presence::Leaving);
        let mut others = hosts
            .filter(|host| host.stream.config.name != name)
            .flat_map(|host| &host.stream.config.subjects);
        let mut own = Tree::new();
        for subject in &config.subjects {
            own.insert(subject, ());
        }
        if others.any(|theirs| own.has_overlap(theirs)) {
            return Err(errors::STREAM_SUBJECT_OVERLAP);
        }
        Ok(())
    }

    fn create_stream(&mut self, call: &Call, config: StreamConfig, reach: &dyn Reach) -> Outcome {
        if self.scarcity_of_all() == Scarcity::Messages {
            return Err(errors::INSUFFICIENT_RESOURCES);
        }
        let name = config.name.clone();
        self.ids.stream += 1;
        let id = StreamId(self.ids.stream);
        let account = self
            .accounts
            .get_mut(&call.tenant)
            .ok_or(errors::NO_ACCOUNT)?;
        account.by_name.insert(name.as_str().into(), id);
        let meta = recover::encode(&account.name, self.now.wall, &config);
        let owner = account.name.clone();
        let stream = Stream::new(id, call.tenant, config, self.now.wall);
        let (group, is_memory) = (stream.group(), stream.is_memory());
        let first = stream.contents.first();
        let presence = if is_memory {
            Presence::Here
        } else {
            Presence::Coming
        };
        let host = Host::new(stream, &owner, presence, self.facts.domain.as_deref());
        self.hosts.insert(id, host);
        self.count_index(id);
        if is_memory {
            self.listen_for_stream(id);
            self.tell_of(id, None, Action::Created, reach);
            return Ok(Some(self.created(id)));
        }
        let mut records = vec![Record::Stream {
            stream: id,
            meta: Some(meta),
        }];
        if first > 1 {
            records.push(Record::Floor {
                stream: id,
                first,
                last: first - 1,
            });
        }
        let change = self.change(call, id, What::CreateStream, &name, "");
        self.propose_change(group, records, change)
    }
}

/// Whether a body that should be empty is: nothing, or an object without members.
pub(crate) fn is_empty(body: &[u8]) -> bool {
    let text = body.trim_ascii();
    let inner = text
        .strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"));
    body.is_empty() || inner.is_some_and(|inner| inner.trim_ascii().is_empty())
}

/// Sequences between the first and the last that are not there.
fn gaps(host: &Host) -> Vec<u64> {
    let contents = &host.stream.contents;
    let mut gaps = Vec::new();
    let mut next = contents.first();
    for (seq, _) in contents.from(0) {
        let free = DELETED_TOLD_MAX - gaps.len();
        gaps.extend((next..seq).take(free));
        next = seq + 1;
    }
    let free = DELETED_TOLD_MAX - gaps.len();
    gaps.extend((next..=contents.last()).take(free));
    gaps
}

fn page_of_subjects(host: &Host, asked: &InfoRequest, paged: &mut Paged) {
    let subjects = host.stream.contents.subjects().iter();
    let mut all: Vec<_> = subjects
        .filter(|s| matches(&asked.subjects_filter, s.name))
        .map(|subject| (subject.name, subject.count))
        .collect();
    if all.is_empty() {
        return;
    }
    paged.total = all.len();
    paged.offset = asked.offset;
    paged.limit = SUBJECTS_PAGE_MAX;
    let passed = asked.offset.min(all.len());
    // Only what is told is put in order.
    let mut page = all.as_mut_slice();
    if passed > 0 {
        page = page.select_nth_unstable(passed - 1).2;
    }
    if page.len() > SUBJECTS_PAGE_MAX {
        page = page.select_nth_unstable(SUBJECTS_PAGE_MAX).0;
    }
    page.sort_unstable();
    let page = page.iter().map(|(name, count)| ((*name).into(), *count));
    paged.info.state.subjects = page.collect();
}
