//! Routes and gateways with Frond and nats-server in one system.

mod addresses;
mod field_reports_links;
mod field_reports_mesh;
mod gateways;
mod gateways_reach;
mod geo;
mod guides;
mod routes;
mod routes_change;
mod routes_login;
mod routes_pinned;
mod routes_rename;
mod tracing_mesh;
