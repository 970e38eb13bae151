use super::*;
use crate::tests::world::lively;

/// Lines that are no comments, without the value.
fn series(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| Some(line.rsplit_once(' ')?.0))
        .collect()
}

#[test]
fn the_names_of_the_exporter_are_there_with_its_labels() {
    let world = lively();
    let text = world.page("/metrics").unwrap().body;
    let varz = world.document("/varz");
    let id = varz["server_name"].as_str().unwrap();
    for wanted in [
        format!("gnatsd_varz_connections{{server_id=\"{id}\"}} 1"),
        format!("gnatsd_varz_version{{server_id=\"{id}\",value=\"2.15.1\"}} 1"),
        format!("gnatsd_varz_jetstream_stats_accounts{{server_id=\"{id}\"}} 1"),
        format!("gnatsd_varz_http_req_stats_varz{{server_id=\"{id}\"}} 3"),
        format!("gnatsd_connz_total{{server_id=\"{id}\"}} 1"),
        format!("gnatsd_subsz_num_subscriptions{{server_id=\"{id}\"}} "),
        format!("gnatsd_leafz_conn_nodes_total{{server_id=\"{id}\"}} 0"),
        format!("gnatsd_healthz_status{{server_id=\"{id}\"}} 0"),
        format!("gnatsd_healthz_js_server_only_status_value{{server_id=\"{id}\",value=\"ok\"}} 1"),
        format!(
            "gnatsd_accstatz_current_connections{{server_id=\"{id}\",account=\"A\",account_id=\"A\",account_name=\"A\"}} 1"
        ),
        format!(
            "gnatsd_accountz_jetstream_enabled{{server_id=\"{id}\",account_id=\"B\",account_name=\"B\"}} 0"
        ),
        format!(
            "jetstream_server_total_messages{{server_id=\"{id}\",server_name=\"edge\",cluster=\"\",domain=\"edge\",meta_leader=\"\",is_meta_leader=\"true\"}} 2"
        ),
        format!(
            "jetstream_consumer_num_pending{{server_id=\"{id}\",server_name=\"edge\",cluster=\"\",domain=\"edge\",meta_leader=\"\",is_meta_leader=\"true\",account=\"A\",account_name=\"A\",account_id=\"A\",stream_name=\"ORDERS\",stream_leader=\"edge\",is_stream_leader=\"true\",stream_raft_group=\"\",consumer_name=\"work\","
        ),
    ] {
        assert!(text.contains(&wanted), "{wanted}\nis not in\n{text}");
    }
    let start = text
        .lines()
        .find(|line| line.starts_with("gnatsd_varz_start{"));
    assert!(start.unwrap().ends_with(" 1700000000000"), "{start:?}");
}

/// The rules of the text format: a family's lines stand together after its help and type, and
/// no series comes twice.
#[test]
fn the_text_is_well_formed() {
    let text = lively().page("/metrics").unwrap().body;
    let mut seen = std::collections::BTreeSet::new();
    let mut family = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(
                ["gauge", "counter"].contains(&kind) && seen.insert(name),
                "{line}"
            );
            family = name;
        } else if !line.starts_with("# HELP ") {
            assert_eq!(line.split_once('{').unwrap().0, family);
            assert!(
                line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(),
                "{line}"
            );
        }
    }
    let all = series(&text);
    let once: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(all.len(), once.len());
}

#[test]
fn labels_are_escaped_and_names_joined() {
    let documents = Documents {
        varz: serde_json::json!({"server_name": "a\"\\\nb", "x": {"/y": {"z_": 1}}, "list": [1], "on": true, "leaf": {"port": 1}}),
        ..Documents::default()
    };
    let text = text(&documents);
    assert!(
        text.contains("gnatsd_varz_x_y_z{server_id=\"a\\\"\\\\\\nb\"} 1\n"),
        "{text}"
    );
    assert!(!text.contains("varz_leaf") && !text.contains("varz_on"));
}
