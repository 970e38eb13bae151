//! `/metrics`: the documents' numbers as Prometheus reads them, under the names and labels that
//! prometheus-nats-exporter gives them, so that the dashboards made for it fit; and a few of our
//! own, `frond_…`.
//!
//! spec: github.com/nats-io/prometheus-nats-exporter v0.20.1 collector/ (names, labels, types)
//! spec: Prometheus text format 0.0.4

mod accounts;
mod connections;
mod exposition;
mod flat;
mod own;
mod streams;

pub(crate) use own::Uplink;

use serde_json::Value;

use exposition::{Exposition, Kind, Labels};

/// The documents that the numbers are taken from.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) varz: Value,
    pub(crate) connz: Value,
    pub(crate) subsz: Value,
    pub(crate) routez: Value,
    pub(crate) leafz: Value,
    pub(crate) accstatz: Value,
    /// `account_detail` of every account.
    pub(crate) accounts: Vec<Value>,
    /// With accounts, streams, consumers and their configurations.
    pub(crate) jsz: Value,
    /// With all checks, with JetStream's being on, with none of JetStream.
    pub(crate) healthz: [Value; 3],
    pub(crate) uplinks: Vec<Uplink>,
}

/// All of it as text.
pub(crate) fn text(documents: &Documents) -> String {
    let mut out = Exposition::default();
    let name = str_of(&documents.varz, "server_name");
    // As with the exporter's `-use_internal_server_name`: an id is another one after each start,
    // and each start would be new series.
    let server = Labels::of(&[("server_id", name)]);
    flat::add(&mut out, "gnatsd_varz", &server, &documents.varz);
    flat::add(&mut out, "gnatsd_subsz", &server, &documents.subsz);
    flat::add(&mut out, "gnatsd_routez", &server, &documents.routez);
    connections::connz(&mut out, &server, &documents.connz);
    connections::leafz(&mut out, &server, &documents.leafz);
    accounts::accstatz(&mut out, &server, &documents.accstatz);
    accounts::accountz(&mut out, &server, &documents.accounts);
    health(&mut out, &server, &documents.healthz);
    streams::jsz(&mut out, &server, name, &documents.jsz);
    own::add(&mut out, &server, documents);
    out.text()
}

/// The exporter says 0 for well and 1 for ill, and beside it 1 for well and 0 for ill.
fn health(out: &mut Exposition, server: &Labels, healthz: &[Value; 3]) {
    let names = [
        "healthz",
        "healthz_js_enabled_only",
        "healthz_js_server_only",
    ];
    for (name, document) in names.iter().zip(healthz) {
        let status = str_of(document, "status");
        let is_ok = status == "ok";
        let family = format!("gnatsd_{name}_status");
        out.add(&family, "status", Kind::Gauge, server, &bit(!is_ok));
        let labels = server.and(&[("value", status)]);
        out.add(
            &format!("{family}_value"),
            "status",
            Kind::Gauge,
            &labels,
            &bit(is_ok),
        );
    }
}

/// A truth as a number.
fn bit(truth: bool) -> Value {
    Value::from(u8::from(truth))
}

/// A member that is text, empty without one.
fn str_of<'a>(document: &'a Value, name: &str) -> &'a str {
    document
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The items of a member that is a list.
fn list_of<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    document
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
