//! The streams driven through their three verbs, with a disk made of paper.

mod acks;
mod actions;
mod answers;
mod backups;
mod batches;
mod consuming;
mod counters;
mod cycles;
mod disk;
mod exceeded;
mod fast;
mod firing;
mod lost;
mod model;
mod pair;
mod parked;
mod pausing;
mod recalled;
mod restart;
mod schedules;
mod sourcing;
mod sourcing_random;
mod ttl;
mod unwritten;
mod world;
