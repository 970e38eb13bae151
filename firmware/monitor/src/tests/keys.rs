//! Each document has the keys that nats-server's has, in that order.
//!
//! The lists are those of nats-server v2.15.1: `?` marks what Go's `omitempty` leaves out, `~`
//! what belongs to things that are not built here, `!` what is never left out although Go could.

use std::collections::BTreeMap;

use frond_clock::Timestamp;
use frond_wire::go_json;
use serde::Serialize;

use super::samples::{account, at, client, jetstream, leaf, server, subscription, traffic};
use crate::process::{DiskCounts, Process};
use crate::query::Query;
use crate::raw::Object;
use crate::{accountz, accstatz, connz, gatewayz, healthz, jsz, leafz, routez, subsz, varz};

/// A document, or the part of it that members and places in lists lead to.
fn part(document: &impl Serialize, path: &[&str]) -> Object {
    path.iter()
        .fold(Object::read(&go_json::to_vec(document)), |object, name| {
            let member = object
                .member(name)
                .unwrap_or_else(|| panic!("no {name}"))
                .get();
            let first = serde_json::from_str::<Vec<Object>>(member);
            first.map_or_else(|_| Object::read(member.as_bytes()), |list| list[0].clone())
        })
}

/// Compares both with the list: `full` has everything, `least` nothing that can be left out.
fn assert_keys(list: &str, full: &Object, least: &Object) {
    let built: Vec<_> = list
        .split_whitespace()
        .filter(|key| !key.ends_with('~'))
        .collect();
    let all: Vec<_> = built
        .iter()
        .map(|key| key.trim_end_matches(['?', '!']))
        .collect();
    assert_eq!(full.keys(), all);
    let needed: Vec<_> = built.iter().filter(|key| !key.ends_with('?')).collect();
    let needed: Vec<_> = needed.iter().map(|key| key.trim_end_matches('!')).collect();
    assert_eq!(least.keys(), needed);
}

const VARZ: &str = "server_id server_name version proto git_commit~ go host port auth_required? \
    tls_required? tls_verify? tls_ocsp_peer_verify? ip~ connect_urls~ ws_connect_urls~ \
    max_connections max_subscriptions? ping_interval ping_max http_host http_port http_base_path \
    https_port auth_timeout max_control_line max_payload max_pending cluster! gateway! leaf! \
    mqtt! websocket! jetstream! tls_timeout write_deadline write_timeout? start now uptime mem \
    cores gomaxprocs gomemlimit~ cpu connections total_connections routes remotes leafnodes \
    in_msgs in_bytes in_client_msgs in_client_bytes out_msgs out_bytes out_client_msgs \
    out_client_bytes slow_consumers stale_connections stalled_clients subscriptions \
    http_req_stats config_load_time config_digest tags? metadata? feature_flags \
    trusted_operators_jwt~ trusted_operators_claim~ system_account? pinned_account_fails? \
    ocsp_peer_cache? slow_consumer_stats stale_connection_stats! disk_io_wait_stats proxies? \
    tls_cert_not_after? frond";

const CLUSTER: &str = "name? addr? cluster_port? auth_timeout? urls? tls_timeout? tls_required? \
    tls_verify? pool_size? write_deadline? write_timeout? tls_cert_not_after?";
const GATEWAY: &str = "name? host? port? auth_timeout? tls_timeout? tls_required? tls_verify? \
    advertise? connect_retries? gateways? reject_unknown? write_deadline? write_timeout? \
    tls_cert_not_after?";

fn full_cluster() -> varz::ClusterOptsVarz {
    varz::ClusterOptsVarz {
        name: "C".into(),
        addr: "0.0.0.0".into(),
        cluster_port: 6222,
        auth_timeout: 2.0,
        urls: vec!["b:6222".into()],
        tls_timeout: 2.0,
        tls_required: true,
        tls_verify: true,
        pool_size: 3,
        write_deadline: 1,
        write_timeout: "retry",
        tls_cert_not_after: None,
    }
}

fn full_gateway() -> varz::GatewayOptsVarz {
    varz::GatewayOptsVarz {
        name: "C".into(),
        host: "0.0.0.0".into(),
        port: 7222,
        auth_timeout: 2.0,
        tls_timeout: 2.0,
        tls_required: true,
        tls_verify: true,
        advertise: "b:7222".into(),
        connect_retries: 1,
        gateways: vec![varz::RemoteGatewayOptsVarz::default()],
        reject_unknown: true,
        write_deadline: 1,
        write_timeout: "retry",
        tls_cert_not_after: None,
    }
}

fn full_facts() -> varz::Facts {
    let deny = varz::DenyRules {
        exports: vec!["a".into()],
        imports: vec!["b".into()],
    };
    let remote = varz::RemoteLeafOptsVarz {
        local_account: "A".into(),
        urls: vec!["hub:7422".into()],
        deny: Some(deny),
        tls_timeout: 2.0,
        tls_ocsp_peer_verify: true,
    };
    varz::Facts {
        settings: varz::Settings {
            auth_required: true,
            tls_required: true,
            tls_verify: true,
            tls_ocsp_peer_verify: true,
            max_subscriptions: 1,
            ..varz::Settings::default()
        },
        cluster: full_cluster(),
        gateway: full_gateway(),
        leaf: varz::LeafNodeOptsVarz {
            host: "0.0.0.0".into(),
            port: 7422,
            auth_timeout: 2.0,
            tls_timeout: 2.0,
            tls_required: true,
            tls_verify: true,
            tls_cert_not_after: None,
            remotes: vec![remote],
            tls_ocsp_peer_verify: true,
        },
        websocket: varz::WebsocketOptsVarz {
            host: "0.0.0.0".into(),
            port: 443,
            advertise: "shop:443".into(),
            no_auth_user: "a".into(),
            jwt_cookie: "jwt".into(),
            handshake_timeout: 1,
            auth_timeout: 2.0,
            no_tls: true,
            tls_map: true,
            tls_pinned_certs: vec!["00".into()],
            same_origin: true,
            allowed_origins: vec!["https://a".into()],
            compression: true,
            tls_ocsp_peer_verify: true,
            tls_cert_not_after: None,
        },
        start: at(0),
        tags: vec!["t".into()],
        metadata: BTreeMap::from([("k".into(), "v".into())]),
        proxies: Some(varz::ProxiesOptsVarz::default()),
        system_account: "$SYS".into(),
        tls_timeout: 2.0,
        write_timeout: "retry",
        ..varz::Facts::default()
    }
}

const fn ends(end: Option<Timestamp>) -> crate::CertEnds {
    crate::CertEnds {
        client: end,
        leaf: end,
        cluster: end,
        gateway: end,
        websocket: end,
    }
}

const OWN: &str = "connections_memory max_connections_memory connections_crowded_out \
    refused_for_memory strangers_shed index_memory max_index_memory syncs? journal_bytes? frames? checkpoints? \
    unfolded_bytes? messages? scrub_passes? scrub_bytes? scrub_damaged? scrubbed_at? forwards?";

#[test]
fn varz_has_its_keys() {
    let stats = BTreeMap::from([("/varz".to_owned(), 1)]);
    let forwards = [frond_forward::Status::default()];
    let process = |disk: Option<DiskCounts>| Process {
        resident_bytes: 1,
        cpu_percent: 0.5,
        cores: 2,
        http_req_stats: &stats,
        disk,
        config_loaded: at(0),
        config_digest: "",
        certs: ends(disk.map(|_| at(0))),
        ocsp_cache: disk.map(|_| crate::OcspCacheStats::default()),
        trust: frond_clock::Trust::Trusted,
        threads: Vec::new,
        sensors: &[],
        troubles: &[],
        forwards: forwards.get(usize::from(disk.is_none())..).unwrap_or(&[]),
        configuration: None,
    };
    let it = jetstream(&["A"]);
    let on = varz::JetStreamVarz {
        stats: Some(it.stats()),
        config: Some(it.config),
        limits: Some(it.limits),
    };
    let counts = varz::Counts::default();
    let (rich, poor) = (process(Some(DiskCounts::default())), process(None));
    let mut some = counts;
    some.totals.unpinned = 1;
    let full = varz::document(&server(), full_facts(), on, &some, &rich);
    let least = varz::document(
        &server(),
        varz::Facts::default(),
        varz::JetStreamVarz::default(),
        &counts,
        &poor,
    );
    let assert_part = |list: &str, path: &[&str], least: &Object| {
        assert_keys(list, &part(&full, path), least);
    };
    let none = Object::default();
    assert_part(VARZ, &[], &part(&least, &[]));
    let leaf = "host? port? auth_timeout? tls_timeout? tls_required? tls_verify? remotes? \
        tls_ocsp_peer_verify? write_deadline~ write_timeout~ tls_cert_not_after?";
    assert_part(leaf, &["leaf"], &part(&least, &["leaf"]));
    let websocket = "host? port? advertise? no_auth_user? jwt_cookie? handshake_timeout? \
        auth_timeout? no_tls? tls_map? tls_pinned_certs? same_origin? allowed_origins? \
        compression? tls_ocsp_peer_verify? tls_cert_not_after?";
    assert_part(websocket, &["websocket"], &part(&least, &["websocket"]));
    let remote = "local_account? tls_timeout? urls? deny? tls_ocsp_peer_verify?";
    assert_part(remote, &["leaf", "remotes"], &none);
    assert_part("exports? imports?", &["leaf", "remotes", "deny"], &none);
    let jetstream = "config? stats? meta~ limits?";
    assert_part(jetstream, &["jetstream"], &part(&least, &["jetstream"]));
    let by_kind = "clients routes gateways leafs";
    for stats in ["slow_consumer_stats", "stale_connection_stats"] {
        assert_part(by_kind, &[stats], &part(&least, &[stats]));
    }
    let waits = "waiters waits wait_time max_wait_time";
    assert_part(
        waits,
        &["disk_io_wait_stats"],
        &part(&least, &["disk_io_wait_stats"]),
    );
    assert_part(OWN, &["frond"], &part(&least, &["frond"]));
    assert!(part(&full, &["mqtt"]).keys().is_empty());
    assert_part(CLUSTER, &["cluster"], &part(&least, &["cluster"]));
    assert_part(GATEWAY, &["gateway"], &part(&least, &["gateway"]));
}

#[test]
fn jsz_has_its_keys() {
    let document = |query: &str, on| {
        let options = jsz::Options::read(&Query::parse(query)).unwrap();
        jsz::document(&server(), &options, on).unwrap()
    };
    let full = document("consumers=1&config=1&raft=1", Some(jetstream(&["A"])));
    let mut on = jetstream(&["A"]);
    on.accounts[0].streams[0].consumers.clear();
    on.accounts[0].streams[0].subjects = 0;
    on.accounts[0].streams[0].deleted = 0;
    let bare = document("streams=1", Some(on));
    let account = "name id memory storage reserved_memory reserved_storage accounts ha_assets \
        api stream_detail?";
    let least = part(
        &document("accounts=1", Some(jetstream(&["A"]))),
        &["account_details"],
    );
    assert_keys(account, &part(&full, &["account_details"]), &least);
    let jsz = "memory storage reserved_memory reserved_storage accounts ha_assets api server_id \
        now config! limits? streams streams_leader? consumers consumers_leader? messages bytes \
        meta_cluster~ account_details? total";
    let off = part(&document("", None), &[]);
    assert!(off.member("disabled").is_some());
    assert_keys(jsz, &part(&full, &[]), &off.without("disabled"));
    let stream = ["account_details", "stream_detail"];
    let detail = "name created cluster! config? state! consumer_detail? direct_consumer_detail~ \
        mirror~ sources~ stream_raft_group~ consumer_raft_groups~";
    assert_keys(detail, &part(&full, &stream), &part(&bare, &stream));
    let state = ["account_details", "stream_detail", "state"];
    let keys = "messages bytes first_seq first_ts last_seq last_ts num_subjects? subjects~ \
        num_deleted? deleted~ lost~ consumer_count";
    assert_keys(keys, &part(&full, &state), &part(&bare, &state));
    let config = "max_memory max_storage store_dir? sync_interval? sync_always? domain? \
        compress_ok? unique_tag? strict?";
    let least = part(&document("", None), &["config"]);
    assert_keys(config, &part(&full, &["config"]), &least);
    let api = "level total errors inflight~";
    assert_keys(api, &part(&full, &["api"]), &part(&bare, &["api"]));
}

const CONN_INFO: &str = "cid kind! type? ip port start last_activity stop? reason? rtt! uptime \
    idle pending_bytes in_msgs out_msgs in_bytes out_bytes stalls? subscriptions name? lang? \
    version? tls_version? tls_cipher_suite? tls_peer_certs? tls_first? authorized_user? account? \
    subscriptions_list? jwt? issuer_key? name_tag? tags? mqtt_client~ proxy~";

#[test]
fn connz_has_its_keys() {
    let document = |query: &str, rows| {
        let options = connz::Options::read(&Query::parse(query)).unwrap();
        connz::document(&server(), &options, |_| true, rows, Vec::new())
    };
    let gone = crate::rows::Connection {
        end: Some((at(9), "Client Closed".into())),
        ..client(1)
    };
    let full = document("subs=1&auth=1", vec![gone.clone()]);
    let bare = crate::rows::Connection {
        peer: crate::rows::Peer::Leafnode,
        ..crate::rows::Connection::default()
    };
    let least = document("", vec![bare]);
    let connz = "server_id now num_connections total offset limit connections";
    assert_keys(connz, &part(&full, &[]), &part(&least, &[]));
    assert_keys(
        CONN_INFO,
        &part(&full, &["connections"]),
        &part(&least, &["connections"]),
    );
    let detailed = document("subs=detail", vec![gone]);
    // Who is gone is told with the account, who is there is not.
    let sub = "account? account_tag? subject qgroup! sid msgs max! cid";
    let path = ["connections", "subscriptions_list_detail"];
    let open = document("subs=detail", vec![client(1)]);
    assert_keys(sub, &part(&detailed, &path), &part(&open, &path));
}

#[test]
fn the_other_documents_have_their_keys() {
    let query = |text: &str| Query::parse(text);
    let subsz = |text: &str, sub| {
        let options = subsz::Options::read(&query(text)).unwrap();
        subsz::document(&server(), &options, &[account("A", 1)], vec![sub])
    };
    let full = subsz("subs=1", subscription("a.>"));
    let plain = crate::rows::Subscription::default();
    let keys = "server_id now num_subscriptions num_cache num_inserts num_removes num_matches \
        cache_hit_rate max_fanout avg_fanout total offset limit subscriptions_list?";
    assert_keys(
        keys,
        &part(&full, &[]),
        &part(&subsz("", plain.clone()), &[]),
    );
    let keys = "account? account_tag? subject qgroup? sid msgs max? cid";
    let least = part(&subsz("subs=1", plain), &["subscriptions_list"]);
    assert_keys(keys, &part(&full, &["subscriptions_list"]), &least);

    let leafz = |text: &str, leaf| {
        leafz::document(&server(), &query(text), vec![leaf], Vec::new()).unwrap()
    };
    let (full, least) = (
        leafz("subs=1", leaf(5, "A")),
        leafz("", crate::rows::Leaf::default()),
    );
    let leafz = "server_id now leafnodes leafs";
    assert_keys(leafz, &part(&full, &[]), &part(&least, &[]));
    let keys = "id name is_spoke is_isolated? account ip port rtt! in_msgs out_msgs in_bytes \
        out_bytes subscriptions subscriptions_list? compression? proxy?";
    assert_keys(keys, &part(&full, &["leafs"]), &part(&least, &["leafs"]));

    let accountz = |text: &str, name: &str| {
        accountz::document(
            &server(),
            &query(text),
            vec![account(name, 1)],
            |_| accountz::sharing::Sharing::default(),
            at(0),
        )
        .unwrap()
    };
    let (one, names) = (accountz("acc=$SYS", "$SYS"), accountz("", "A"));
    let keys = "server_id now system_account? accounts~ account_detail?";
    assert_keys(
        keys,
        &part(&one, &[]),
        &part(&names, &[]).without("accounts"),
    );
    let keys = "account_name update_time! is_system? expired complete jetstream_enabled \
        leafnode_connections client_connections subscriptions mappings~ exports~ imports~ jwt~ \
        issuer_key~ name_tag! tags~ decoded_jwt~ validation_result_jwt~ revoked_user~ \
        sublist_stats! responses~";
    let least = part(&accountz("acc=A", "A"), &["account_detail"]);
    assert_keys(keys, &part(&one, &["account_detail"]), &least);

    let stats = accstatz::document(&server(), &query(""), vec![account("A", 1)]).unwrap();
    let whole = part(&stats, &[]);
    assert_keys("server_id now account_statz", &whole, &whole);
    let keys =
        "acc name conns leafnodes total_conns num_subscriptions sent received slow_consumers";
    assert_keys(
        keys,
        &part(&stats, &["account_statz"]),
        &part(&stats, &["account_statz"]),
    );
    let sent = part(&stats, &["account_statz", "sent"]);
    assert_keys("msgs bytes gateways! routes! leafs!", &sent, &sent);
    assert_eq!(
        sent.member("msgs").unwrap().get(),
        traffic(1).out_msgs.to_string()
    );
}

#[test]
fn what_there_is_none_of_has_its_empty_form() {
    let nothing = (None, None);
    let routez = routez::document(&server(), &Query::default(), nothing, Vec::new()).unwrap();
    assert_eq!(
        go_json::to_string(&routez),
        r#"{"server_id":"NID","server_name":"edge","now":"2023-11-14T22:14:20Z","num_routes":0,"routes":[]}"#
    );
    let gatewayz =
        |query: &str| gatewayz::document(&server(), &Query::parse(query), None, Vec::new());
    assert_eq!(
        go_json::to_string(&gatewayz("").unwrap()),
        r#"{"server_id":"NID","now":"2023-11-14T22:14:20Z","outbound_gateways":{},"inbound_gateways":{}}"#
    );
    assert!(gatewayz("accs=x").is_err());
    let options = healthz::Options::read(&Query::default()).unwrap();
    let (code, health) = healthz::document(&options, &[], &[], &healthz::State::Unwanted);
    assert_eq!(
        (code, go_json::to_string(&health).as_str()),
        (200, r#"{"status":"ok"}"#)
    );
}
