//! Leafnode links with Frond and nats-server on either end.

mod advisories;
mod field_reports_leaf;
mod flaps;
mod leaf_clusters;
mod leaf_compression;
mod leaf_domains;
mod leaf_gossip;
mod leaf_names;
mod leaf_proxies;
mod link;
