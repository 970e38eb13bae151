//! Every key that nats-server knows, by block: what is read here and what is not built yet.

use crate::options::appliance::Part;

/// A block of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    Top,
    Authorization,
    User,
    Permissions,
    SubjectRules,
    AllowResponses,
    Account,
    AccountJetStream,
    AccountLimits,
    Export,
    Import,
    ImportSource,
    JetStream,
    JetStreamLimits,
    JetStreamBatch,
    LeafNodes,
    LeafAuthorization,
    LeafUser,
    Remote,
    RemoteProxy,
    Compression,
    Tls,
    WebSocket,
    WebSocketAuthorization,
    Callout,
    Proxies,
    Proxy,
    Appliance(Part),
    Fleet,
    Ota,
    OtaTrust,
    OtaKeys,
    OtaSource,
    Forward,
    ForwardTo,
    Cluster,
    Gateway,
    RemoteGateway,
}

impl Block {
    /// What is said of a key that is none of this block's; `key` is quoted.
    pub(crate) fn unknown(self, key: &str) -> String {
        match self {
            Self::Permissions | Self::AllowResponses => {
                format!("Unknown field {key} parsing permissions")
            }
            Self::SubjectRules => format!(
                "Unknown field name {key} parsing subject permissions, only 'allow' or 'deny' are \
                 permitted"
            ),
            Self::AccountLimits => format!("Unknown field {key} parsing account limits"),
            Self::Tls => format!("error parsing tls config, unknown field {key}"),
            Self::Callout => format!("Unknown field {key} parsing authorization callout"),
            Self::Top
            | Self::Authorization
            | Self::User
            | Self::Account
            | Self::AccountJetStream
            | Self::Export
            | Self::Import
            | Self::ImportSource
            | Self::JetStream
            | Self::JetStreamLimits
            | Self::JetStreamBatch
            | Self::LeafNodes
            | Self::LeafAuthorization
            | Self::LeafUser
            | Self::Remote
            | Self::RemoteProxy
            | Self::Compression
            | Self::WebSocket
            | Self::WebSocketAuthorization
            | Self::Proxies
            | Self::Proxy
            | Self::Appliance(_)
            | Self::Fleet
            | Self::Ota
            | Self::OtaTrust
            | Self::OtaKeys
            | Self::OtaSource
            | Self::Forward
            | Self::ForwardTo
            | Self::Cluster
            | Self::Gateway
            | Self::RemoteGateway => format!("unknown field {key}"),
        }
    }
}

/// Whether nats-server knows `key` (lower case) in `block` and it is not built here yet.
pub(crate) fn is_unsupported(block: Block, key: &str) -> bool {
    unsupported(block)
        .split_ascii_whitespace()
        .any(|known| known == key)
}

/// The keys that are read in `block`, with their aliases.
pub(crate) fn known(block: Block) -> impl Iterator<Item = &'static str> {
    let keys = match block {
        Block::Top => TOP,
        Block::Authorization => AUTHORIZATION,
        Block::User => USER,
        Block::Permissions => PERMISSIONS,
        Block::SubjectRules => SUBJECT_RULES,
        Block::AllowResponses => ALLOW_RESPONSES,
        Block::Account => ACCOUNT,
        Block::AccountJetStream => ACCOUNT_JETSTREAM,
        Block::AccountLimits => ACCOUNT_LIMITS,
        Block::Export => EXPORT,
        Block::Import => IMPORT,
        Block::ImportSource => IMPORT_SOURCE,
        Block::JetStream => JETSTREAM,
        Block::JetStreamLimits => JETSTREAM_LIMITS,
        Block::JetStreamBatch => JETSTREAM_BATCH,
        Block::LeafNodes => LEAF_NODES,
        Block::LeafAuthorization => LEAF_AUTHORIZATION,
        Block::LeafUser => LEAF_USER,
        Block::Remote => REMOTE,
        Block::RemoteProxy => REMOTE_PROXY,
        Block::Compression => COMPRESSION,
        Block::Tls => TLS,
        Block::WebSocket => WEBSOCKET,
        Block::WebSocketAuthorization => WEBSOCKET_AUTHORIZATION,
        Block::Callout => CALLOUT,
        Block::Proxies => PROXIES,
        Block::Proxy => PROXY,
        Block::Appliance(part) => part.keys(),
        Block::Fleet => FLEET,
        Block::Ota => OTA,
        Block::OtaTrust => OTA_TRUST,
        Block::OtaKeys => OTA_KEYS,
        Block::OtaSource => OTA_SOURCE,
        Block::Forward => FORWARD,
        Block::ForwardTo => FORWARD_TO,
        Block::Cluster => CLUSTER,
        Block::Gateway => GATEWAY,
        Block::RemoteGateway => REMOTE_GATEWAY,
    };
    keys.split_ascii_whitespace()
}

fn unsupported(block: Block) -> &'static str {
    match block {
        Block::Top => TOP_UNSUPPORTED,
        Block::JetStream => JETSTREAM_UNSUPPORTED,
        Block::LeafNodes => LEAF_NODES_UNSUPPORTED,
        Block::Authorization
        | Block::Account
        | Block::User
        | Block::Permissions
        | Block::SubjectRules
        | Block::AllowResponses
        | Block::AccountJetStream
        | Block::AccountLimits
        | Block::Export
        | Block::Import
        | Block::ImportSource
        | Block::JetStreamLimits
        | Block::JetStreamBatch
        | Block::LeafAuthorization
        | Block::LeafUser
        | Block::Remote
        | Block::RemoteProxy
        | Block::Compression
        | Block::WebSocket
        | Block::WebSocketAuthorization
        | Block::Callout
        | Block::Proxies
        | Block::Proxy
        | Block::Appliance(_)
        | Block::Fleet
        | Block::Ota
        | Block::OtaTrust
        | Block::OtaKeys
        | Block::OtaSource
        | Block::Forward
        | Block::ForwardTo
        | Block::Cluster
        | Block::Gateway
        | Block::RemoteGateway
        | Block::Tls => "",
    }
}

const TOP: &str = "\
    listen host net port client_advertise server_name server_tags server_metadata debug trace \
    trace_verbose trace_headers logtime logtime_utc logfile log_file logfile_size_limit syslog remote_syslog \
    log_size_limit logfile_max_num log_max_num max_traced_msg_len pidfile pid_file \
    ports_file_dir http http_port https https_port tls monitor_port http_base_path max_connections max_conn \
    max_subscriptions max_subs max_sub_tokens max_subscription_tokens max_control_line \
    max_payload max_pending max_connections_memory max_closed_clients ping_interval ping_max write_deadline \
    write_timeout lame_duck_duration lame_duck_grace_period no_header_support \
    no_fast_producer_stall disable_sublist_cache no_sublist_cache allow_non_tls \
    connect_error_reports reconnect_error_reports no_auth_user system_account system \
    no_system_account no_system no_sys_acc mappings maps default_js_domain store_dir storedir \
    authorization \
    accounts leaf leafnodes jetstream default_sentinel trusted trusted_keys operator operators \
    ocsp ocsp_cache roots root root_operators root_operator resolver account_resolver accounts_resolver \
    resolver_preload resolver_tls resolver_pinned_accounts websocket ws proxies feature_flags \
    prof_port prof_block_rate proxy_protocol cluster gateway ota appliance fleet forward";
const TOP_UNSUPPORTED: &str = "\
    mqtt";
const AUTHORIZATION: &str = "\
    user username pass password token timeout users default_permission default_permissions \
    permissions proxy_required auth_callout auth_hook";
const USER: &str = "\
    nkey user username pass password permission permissions authorization \
    allowed_connection_types connection_types clients proxy_required";
const PERMISSIONS: &str = "\
    pub publish import sub subscribe export publish_allow_responses allow_responses";
const SUBJECT_RULES: &str = "allow deny";
const ALLOW_RESPONSES: &str = "\
    max max_msgs max_messages max_responses expires expiration ttl";
const ACCOUNT: &str = "\
    nkey jetstream users default_permissions limits imports exports mappings maps msg_trace \
    trace_dest";
const EXPORT: &str = "\
    stream service response response_type threshold response_threshold response_max_time \
    response_time accounts latency account_token_position allow_trace";
const IMPORT: &str = "stream service prefix to share allow_trace";
const IMPORT_SOURCE: &str = "account subject";
const ACCOUNT_JETSTREAM: &str = "\
    max_memory max_mem mem memory max_store max_file max_disk store disk max_streams streams \
    max_consumers consumers max_bytes_required max_stream_bytes max_bytes mem_max_stream_bytes \
    memory_max_stream_bytes disk_max_stream_bytes store_max_stream_bytes max_ack_pending \
    cluster_traffic";
const ACCOUNT_LIMITS: &str = "\
    max_connections max_conn max_subscriptions max_subs max_payload max_pay max_leafnodes \
    max_leafs";
const JETSTREAM: &str = "\
    strict store store_dir storedir sync sync_interval max_memory_store max_mem_store max_mem \
    max_file_store max_file max_index_memory domain enable enabled limits unique_tag max_outstanding_catchup \
    max_buffered_size max_buffered_msgs request_queue_limit info_queue_limit meta_compact \
    meta_compact_size meta_compact_sync max_concurrent_io key ek encryption_key prev_key prev_ek \
    prev_encryption_key cipher";
const JETSTREAM_UNSUPPORTED: &str = "\
    extension_hint tpm";
const JETSTREAM_LIMITS: &str = "\
    max_ack_pending max_ha_assets max_request_batch duplicate_window batch \
    default_max_consumers";
const JETSTREAM_BATCH: &str = "\
    max_inflight_per_stream max_inflight_total max_msgs timeout";
const LEAF_NODES: &str = "\
    listen port host net authorization remotes reconnect reconnect_delay reconnect_interval \
    dial_timeout leafnode_advertise advertise no_advertise min_version minimum_version \
    compression isolate_leafnode_interest isolate write_deadline write_timeout tls";
const LEAF_NODES_UNSUPPORTED: &str = "";
const LEAF_AUTHORIZATION: &str = "\
    user username pass password nkey timeout users account proxy_required";
const LEAF_USER: &str = "user username pass password account proxy_required";
const REMOTE: &str = "\
    no_randomize dont_randomize url urls account local creds credentials nkey seed hub \
    deny_imports deny_import deny_exports deny_export isolate_leafnode_interest isolate \
    request_isolation compression first_info_timeout dial_timeout disabled \
    ignore_discovered_servers tls ws_compress ws_compression websocket_compress \
    websocket_compression ws_no_masking websocket_no_masking \
    jetstream_cluster_migrate js_cluster_migrate proxy";
const REMOTE_PROXY: &str = "url username password timeout tls";
const TLS: &str = "\
    cert_file key_file ca_file certs certificates insecure verify verify_and_map \
    verify_cert_and_check_known_urls allow_insecure_cipher_suites cipher_suites \
    curve_preferences timeout connection_rate_limit pinned_certs handshake_first first immediate \
    min_version minimum_version cert_store cert_match_by cert_match ca_certs_match \
    cert_match_skip_invalid ocsp_peer";
const WEBSOCKET: &str = "\
    listen port host net advertise no_tls tls same_origin allowed_origins allowed_origin \
    allow_origins allow_origin origins origin handshake_timeout compress compression \
    authorization authentication jwt_cookie user_cookie pass_cookie token_cookie no_auth_user \
    headers ping_interval";
const WEBSOCKET_AUTHORIZATION: &str = "user username pass password token timeout";
const CALLOUT: &str = "issuer account acc auth_users users xkey key allowed_accounts";
const PROXIES: &str = "trusted";
const PROXY: &str = "key public_key";
const FLEET: &str = "user account bucket registry rollouts silent confirm_key";
const FORWARD: &str = "name subjects to budget order live_first priority on_full max_bytes";
const FORWARD_TO: &str = "domain remote stream";
const OTA: &str = "\
    store second device groups window soak user password pass token nkey seed creds credentials trust \
    source";
const OTA_TRUST: &str = "version root release emergency hub";
const OTA_KEYS: &str = "threshold keys";
const OTA_SOURCE: &str = "bucket domain registry folder objects url ca_file every";
const CLUSTER: &str = "\
    name listen port host net authorization routes tls cluster_advertise advertise no_advertise \
    connect_retries connect_backoff permissions pool_size accounts compression ping_interval \
    ping_max write_deadline write_timeout";
const GATEWAY: &str = "\
    name listen port host net authorization tls advertise connect_retries connect_backoff \
    gateways reject_unknown reject_unknown_cluster write_deadline write_timeout";
const REMOTE_GATEWAY: &str = "name tls url urls";
const COMPRESSION: &str = "mode rtt_thresholds thresholds rtts rtt";

#[cfg(test)]
mod tests;
