//! Streams over links, on bad disks, encrypted, saved and restored.

mod backups;
mod damaged_disk;
mod disk_full;
mod disk_restart;
mod encryption;
mod field_reports_streams;
mod jetstream_switch;
mod sourcing;
mod sourcing_changes;
mod sourcing_kinds;
mod sourcing_links;
mod sourcing_rolled_back;
