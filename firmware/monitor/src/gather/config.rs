use frond_node::View;

use crate::text::nanos;
use crate::varz::{
    ClusterOptsVarz, DenyRules, Facts, GatewayOptsVarz, LeafNodeOptsVarz, ProxiesOptsVarz,
    ProxyOptsVarz, RemoteGatewayOptsVarz, RemoteLeafOptsVarz, Settings, WebsocketOptsVarz,
};

/// What the configuration says.
pub(crate) fn facts(view: &View<'_>) -> Facts {
    let config = view.config;
    let directory = view.broker.directory();
    let system = directory.account(directory.system_account());
    Facts {
        settings: settings(view),
        cluster: cluster(view),
        gateway: gateway(view),
        leaf: leaf(view),
        websocket: websocket(view),
        tls_timeout: tls_timeout(config.tls.as_ref()),
        write_deadline: nanos(config.write_deadline),
        write_timeout: config.write_timeout.name(),
        start: view.started.wall,
        tags: config.server_tags.clone(),
        metadata: config.server_metadata.clone(),
        feature_flags: config.feature_flags.all(),
        operators: config.operator_mode.operators.clone(),
        proxies: config.proxies.as_ref().map(|proxies| ProxiesOptsVarz {
            trusted: proxies
                .trusted
                .iter()
                .map(|key| ProxyOptsVarz { key: key.clone() })
                .collect(),
        }),
        system_account: system
            .map(|account| account.name.to_string())
            .unwrap_or_default(),
    }
}

fn settings(view: &View<'_>) -> Settings {
    let config = view.config;
    let monitor = config.monitor.as_ref();
    let told = view.broker.client_urls();
    Settings {
        host: config.host.clone(),
        port: view.client_port,
        auth_required: view.broker.directory().auth_required(),
        tls_required: config.tls.is_some() && !config.allow_non_tls,
        tls_verify: config.tls.as_ref().is_some_and(|tls| tls.verify),
        tls_ocsp_peer_verify: asks_about_peers(config.tls.as_ref()) && !config.allow_non_tls,
        connect_urls: told.tcp,
        ws_connect_urls: told.websocket,
        max_connections: config.limits.max_connections,
        max_subscriptions: config.limits.max_subscriptions.unwrap_or_default(),
        ping_interval: nanos(config.ping_interval),
        ping_max: config.ping_max,
        http_host: monitor
            .map(|listen| listen.host.clone())
            .unwrap_or_default(),
        http_port: if config.monitor_tls {
            0
        } else {
            view.monitor_port
        },
        http_base_path: match config.monitor_base_path.as_str() {
            "/" => String::new(),
            path => path.to_owned(),
        },
        https_port: if config.monitor_tls {
            view.monitor_port
        } else {
            0
        },
        auth_timeout: config.authorization.timeout.as_secs_f64(),
        max_control_line: config.limits.max_control_line,
        max_payload: config.limits.max_payload,
        max_pending: config.limits.max_pending,
    }
}

/// spec: nats-server v2.15.1 server/const.go `TLS_TIMEOUT`, `DEFAULT_LEAF_TLS_TIMEOUT`
const TLS_TIMEOUT_SECONDS: f64 = 2.0;

/// Of a block, or the default.
fn tls_timeout(tls: Option<&frond_config::Tls>) -> f64 {
    tls.map_or(TLS_TIMEOUT_SECONDS, |tls| tls.timeout.as_secs_f64())
}

/// Whether responders are asked about who comes, or who is dialed.
fn asks_about_peers(tls: Option<&frond_config::Tls>) -> bool {
    let peer = tls.and_then(|tls| tls.ocsp_peer.as_ref());
    peer.is_some_and(|peer| peer.verify)
}

/// Without a port only what a name and routes say.
fn cluster(view: &View<'_>) -> ClusterOptsVarz {
    let (config, options) = (view.config, &view.config.cluster);
    let urls = options.routes.iter();
    let told = ClusterOptsVarz {
        name: config.cluster_name().unwrap_or_default().to_owned(),
        urls: urls.map(|url| address(&url.host, url.port)).collect(),
        write_deadline: options.write_deadline.map_or(0, nanos),
        write_timeout: options.write_timeout.name(),
        ..ClusterOptsVarz::default()
    };
    let Some(listen) = &options.listen else {
        return told;
    };
    ClusterOptsVarz {
        name: view.broker.facts().cluster.clone(),
        addr: listen.host.clone(),
        cluster_port: match view.route_port {
            0 => listen.port,
            bound => bound,
        },
        auth_timeout: options.authorization.timeout.as_secs_f64(),
        tls_timeout: tls_timeout(options.tls.as_ref()),
        tls_required: options.tls.is_some(),
        tls_verify: options.tls.is_some(),
        pool_size: options.pool_size.map_or(-1, i64::from),
        ..told
    }
}

fn gateway(view: &View<'_>) -> GatewayOptsVarz {
    let (options, cluster) = (&view.config.gateway, &view.config.cluster);
    let Some(listen) = &options.listen else {
        return GatewayOptsVarz::default();
    };
    let gateways = options.gateways.iter().map(|remote| RemoteGatewayOptsVarz {
        name: remote.name.clone(),
        tls_timeout: remote
            .tls
            .as_ref()
            .map_or(0.0, |tls| tls.timeout.as_secs_f64()),
        urls: remote
            .urls
            .iter()
            .map(|url| address(&url.host, url.port))
            .collect(),
    });
    GatewayOptsVarz {
        name: options.name.clone().unwrap_or_default(),
        host: listen.host.clone(),
        port: listen.port,
        auth_timeout: options.authorization.timeout.as_secs_f64(),
        tls_timeout: tls_timeout(options.tls.as_ref()),
        tls_required: options.tls.is_some(),
        tls_verify: options.tls.is_some(),
        advertise: options.advertise.clone().unwrap_or_default(),
        connect_retries: options.connect_retries,
        gateways: gateways.collect(),
        reject_unknown: options.reject_unknown,
        write_deadline: cluster.write_deadline.map_or(0, nanos),
        write_timeout: cluster.write_timeout.name(),
        tls_cert_not_after: None,
    }
}

fn leaf(view: &View<'_>) -> LeafNodeOptsVarz {
    let options = &view.config.leafnodes;
    let remotes = options.remotes.iter().map(|remote| RemoteLeafOptsVarz {
        local_account: remote.account.clone(),
        tls_timeout: remote
            .tls
            .as_ref()
            .map_or(0.0, |tls| tls.timeout.as_secs_f64()),
        urls: remote
            .urls
            .iter()
            .map(|url| address(&url.host, url.port))
            .collect(),
        deny: (!remote.deny_imports.is_empty() || !remote.deny_exports.is_empty()).then(|| {
            DenyRules {
                exports: remote.deny_exports.clone(),
                imports: remote.deny_imports.clone(),
            }
        }),
        tls_ocsp_peer_verify: asks_about_peers(remote.tls.as_ref()),
    });
    let remotes = remotes.collect();
    match &options.listen {
        None => LeafNodeOptsVarz {
            remotes,
            ..LeafNodeOptsVarz::default()
        },
        Some(listen) => LeafNodeOptsVarz {
            host: listen.host.clone(),
            port: view.leaf_port,
            auth_timeout: options.authorization.timeout.as_secs_f64(),
            tls_timeout: tls_timeout(options.tls.as_ref()),
            tls_required: options.tls.is_some(),
            tls_verify: options.tls.as_ref().is_some_and(|tls| tls.verify),
            tls_ocsp_peer_verify: asks_about_peers(options.tls.as_ref()),
            tls_cert_not_after: None,
            remotes,
        },
    }
}

fn websocket(view: &View<'_>) -> WebsocketOptsVarz {
    let options = &view.config.websocket;
    let Some(listen) = &options.listen else {
        return WebsocketOptsVarz::default();
    };
    let text = |given: &Option<String>| given.clone().unwrap_or_default();
    let tls = options.tls.as_ref();
    WebsocketOptsVarz {
        host: listen.host.clone(),
        port: view.websocket_port,
        advertise: text(&options.advertise),
        no_auth_user: text(&options.no_auth_user),
        jwt_cookie: text(&options.cookies.jwt),
        handshake_timeout: options.handshake_timeout.map_or(0, nanos),
        auth_timeout: options
            .authorization
            .timeout
            .map_or(0.0, |timeout| timeout.as_secs_f64()),
        no_tls: options.no_tls,
        tls_map: tls.is_some_and(|tls| tls.map),
        tls_pinned_certs: tls
            .map(|tls| tls.pinned_certs.iter().cloned().collect())
            .unwrap_or_default(),
        same_origin: options.same_origin,
        allowed_origins: options.allowed_origins.clone(),
        compression: options.compression,
        tls_ocsp_peer_verify: asks_about_peers(tls),
        tls_cert_not_after: None,
    }
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
