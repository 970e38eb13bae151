use frond_account::AccountId;
use frond_config::Sync;
use frond_jetstream::{AccountView, StreamView};
use frond_node::{StreamsView, View};
use frond_wire::go_json;

use crate::jetstream::{
    JetStream, JetStreamApiStats, JetStreamConfig, JsAccount, JsLimitOpts, JsStream,
};
use crate::raw::Object;
use crate::text::nanos;
use crate::varz::JetStreamVarz;

/// How far to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Accounts,
    Streams,
}

/// JetStream and its accounts, when it is on.
pub(crate) fn jetstream(view: &View<'_>, depth: Depth) -> Option<JetStream> {
    let streams = view.streams?;
    let machine = streams.machine.view();
    let accounts = machine.accounts().map(|account| {
        let found = match depth {
            Depth::Accounts => Vec::new(),
            Depth::Streams => machine
                .streams(account.tenant)
                .map(|it| stream(&it))
                .collect(),
        };
        let id = AccountId(account.tenant.0);
        row(&account, view.broker.directory().name_tag(id), found)
    });
    Some(JetStream {
        config: config(view, &streams),
        limits: limits(view),
        accounts: accounts.collect(),
        reports: machine.reports().iter().map(ToString::to_string).collect(),
    })
}

/// What `/varz` shows of it.
pub(crate) fn jetstream_varz(view: &View<'_>) -> JetStreamVarz {
    jetstream(view, Depth::Accounts).map_or_else(JetStreamVarz::default, |it| JetStreamVarz {
        stats: Some(it.stats()),
        config: Some(it.config),
        limits: Some(it.limits),
    })
}

/// spec: nats-server v2.15.1 server/filestore.go `defaultSyncInterval`
const SYNC_INTERVAL_DEFAULT_NS: u64 = 120_000_000_000;

/// spec: nats-server v2.15.1, `jetstream.limits.default_max_consumers`
const CONSUMERS_MAX_DEFAULT: u64 = 1000;

fn config(view: &View<'_>, streams: &StreamsView<'_>) -> JetStreamConfig {
    let options = &view.config.jetstream;
    // Whatever the file says, an ack follows the sync.
    let sync_interval = match options.sync {
        Sync::Always => SYNC_INTERVAL_DEFAULT_NS,
        Sync::Every(interval) => nanos(interval),
    };
    JetStreamConfig {
        max_memory: streams.limits.memory_bytes_max,
        max_storage: streams.limits.file_bytes_max,
        store_dir: streams.limits.dir.clone(),
        sync_interval,
        sync_always: true,
        domain: options.domain.clone().unwrap_or_default(),
        compress_ok: true,
        unique_tag: options.unique_tag.clone().unwrap_or_default(),
        strict: options.strict,
    }
}

fn limits(view: &View<'_>) -> JsLimitOpts {
    let limits = &view.config.jetstream.limits;
    JsLimitOpts {
        max_request_batch: limits.max_request_batch.unwrap_or_default(),
        max_ack_pending: limits.max_ack_pending.unwrap_or_default(),
        max_ha_assets: limits.max_ha_assets.unwrap_or_default(),
        max_duplicate_window: limits.duplicates.map(nanos).unwrap_or_default(),
        default_max_consumers: limits
            .default_max_consumers
            .unwrap_or(CONSUMERS_MAX_DEFAULT),
    }
}

fn row(account: &AccountView<'_>, tag: &str, streams: Vec<JsStream>) -> JsAccount {
    JsAccount {
        name: account.name.to_owned(),
        name_tag: tag.to_owned(),
        memory: account.usage.memory,
        storage: account.usage.storage,
        reserved_memory: account.reserved.memory,
        reserved_storage: account.reserved.storage,
        memory_max: account.limits.max_memory,
        storage_max: account.limits.max_storage,
        api: JetStreamApiStats {
            level: 0,
            total: account.api.total,
            errors: account.api.errors,
        },
        streams,
    }
}

fn stream(stream: &StreamView<'_>) -> JsStream {
    JsStream {
        name: stream.config.name.clone(),
        created: stream.created,
        config: Object::read(&go_json::to_vec(stream.config)),
        messages: stream.messages,
        bytes: stream.bytes,
        first_seq: stream.first_seq,
        last_seq: stream.last_seq,
        first_time: stream.first_time,
        last_time: stream.last_time,
        subjects: stream.subjects,
        deleted: stream.deleted,
        consumers: objects(&stream.consumers),
        direct_consumers: objects(&stream.direct_consumers),
        mirror: stream.mirror.as_deref().map(Object::read),
        // The document does not tell how far they are.
        sources: objects(&stream.sources)
            .into_iter()
            .map(|source| source.without("seq"))
            .collect(),
        fault: stream.fault.map(str::to_owned),
        lost: stream.lost,
    }
}

fn objects(json: &[Vec<u8>]) -> Vec<Object> {
    json.iter().map(|json| Object::read(json)).collect()
}
