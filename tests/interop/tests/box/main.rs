//! The box as an appliance: devices, configurations from the hub, the status page.

mod appliance;
mod fleet;
mod fleet_lines;
mod fleet_page;
mod fleet_real;
mod fleet_rollouts;
mod fleet_secure;
mod fleet_tills;
mod forward;
mod ota;
mod ota_confirmed;
mod ota_hub;
mod ota_sources;
mod sim_boxes;
mod status_page;
mod status_reader;
