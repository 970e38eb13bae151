//! The box as an appliance: devices, configurations from the hub, the status page.

mod appliance;
mod fleet;
mod ota;
mod ota_hub;
mod status_page;
