use frond_account::Directory;
use frond_clock::Rng;
use frond_wire::ServerInfo;

use crate::{Limits, ServerFacts};

/// What a broker is made of.
#[derive(Debug)]
pub struct Setup {
    /// Facts told to links.
    pub facts: ServerFacts,
    /// What every client's `INFO` has in common; what differs by client is filled in.
    pub info: ServerInfo,
    /// How much of everything.
    pub limits: Limits,
    /// Who may connect.
    pub directory: Directory,
    /// For choices, and for nonces: seeded from the system.
    pub rng: Rng,
}
